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

    # Gives the number and the status of each that has ended; of each that is ending, too, if that is wanted. Only
    # processes of ours are waited for: the application may have started some of its own.
    def reap(ending: false)
      @numbers.keys.each do |pid|
        _, status = Process.wait2(pid, ending && ending?(pid) ? 0 : Process::WNOHANG)
        yield @numbers.delete(pid), status if status
      end
    end

    def kill
      @numbers.each_key do |pid|
        Process.kill("KILL", pid)
      rescue Errno::ESRCH
        nil # It has ended.
      end
    end

    private

    # Its connections are closed by now, so the front may know already. Linux tells (PF_EXITING).
    def ending?(pid)
      stat = File.read("/proc/#{pid}/stat")
      stat[stat.rindex(")")..].split[7].to_i.anybits?(4)
    rescue SystemCallError
      false
    end
  end
end
