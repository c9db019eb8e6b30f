# frozen_string_literal: true

# Forks, whatever the application has made of the standard streams.

module FoolsGold
  # Ruby flushes `$stdout` and `$stderr` before a fork, which raises if the application has closed or frozen them, or
  # has replaced them by an object without that method.
  module Forking
    # Stands in for a stream that cannot be flushed.
    SILENT = Object.new
    def SILENT.flush
      self
    end

    def SILENT.write(*)
      0
    end
    SILENT.freeze

    class << self
      # Forks a process that runs the block; returns its number. Waits while a thread of the application holds the lock
      # of `Pitchfork.prevent_fork`, if that gem is loaded: such work must not be cut off in the child.
      def fork(&block)
        return fork_flushed(&block) unless defined?(::Pitchfork::FORK_LOCK)

        lock = ::Pitchfork::FORK_LOCK
        lock.synchronize do
          fork_flushed do
            lock.exit
            yield
          end
        end
      end

      # Flushes the standard streams; returns whether that could be done.
      def flush
        [$stdout, $stderr].each(&:flush)
        true
      rescue StandardError
        false
      end

      private

      def fork_flushed(&block)
        return Process.fork(&block) if flush

        out = $stdout
        err = $stderr
        begin
          $stdout = $stderr = SILENT
          Process.fork do
            $stdout = out
            $stderr = err
            yield
          end
        ensure
          $stdout = out
          $stderr = err
        end
      end
    end
  end
end
