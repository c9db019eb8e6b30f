# frozen_string_literal: true

# The workers that the mold has forked and that have not ended yet.

module FoolsGold
  class Children
    def initialize
      @numbers = {} # by process
    end

    def empty?
      @numbers.empty?
    end

    def add(pid, number)
      @numbers[pid] = number
    end

    # Gives the number, the process and the status of each that has ended; of each that is ending, too, if that is
    # wanted. Only processes of ours are waited for: the application may have started some of its own. It may also wait
    # for ours (`Process.waitall` in a thread), or ignore SIGCHLD: then there is no status.
    def reap(ending: false)
      @numbers.keys.each do |pid|
        ended, status = wait(pid, ending && ending?(pid) ? 0 : Process::WNOHANG)
        yield @numbers.delete(pid), pid, status if ended
      end
    end

    # What somebody else has waited for is none of ours any more: its number may be that of another process.
    def kill
      reap { nil }
      @numbers.each_key do |pid|
        Process.kill("KILL", pid)
      rescue Errno::ESRCH
        nil # It has ended.
      end
    end

    private

    # Whether it has ended, and its status where that is known.
    def wait(pid, flags)
      ended, status = Process.wait2(pid, flags)
      [!ended.nil?, status]
    rescue Errno::ECHILD
      [true, nil]
    end

    # Its connections are closed by now, so the front may know already. Linux tells (PF_EXITING).
    def ending?(pid)
      stat = File.read("/proc/#{pid}/stat")
      stat[stat.rindex(")")..].split[7].to_i.anybits?(4)
    rescue SystemCallError
      false
    end
  end
end
