# frozen_string_literal: true

# Explains why the system refuses a thread or a process, and which limit to raise.

module FoolsGold
  module Limits
    # Returns the exception with the explanation added to its message.
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
