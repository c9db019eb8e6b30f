# frozen_string_literal: true

# Bodies of requests, as `rack.input`.

module FoolsGold
  # For requests without a body. One for all: it has no state.
  class EmptyInput
    def read(length = nil, buffer = nil)
      buffer&.clear
      return nil if length&.positive?

      buffer || String.new
    end

    def gets(*)
      nil
    end

    def each
      self
    end

    def rewind
      0
    end

    def eof?
      true
    end

    def size
      0
    end

    def pos
      0
    end

    def external_encoding
      Encoding::BINARY
    end

    def binmode
      self
    end

    def set_encoding(*)
      self
    end

    def close; end
    def close_read; end

    def closed?
      false
    end
  end

  # Makes an input from what stands in a REQUEST.
  module Input
    EMPTY = EmptyInput.new.freeze

    INLINE = 1
    IN_FILE = 2

    module_function

    def inline(bytes)
      StringIO.new(bytes)
    end

    # The front keeps a large body in a file without a name; its descriptor comes over a connection of its own. The
    # front may have sent it before, to a worker that died, so its position can be anywhere.
    def in_file(wire, worker, slot, seq)
      connection = wire.open(Frames::BODY_ROLE, worker, slot, seq)
      file = connection.recv_io(File, "rb")
      file.binmode
      file.rewind
      file
    ensure
      connection&.close
    end
  end
end
