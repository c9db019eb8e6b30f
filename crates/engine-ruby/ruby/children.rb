# frozen_string_literal: true

# The workers that the mold has forked and that have not been waited for yet.

module FoolsGold
  class Children
    def initialize
      @forked = {} # number and time of the fork, by process
      @booted = {} # true for each process that has reported that it has booted
    end

    # Opens the pipe for the reports of workers.
    def listen
      @reports, @report = IO.pipe
      [@reports, @report].each(&:binmode)
    end

    # Reports, in a worker, that it has booted. The application may have closed whatever it has not opened.
    def report
      @report.write_nonblock([Process.pid].pack("N"), exception: false)
      [@reports, @report].each(&:close)
    rescue SystemCallError, IOError
      nil
    end

    def empty?
      @forked.empty?
    end

    def add(pid, number)
      @forked[pid] = [number, Time.now]
    end

    # Process, number and time of the fork of each worker, and whether it has booted. Threads of the application may ask
    # while one is added, so nothing is called for each of them before there is a copy.
    def list
      read_reports
      @forked.to_a.map { |pid, (number, time)| [pid, number, time, @booted.key?(pid)] }
    end

    # Yields the number, the process, the status and the time of the fork of each worker that has exited, and whether it
    # had booted; with `ending` also of each that is exiting. It waits only for workers: the application may have
    # started other processes. The application may also wait for workers (`Process.waitall` in a thread), or ignore
    # SIGCHLD: then there is no status.
    def reap(ending: false)
      @forked.keys.each do |pid|
        ended, status = wait(pid, ending && ending?(pid) ? 0 : Process::WNOHANG)
        next unless ended

        read_reports
        number, time = @forked.delete(pid)
        yield number, pid, status, time, !@booted.delete(pid).nil?
      end
    end

    # Kills all workers. One that the application has waited for is left out: its process id may be reused by now.
    def kill
      reap { nil }
      @forked.each_key do |pid|
        Process.kill("KILL", pid)
      rescue Errno::ESRCH
        nil # It has ended.
      end
    end

    private

    def read_reports
      while (pids = @reports.read_nonblock(4096, exception: false)).is_a?(String)
        pids.unpack("N*").each { |pid| @booted[pid] = true }
      end
    rescue SystemCallError, IOError
      nil # The application has closed it.
    end

    # Whether a process has exited, and its status where that is known.
    def wait(pid, flags)
      ended, status = Process.wait2(pid, flags)
      [!ended.nil?, status]
    rescue Errno::ECHILD
      [true, nil]
    end

    # Whether a process is exiting (PF_EXITING in Linux). Its connections are closed then, so the front may know
    # already.
    def ending?(pid)
      stat = File.binread("/proc/#{pid}/stat")
      stat[stat.rindex(")")..].split(" ")[7].to_i.anybits?(4)
    rescue SystemCallError
      false
    end
  end
end
