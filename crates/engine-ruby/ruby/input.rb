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

    # Methods that do nothing, by what they return. What is written is discarded, as Puma does.
    {
      nil => %i[gets getc getbyte ungetc ungetbyte lineno= sync= fileno internal_encoding close close_read close_write
                write puts print printf putc syswrite write_nonblock],
      0 => %i[rewind size length pos tell lineno fsync],
      true => %i[eof? eof binmode? sync],
      false => %i[tty? isatty closed? closed_read? closed_write?],
      Encoding::BINARY => %i[external_encoding]
    }.each do |value, names|
      names.each { |name| define_method(name) { |*| value } }
    end

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

    def seek(offset, _whence = 0)
      raise Errno::EINVAL, offset.to_s if offset.negative?

      0
    end

    def pos=(position)
      seek(position)
    end

    def string
      String.new
    end

    def binmode
      self
    end
    alias flush binmode

    def set_encoding(*)
      self
    end

    def <<(_)
      self
    end
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
