# frozen_string_literal: true

# The stream of a Rack 3 streaming body, which responds to `call`; all other bodies are written to one too.

module FoolsGold
  # Writes are sent at once, in CHUNK frames; reads return the request's body. Several threads may write.
  class Stream
    # The interval in seconds of checks whether the threads of a body that has returned still run.
    LOOK = 0.1

    # The seconds in which a thread to which code has left its stream begins to write. Code that has nothing to write
    # and does not close its stream would otherwise keep a thread of the worker until its client goes.
    BEGINNING = 5

    def initialize(slot, input)
      @slot = slot
      @input = input
      @closed = false
      @reading = true
      @group = @is_begun = @is_shared = nil
      @lock = Mutex.new
      @changed = ConditionVariable.new
    end

    def write(*strings)
      @lock.synchronize do
        raise IOError, "the stream is closed for writing" if @closed

        note_writer if @group
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

    # Ends the answer: from here on the slot belongs to another request. An exception of another thread does not break
    # off the wait for one that is writing, whose part could be sent among those of the next answer then.
    def finish
      Thread.handle_interrupt(Channel::WHOLLY) { close }
    end

    # Calls the application's code with the stream. If that has left the stream to other threads, as it may with the
    # socket that Puma gives it, returns when they have closed it. Threads that it started may also just end.
    def lend
      @group = ThreadGroup.new
      before = Thread.current.group
      @group.add(Thread.current)
      begin
        yield
      ensure
        before.add(Thread.current)
      end
      wait
    end

    private

    def wait
      @is_begun ||= runs?
      returned = now
      @lock.synchronize do
        until @closed || !(runs? || left?(returned))
          @slot.check_client
          @changed.wait(@lock, LOOK)
        end
      end
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    # Whether threads that the application's code has started still run.
    def runs?
      !@group.list.empty?
    end

    # Whether another thread, such as one of a pool, uses the stream: it has written to it, or may be about to begin.
    # Where the code itself has written and returned, the body is complete, as in Falcon.
    def left?(returned)
      @is_shared || (!@is_begun && now - returned < BEGINNING)
    end

    def note_writer
      Thread.current.group.equal?(@group) ? @is_begun = true : @is_shared = true
    end
  end
end
