# frozen_string_literal: true

# The client's connection in the hands of the application.

module FoolsGold
  # `rack.hijack`, full: one for each slot.
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

  # Partial: after an answer with headers. The callable may use its connection for as long as it likes, so it has a
  # thread of its own, and the slot goes on to the next request.
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
    end

    # A worker that ends lets these end first; the front decides for how long.
    def self.join
      @lock.synchronize { @threads.dup }.each(&:join)
    end

    def initialize(io, callable, finish)
      @io = io
      @callable = callable
      @finish = finish
    end

    # The application closes the connection when it likes, perhaps from another thread, later.
    def run
      @callable.call(@io)
    rescue Exception => error # Whatever it is, it must be logged, and nobody is above who could.
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
