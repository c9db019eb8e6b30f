# frozen_string_literal: true

# Time slices of threads: for how long a thread that computes keeps Ruby's lock (GVL) while others want it.

module FoolsGold
  module Slices
    # The longest time slice, in milliseconds, that is short.
    SHORT_MS = 20
    # The lowest priority. It halves the 100 ms of a slice three times; since Ruby checks every 10 ms, that makes 20 ms.
    # Before 3.3 it checked every 100 ms, and before 3.4 no variable set the length.
    LOWEST = -3
    HAS_TICKS = RUBY_ENGINE == "ruby" && RUBY_VERSION >= "3.3"
    private_constant :SHORT_MS, :LOWEST, :HAS_TICKS

    class << self
      # Shortens the time slices of this thread, and of all threads that it and they will start, which inherit its
      # priority. So all threads remain equal, those of the application as well. Where RUBY_THREAD_TIMESLICE sets the
      # length, does nothing.
      def shorten
        Thread.current.priority = LOWEST if HAS_TICKS && !chosen_ms
      end

      # Whether the time slices of the application's threads are short.
      def short?
        HAS_TICKS && (chosen_ms || SHORT_MS) <= SHORT_MS
      end

      private

      def chosen_ms
        number = ENV["RUBY_THREAD_TIMESLICE"].to_i if RUBY_VERSION >= "3.4"
        number if number&.positive?
      end
    end
  end
end
