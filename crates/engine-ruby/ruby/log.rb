# frozen_string_literal: true

# Log entries, which are sent to the front and written with its own.

module FoolsGold
  # Before there is a connection, and when it is gone, entries go to standard error.
  module Log
    # The levels of LOG frames.
    LEVELS = { error: 1, warn: 2, info: 3, debug: 4 }.freeze

    @mutex = Mutex.new

    class << self
      # The connection that carries LOG frames: that of the mold, then the worker's control connection.
      attr_writer :io

      LEVELS.each { |name, level| define_method(name) { |text| write(level, text) } }

      # Logs an exception with its backtrace. Its message, and a path in `what`, may be of any encoding.
      def exception(error, what)
        lines = Frames.backtrace(error).flat_map { |line| ["\n  ", line] }
        write(LEVELS[:error], Frames.join([what, ": ", Frames.message(error), " (", error.class.to_s, ")", *lines]))
      end

      # Sends a frame of another kind on the same connection, which several threads use. No exception of another thread
      # cuts it.
      def frame(kind, payload)
        Thread.handle_interrupt(Object => :never) do
          @mutex.synchronize { @io.write(Frames.frame(kind, payload)) }
        end
      end

      # Renews the lock after a fork: a child has only the thread that forked, and another thread may have held the
      # lock.
      def after_fork(io)
        @mutex = Mutex.new
        @io = io
      end

      private

      def write(level, text)
        payload = [level, String === text ? text : text.to_s].pack("Ca*").byteslice(0, 1_000_000)
        @io ? frame(Frames::LOG, payload) : $stderr.puts(text)
      rescue IOError, SystemCallError
        $stderr.puts(text)
      end
    end
  end
end
