# FoolsGold::Input, which is rack.input: the request's body, complete before the application is called.

module FoolsGold
  # rack.input: the request's body, complete, read from memory or from a file.
  class Input
    include Reading

    def initialize
      @position = 0
      @size = nil
      @binary = true
    end

    def size
      @size ||= Native.input_size
    end
    alias length size

    # All of it, wherever the reader stands.
    def string
      at = @position
      @position = 0
      read_rest
    ensure
      @position = at
    end

    def flush
      self
    end

    def binmode?
      @binary
    end

    private

    def slice_at(position, length)
      Native.input_read(position, length)
    end
  end
end
