# frozen_string_literal: true

# Threads of the application whose exception is to end the process (`Thread#abort_on_exception`). Ruby raises it in the
# main thread. In Puma that only waits, so its worker ends; here it runs requests.

module FoolsGold
  # Recognizes the exceptions of such threads, and has the worker replaced. On JRuby the threads that have ended cannot
  # be listed, and such an exception is one like any other.
  module DeadThread
    # The most threads that are kept after they have failed: the application may have rescued their exceptions.
    MOST = 100

    # Keeps threads for which abort_on_exception is set: one that has ended could be collected before the main thread,
    # which waits for Ruby's lock, gets its exception.
    module Keeping
      def abort_on_exception=(value)
        DeadThread.keep(self) if value
        super
      end
    end

    @kept = {}.compare_by_identity

    class << self
      # Keeps a thread, and drops those that have ended; of those that have failed, only the oldest beyond MOST. Other
      # threads may come between any two of these calls, so nothing here iterates over the Hash itself.
      def keep(thread)
        failed = @kept.size - MOST
        @kept.keys.each do |one|
          state = one.status
          @kept.delete(one) if state == false || (state.nil? && (failed -= 1) >= 0)
        end
        @kept[thread] = true
      end

      # If an exception that came to this thread is that of such a thread, has the front replace this worker when its
      # requests are finished. Returns whether it is.
      def end_worker(error)
        return false unless Thread.current.equal?(Thread.main) && foreign?(error) && (thread = of(error))

        Log.exception(error, "worker #{FoolsGold.worker.number} is replaced, since its thread " \
                             "#{thread.name || thread.inspect} has ended and has abort_on_exception")
        Signals.leave
        true
      end

      # Whether no line of an exception's backtrace is of this server: the exception is then of another thread. Only
      # for such ones the heap is searched.
      def foreign?(error)
        lines = error.backtrace
        RUBY_ENGINE != "jruby" && Array === lines && lines.none? { |line| line.to_s.start_with?(__dir__) }
      rescue Exception
        false # Its class has a method of that name which fails.
      end

      private

      # The thread that has ended by this exception, and has abort_on_exception. One that only hands its exception on
      # (Thread#join, Thread#value) has not.
      def of(error)
        ObjectSpace.each_object(Thread).find do |thread|
          thread.status.nil? && (thread.abort_on_exception || Thread.abort_on_exception) && ended_by?(thread, error)
        end
      end

      # Whether a thread that is over has ended by this exception, which `join` raises again.
      def ended_by?(thread, error)
        thread.join
        false
      rescue Exception => last
        last.equal?(error)
      end
    end

    Thread.prepend(Keeping) unless RUBY_ENGINE == "jruby"
  end
end
