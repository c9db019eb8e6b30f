# frozen_string_literal: true

# Logs where the application is while it takes long to load.

module FoolsGold
  module Progress
    # The seconds to the first message; each further one comes after twice the time.
    FIRST_SECONDS = 10

    module_function

    # Runs the block in this thread; `folder` is the application's, whose code is named first.
    def watch(folder)
      loading = Thread.current
      began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      watcher = Thread.new { repeat(loading, began, folder) }
      watcher.name = "progress"
      yield
    ensure
      watcher&.kill&.join # It must be gone when it is asked which threads the application has started.
    end

    def repeat(loading, began, folder)
      pause = FIRST_SECONDS
      loop do
        sleep pause
        seconds = (Process.clock_gettime(Process::CLOCK_MONOTONIC) - began).round
        Log.info("the application is still loading after #{seconds} s: #{place(loading.backtrace, folder)}")
        pause *= 2
      end
    end

    # The innermost call, and the line of the application that led to it. Paths are compared as bytes: those in a
    # backtrace may have another encoding than the folder, whose encoding is the locale's.
    def place(backtrace, folder)
      backtrace = Array(backtrace).map(&:b).reject { |line| line.start_with?(__dir__.b) }
      own = backtrace.find { |line| line.start_with?(folder.b) && !line.include?("/vendor/") }
      inner = backtrace.first || "no Ruby code runs"
      own.nil? || own == inner ? "at #{inner}" : "at #{inner}, called from #{own}"
    end
  end
end
