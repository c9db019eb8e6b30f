# frozen_string_literal: true

# What a body gets that responds to `call` (Rack 3: a streaming body).

module FoolsGold
  # Writes go out at once, in CHUNK frames; what is read is the request's body.
  class Stream
    def initialize(slot, input)
      @slot = slot
      @input = input
      @closed = false
      @reading = true
    end

    def write(*strings)
      raise IOError, "the stream is closed for writing" if @closed

      strings.sum do |string|
        string = string.to_s
        @slot.chunk(string)
        string.bytesize
      end
    end

    def <<(string)
      write(string)
      self
    end

    def read(length = nil, buffer = nil)
      return @input.read(length, buffer) if @reading

      buffer&.clear
      length.nil? || length.zero? ? (buffer || String.new) : nil
    end

    def flush
      self
    end

    def close(_error = nil)
      @closed = true
      @reading = false
    end

    def close_write
      @closed = true
    end

    def close_read
      @reading = false
    end

    def closed?
      @closed
    end
  end
end
