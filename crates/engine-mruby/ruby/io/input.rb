# FoolsGold::Input, the class of rack.input: the request body, which is complete before the application is called.

module FoolsGold
  # The request body, read from memory or from a file by position.
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

    # The whole body; the position does not change.
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
