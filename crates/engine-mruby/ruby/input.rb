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

    private

    def slice_at(position, length)
      Native.input_read(position, length)
    end
  end
end
