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
      io = @slot.confirmed(@slot.open_connection(Frames::FULL_ROLE, @seq))
      @slot.take(io, @seq)
      environment["rack.hijack_io"] = @io = io
    end
  end

  # A partial hijack, after an answer with headers. The callable may use its connection for any time, so it has a thread
  # of its own, and the slot goes on to the next request.
  class Upgrade
    @threads = []
    @lock = Mutex.new

    # Calls the application's block with the connection, which was opened before the answer; `finish` is called when the
    # block has returned.
    def self.start(slot, io, callable, &finish)
      slot.confirmed(io)
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
