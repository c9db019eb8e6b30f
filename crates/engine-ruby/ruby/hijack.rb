# frozen_string_literal: true

# Hijacking (Rack SPEC): the application takes the client's connection.

module FoolsGold
  # A full hijack, the callable under `rack.hijack`: one per slot.
  class Hijack
    def initialize(slot)
      @slot = slot
    end

    def call
      return @slot.taken if @slot.taken

      @slot.taken = @slot.open_connection(Frames::FULL_ROLE)
      @slot.environment["rack.hijack_io"] = @slot.taken
    end
  end

  # A partial hijack, after an answer with headers. The callable may use its connection for any time, so it has a thread
  # of its own, and the slot goes on to the next request.
  class Upgrade
    @threads = []
    @lock = Mutex.new

    # Calls the application's block with the connection; `finish` is called when it has returned.
    def self.start(slot, callable, &finish)
      io = slot.open_connection(Frames::PARTIAL_ROLE)
      thread = Thread.new { new(io, callable, finish).run }
      thread.name = "upgraded"
      @lock.synchronize { (@threads = @threads.select(&:alive?)) << thread }
    rescue IOError, SystemCallError
      finish.call # The client has gone.
    rescue ThreadError => error
      Log.error("an upgraded connection is closed, since there is no thread for it: #{Limits.explain(error)}")
      io.close
      finish.call
    end

    # Waits for all upgraded connections before the worker exits; the front limits the time.
    def self.join
      @lock.synchronize { @threads.dup }.each(&:join)
    end

    def initialize(io, callable, finish)
      @io = io
      @callable = callable
      @finish = finish
    end

    # Calls the application, which may close the connection later and from another thread.
    def run
      @callable.call(@io)
    rescue Exception => error # Logged here: no caller could.
      Log.exception(error, "the application's code for an upgraded connection failed") unless gone?(error)
      @io.close
    ensure
      @finish.call
    end

    private

    def gone?(error)
      error.is_a?(Errno::EPIPE) || error.is_a?(Errno::ECONNRESET)
    end
  end
end
