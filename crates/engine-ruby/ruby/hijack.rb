# frozen_string_literal: true

# Hijacking (Rack SPEC): the application takes the client's connection.

module FoolsGold
  # A full hijack, the callable under `rack.hijack`: one per request, since an application may keep an environment for
  # longer, and must then not get the connection of another client.
  class Hijack
    def initialize(slot, seq)
      @slot = slot
      @seq = seq
      @io = nil
    end

    # Raises an IOError if the request has been answered.
    def call
      return @io if @io
      raise IOError, "the connection cannot be taken: its request has been answered" unless @seq == @slot.seq

      environment = @slot.environment
      # The front may have given up the client's connection when an exception of another thread (Timeout) ends the wait:
      # then nobody would ever close it. Such an exception comes while this waits, and not between two steps.
      Thread.handle_interrupt(Output::WAITING) do
        io = @slot.open_connection(Frames::FULL_ROLE, @seq)
        begin
          @slot.confirmed(io)
          @slot.take(io, @seq)
          environment["rack.hijack_io"] = @io = io
        ensure
          io.close unless @io
        end
      end
    end
  end

  # A partial hijack, after an answer with headers. As in Puma, the callable runs in the thread that called the
  # application; there the body is closed after it, and what is to run after the answer runs: Rack::Lock and Rails's
  # executor can end only in that thread what they have begun in it. The callable may use its connection for any time,
  # so another thread has the slot by then.
  class Upgrade
    # The connection was opened before the answer; the block, which closes the body, is called in the end.
    def initialize(slot, io, callable, &finish)
      @slot = slot
      @seq = slot.seq
      @io = io
      @callable = callable
      @ends = [finish]
    end

    # Calls this block in the end, too.
    def at_end(&block)
      @ends << block
    end

    # Calls the application, which may close the connection later and from another thread.
    def run
      Thread.current.name = "upgraded"
      call
    ensure
      finish
    end

    # Closes the connection without a call.
    def drop
      @io.close
    ensure
      finish
    end

    private

    def call
      @callable.call(@io) if confirmed?
      has_returned = true
    rescue Exception => error # Logged here: no caller could.
      Log.exception(error, "the application's code for an upgraded connection failed") unless gone?(error)
    ensure
      # Nothing can be rescued of a thread that ends (Thread.exit). As in Puma, its client does not wait any longer.
      unless has_returned || error || FoolsGold.worker&.exiting?
        Log.error("the application ended the thread of its code for an upgraded connection")
      end
      break_off unless has_returned
    end

    # Closes the connection when the front knows that its output is not complete: its end alone would look like that of
    # the whole output.
    def break_off
      @slot.break_off(@seq)
      @io.close
    end

    def finish
      @ends.each(&:call)
    end

    def confirmed?
      @slot.confirmed(@io)
    rescue IOError, SystemCallError
      false # The client has gone.
    end

    def gone?(error)
      error.is_a?(Errno::EPIPE) || error.is_a?(Errno::ECONNRESET)
    end
  end
end
