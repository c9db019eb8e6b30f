# frozen_string_literal: true

# The stream of a Rack 3 streaming body, which responds to `call`; all other bodies are written to one too.

module FoolsGold
  # Writes are sent at once, in CHUNK frames; reads return the request's body. Several threads may write.
  class Stream
    # The interval in seconds of checks whether the threads of a body that has returned still run.
    LOOK = 0.1

    def initialize(slot, input)
      @slot = slot
      @input = input
      @closed = false
      @reading = true
      @lock = Mutex.new
      @changed = ConditionVariable.new
    end

    def write(*strings)
      @lock.synchronize do
        raise IOError, "the stream is closed for writing" if @closed

        strings.sum do |string|
          string = string.to_s
          @slot.chunk(string)
          string.bytesize
        end
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
      @reading = false
      close_write
    end

    def close_write
      @lock.synchronize do
        @closed = true
        @changed.broadcast
      end
      nil
    end

    def close_read
      @reading = false
    end

    def closed?
      @closed
    end

    # Ends the answer: from here on the slot belongs to another request.
    alias finish close

    # Calls the application's code with the stream. If that has left the stream to threads that it started, as it may
    # with a socket, returns when they have closed it or have ended.
    def lend
      group = ThreadGroup.new
      before = Thread.current.group
      group.add(Thread.current)
      begin
        yield
      ensure
        before.add(Thread.current)
      end
      wait(group) unless @closed || group.list.empty?
    end

    private

    def wait(group)
      @lock.synchronize do
        until @closed || group.list.empty?
          @slot.check_client
          @changed.wait(@lock, LOOK)
        end
      end
    end
  end
end
