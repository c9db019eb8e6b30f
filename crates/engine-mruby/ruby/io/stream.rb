# FoolsGold::Stream, the argument of a streaming body (Rack SPEC, "Streaming Body").

module FoolsGold
  # The stream of a response; `write` and `flush` are native (c/call.c). The former sends a String at once, and raises
  # FoolsGold::ClientGone when the client has gone away.
  class Stream
    include Writing

    # What SPEC does not ask for and a socket has, which the stream is in Puma.
    def syswrite(text) = write(text)
    def write_nonblock(text, *, **) = write(text)

    def read(*args)
      input.read(*args)
    end

    def input
      @input ||= Input.new(@run)
    end

    def close_read
      nil
    end

    def close_write
      close
    end

    def close(_error = nil)
      @closed = true
      nil
    end

    def closed?
      @closed ? true : false
    end
  end
end
