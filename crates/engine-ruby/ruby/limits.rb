# frozen_string_literal: true

# Why the system gives no further thread or process, in words that say which limit to raise.

module FoolsGold
  module Limits
    # The same exception with these words.
    def self.explained(error)
      error.class.new(explain(error)).tap { |other| other.set_backtrace(error.backtrace) }
    end

    def self.explain(error)
      number, = Process.getrlimit(:NPROC)
      own = number == Process::RLIM_INFINITY ? "" : " of #{number} processes and threads for this user (ulimit -u)"
      "#{error.message}: a limit#{own} is reached, or that of the control group (pids.max; systemd: TasksMax)"
    rescue NotImplementedError, ArgumentError
      error.message
    end
  end
end
