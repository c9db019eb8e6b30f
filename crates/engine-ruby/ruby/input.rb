# frozen_string_literal: true

# Request bodies, as `rack.input`.

module FoolsGold
  # The input of requests without a body. It has the reading methods of an empty StringIO, and those of Puma's input.
  # All requests share one, since it has no state.
  class EmptyInput
    include Enumerable

    def read(length = nil, buffer = nil)
      length = length.to_i
      raise ArgumentError, "negative length #{length} given" if length.negative?

      buffer = buffer.nil? ? String.new : String.try_convert(buffer) || raise(TypeError, "a buffer must be a String")
      buffer.clear
      length.positive? ? nil : buffer
    end

    def readpartial(*)
      raise EOFError, "end of file reached"
    end
    alias sysread readpartial
    alias readline readpartial
    alias readchar readpartial
    alias readbyte readpartial

    def read_nonblock(*, exception: true)
      readpartial if exception
    end

    def pread(length, *)
      length.zero? ? String.new : readpartial
    end

    def gets(*, **)
      nil
    end

    def getc
      nil
    end
    alias getbyte getc

    def ungetc(*); end
    alias ungetbyte ungetc

    def each(*, **)
      block_given? ? self : [].each
    end
    alias each_line each
    alias each_byte each
    alias each_char each
    alias each_codepoint each

    def readlines(*, **)
      []
    end

    def rewind
      0
    end

    def seek(offset, _whence = 0)
      raise Errno::EINVAL, offset.to_s if offset.negative?

      0
    end

    def eof?
      true
    end
    alias eof eof?

    def size
      0
    end
    alias length size
    alias pos size
    alias tell size
    alias lineno size

    def pos=(position)
      seek(position)
    end

    def lineno=(_); end

    def string
      String.new
    end

    def external_encoding
      Encoding::BINARY
    end

    def internal_encoding
      nil
    end
    alias fileno internal_encoding

    def binmode
      self
    end
    alias flush binmode

    def set_encoding(*)
      self
    end

    def binmode?
      true
    end
    alias sync binmode?

    def sync=(_); end

    def fsync
      0
    end

    def tty?
      false
    end
    alias isatty tty?

    # Discards what is written, as Puma does.
    def write(*); end
    alias puts write
    alias print write
    alias printf write
    alias putc write
    alias syswrite write
    alias write_nonblock write

    def <<(_)
      self
    end

    def close; end
    alias close_read close
    alias close_write close

    def closed?
      false
    end
    alias closed_read? closed?
    alias closed_write? closed?
  end

  # A large body: a file without a name. Like a short one it has no `path`: code that finds one takes it for a name
  # (multipart clients) or opens it (rubyzip), and File#path raises here before Ruby 3.2 and is nil from there on.
  class BodyFile < File
    undef_method :path, :to_path
  end

  # Makes the input from the fields of a REQUEST.
  module Input
    EMPTY = EmptyInput.new

    INLINE = 1
    IN_FILE = 2

    module_function

    def inline(bytes)
      StringIO.new(bytes)
    end

    # Fetches a body in a file. The front keeps a large body in a file without a name, whose descriptor comes over a
    # connection of its own. The front may have sent it before, to a worker that died, so its position is arbitrary.
    def in_file(wire, worker, slot, seq)
      connection = wire.open(Frames::BODY_ROLE, worker, slot, seq)
      file = connection.recv_io(BodyFile, "rb")
      file.binmode
      file.rewind
      file
    ensure
      connection&.close
    end
  end
end
