# frozen_string_literal: true

# The stream of a Rack 3 streaming body, which responds to `call`; all other bodies are written to one too.

module FoolsGold
  # Writes are sent at once, in CHUNK frames; reads return the request's body. Several threads may write.
  class Stream
    # The interval in seconds of checks whether the threads of a body that has returned still run.
    LOOK = 0.1

    # The seconds in which a thread to which code has left its stream begins to write. Code that has nothing to write
    # and does not close its stream would otherwise keep its client waiting until that goes.
    BEGINNING = 5

    # Why a stream takes nothing more when code has rescued the exception that ended a write of it.
    TORN = "a part of the body is missing: an exception has ended a write in the middle of a String"

    def initialize(slot, input)
      @slot = @out = slot
      @input = input
      @closed = false
      @reading = true
      @group = @returned = @rest = @writer = nil
      @is_begun = @is_shared = @is_gone = false
      @threads = []
      @lock = Mutex.new
      @changed = ConditionVariable.new
    end

    def write(*strings)
      @lock.synchronize do
        raise Errno::EPIPE, "the client has gone" if @is_gone
        raise IOError, "the stream is closed for writing" if @closed
        raise IOError, TORN if @out.torn?

        if @group
          @slot.check_process # Of a callable body, which may have returned when a child that it has forked writes.
          note_writer
        end
        strings.sum do |string|
          string = string.to_s unless String === string # Whose to_s an application may have changed.
          @out.chunk(string)
          string.bytesize
        end
      end
    end

    # Calls the block, which sends what comes before the body, unless the stream is closed by then.
    def open
      @lock.synchronize do
        raise IOError, "the stream is closed for writing" if @closed

        yield
      end
    end

    def <<(string)
      write(string)
      self
    end

    # What SPEC does not ask for and the stream of Puma has too, which is a socket.
    %i[puts print printf].each do |name|
      define_method(name) { |*things| write_made(name, things) }
    end

    def putc(character)
      write_made(:putc, [character])
      character
    end

    # Returns when all is written, which an application takes for a stream that is never full.
    def write_nonblock(string, **)
      write(string)
    end

    def syswrite(string)
      write(string)
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
      @lock.synchronize { end_writing }
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

    # Calls the application's code with the stream.
    def lend
      @group = ThreadGroup.new
      before = Thread.current.group
      @group.add(Thread.current)
      begin
        yield
      ensure
        before.add(Thread.current)
      end
      @is_begun ||= runs?
      @writer = nil unless @writer&.alive? # The code has seen how it ended.
      @returned = now
    end

    # Whether the code, which has returned, has left the stream to other threads, as applications do with the socket
    # that Puma gives them. If the threads that it started have ended, the body is complete; so it is if the code itself
    # has written to the stream and returned, as in Falcon.
    def left?
      !@closed && (shared? || runs?)
    end

    # Returns when the threads to which the stream was left have closed it or ended. Raises what has ended the last one
    # that wrote.
    def wait
      @lock.synchronize do
        while left?
          @slot.check_client
          @changed.wait(@lock, LOOK)
        end
        error = failure unless @closed
        raise error if error
      end
    end

    # Lets what is written from now on go to the connection `rest`. The block tells the front so. If the stream has been
    # closed meanwhile, the connection is closed instead, and the block is not called.
    def go_on(rest)
      @lock.synchronize do
        next rest.close if @closed

        @slot.settle
        Thread.handle_interrupt(Channel::WHOLLY) do
          rest.stream = self
          @out = @rest = rest
          Rest.watch(rest)
          yield
        end
      end
    end

    # Ends the stream if the threads to which it was left have ended without closing it. Before that, it writes what
    # the connection did not take at once, or what an exception of another thread kept from being written.
    def look
      return unless @lock.try_lock

      begin
        @rest.write_on
        end_left unless @closed || left?
      ensure
        @lock.unlock
      end
    end

    # The front has closed the connection: it has the whole body, or its client has gone.
    def drop
      @lock.synchronize do
        @is_gone = !@closed
        @closed = true
        @reading = false
        @rest.close
        @input.close if File === @input
      end
    end

    private

    # Writes at once what this method of IO makes of its arguments.
    def write_made(method, things)
      made = StringIO.new(String.new)
      made.public_send(method, *things)
      write(made.string)
      nil
    end

    def end_writing
      end_rest if @rest && !@closed && @slot.own_process?
      @closed = true
      @changed.broadcast
    end

    def end_rest
      @rest.torn? ? @rest.break_off(IOError.new(TORN)) : @rest.finish
    end

    # Ends the body whose threads have ended. It is not complete if an exception has ended the last one that wrote.
    def end_left
      error = failure if @slot.own_process?
      return end_writing unless error

      @rest.break_off(error)
      @closed = true
    end

    # The exception that has ended the thread that wrote last, if one has.
    def failure
      @writer.join if @writer && @writer.status.nil?
      nil
    rescue Exception => error # Whatever the application has raised there.
      error
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    # Whether threads that the application's code has started still run.
    def runs?
      @threads = @group.list if @threads.none?(&:alive?)
      @threads.any?
    end

    # Whether another thread, such as one of a pool, uses the stream: it has written to it, or may be about to begin.
    def shared?
      @is_shared || (!@is_begun && now - @returned < BEGINNING)
    end

    def note_writer
      @writer = Thread.current
      @writer.group.equal?(@group) ? @is_begun = true : @is_shared = true
    end
  end
end
