# FoolsGold::Input, the class of rack.input: the request body, which is complete before the application is called.

module FoolsGold
  # The request body, read from memory or from a file by position. `initialize(run)` is in c/env.c: it sets `@run`, the
  # number of its request (an object that is kept must not read the body of a later one), `@position` and `@binary`.
  class Input
    include Reading

    # `@size` is set when it is first asked for.
    def size
      @size ||= current! && Native.input_size
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
      current!
      Native.input_read(position, length)
    end

    def current! = FoolsGold.current_run?(@run) || raise(IOError, "closed stream")
  end
end
