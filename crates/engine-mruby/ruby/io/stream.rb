# FoolsGold::Stream, the argument of a streaming body (Rack SPEC, "Streaming Body").

module FoolsGold
  # The stream of a response; `write` and `flush` are native (c/call.c).
  class Stream
    # Sends a String at once; raises FoolsGold::ClientGone when the client has gone away.
    def <<(text)
      write(text)
      self
    end

    def print(*texts)
      texts.each { |text| write(text) }
      nil
    end

    def puts(*lines)
      write("\n") if lines.empty?
      lines.flatten.each { |line| write(line.to_s.end_with?("\n") ? line.to_s : "#{line}\n") }
      nil
    end

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
