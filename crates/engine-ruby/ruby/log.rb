# frozen_string_literal: true

# Log lines on their way to the front, which writes them beside its own.

module FoolsGold
  # Before there is a connection, and when it is gone, lines go to standard error.
  module Log
    ERROR = 1
    WARN = 2
    INFO = 3
    DEBUG = 4

    @mutex = Mutex.new

    class << self
      # The connection that carries LOG frames: that of the mold, then that of the worker's control.
      attr_writer :io

      def error(text)
        write(ERROR, text)
      end

      def warn(text)
        write(WARN, text)
      end

      def info(text)
        write(INFO, text)
      end

      def debug(text)
        write(DEBUG, text)
      end

      # An exception with its backtrace.
      def exception(error, what)
        write(ERROR, "#{what}: #{error.message} (#{error.class})\n  #{Frames.backtrace(error).join("\n  ")}")
      end

      # A frame of another kind on the same connection, which several threads use.
      def frame(kind, payload)
        @mutex.synchronize { @io.write(Frames.frame(kind, payload)) }
      end

      # A child has only the thread that forked, so whoever held the lock in the parent is not there.
      def after_fork(io)
        @mutex = Mutex.new
        @io = io
      end

      private

      def write(level, text)
        payload = [level, text.to_s].pack("Ca*").byteslice(0, 1_000_000)
        @io ? frame(Frames::LOG, payload) : $stderr.puts(text)
      rescue IOError, SystemCallError
        $stderr.puts(text)
      end
    end
  end
end
