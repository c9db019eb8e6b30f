# FoolsGold::Stream: what a streaming body is called with.

module FoolsGold
  # What a streaming body is called with (Rack SPEC, "Streaming Body"); `write` and `flush` are native.
  class Stream
    # Hands a String on at once; raises FoolsGold::ClientGone when nobody reads any more.
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
      @input ||= Input.new
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
