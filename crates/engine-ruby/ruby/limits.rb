# frozen_string_literal: true

# Explains why the system refuses a thread or a process, and which limit to raise.

module FoolsGold
  module Limits
    # See "Overcommit Accounting" in the kernel's documentation.
    NO_MEMORY = "there is no memory for it, or the kernel may not promise as much (vm.overcommit_memory=2)"

    # Returns the exception with the explanation added to its message.
    def self.explained(error)
      error.class.new(explain(error)).tap { |other| other.set_backtrace(error.backtrace) }
    end

    # The system says EAGAIN where a limit of processes and threads is reached, and ENOMEM where memory is (fork(2)).
    def self.explain(error)
      return "#{error.message}: #{NO_MEMORY}" if error.is_a?(Errno::ENOMEM)
      return error.message unless error.is_a?(ThreadError) || error.is_a?(Errno::EAGAIN)

      number, = Process.getrlimit(:NPROC)
      group = "that of the control group (pids.max; systemd: TasksMax)"
      # That of the user does not hold for root (getrlimit(2)).
      if number == Process::RLIM_INFINITY || Process.euid.zero?
        return "#{error.message}: a limit of processes and threads is reached, such as #{group}"
      end

      own = "#{number} processes and threads for this user (ulimit -u)"
      "#{error.message}: a limit of #{own} is reached, or #{group}"
    rescue NotImplementedError, ArgumentError
      error.message
    end
  end
end
