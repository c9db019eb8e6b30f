# frozen_string_literal: true

# The workers that the mold has forked and that have not been waited for yet.

module FoolsGold
  class Children
    # The format of a worker's report: its process id, and the figures of PumaStats.
    FORM = "N6Q>"
    # The bytes of a report, and the most that are read at once: whole reports.
    SIZE = 32
    READ = 128 * SIZE
    private_constant :FORM, :SIZE, :READ

    # The last report of a worker: the time at which it was read, and the figures.
    Report = Struct.new(:time, :figures)

    def initialize
      @forked = {} # number and time of the fork, by process
      @reported = {} # the last report, by process, of each that has booted
    end

    # Opens the pipe for the reports of workers.
    def listen
      @reports, @report = IO.pipe
      [@reports, @report].each(&:binmode)
    end

    # Reports, in a worker, that it has booted, and its figures; without Puma there are none, and it reports once. The
    # application may have closed the pipe, as it may close all descriptors that it has not opened.
    def report(figures)
      @report.write_nonblock([Process.pid, *(figures || ([0] * 6))].pack(FORM), exception: false)
      @reports.close
      @report.close unless figures
    rescue SystemCallError, IOError
      nil
    end

    def empty?
      @forked.empty?
    end

    def add(pid, number)
      @forked[pid] = [number, Time.now]
    end

    # Process, number and time of the fork of each worker, and its last report if it has booted. Threads of the
    # application may ask while one is added, so nothing is called for each of them before there is a copy.
    def list
      read_reports
      @forked.to_a.map { |pid, (number, time)| [pid, number, time, @reported[pid]] }
    end

    # Yields the number, the process, the status and the time of the fork of each worker that has exited, and whether it
    # had booted; with `ending` also of each that is exiting. It waits only for workers: the application may have
    # started other processes. The application may also wait for workers (`Process.waitall` in a thread), or ignore
    # SIGCHLD: then there is no status.
    def reap(ending: false)
      read_reports # Also where Puma.stats is not called: a full pipe takes no more reports.
      @forked.keys.each do |pid|
        ended, status = wait(pid, ending && ending?(pid) ? 0 : Process::WNOHANG)
        next unless ended

        read_reports
        number, time = @forked.delete(pid)
        yield number, pid, status, time, !@reported.delete(pid).nil?
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
      while (reports = @reports.read_nonblock(READ, exception: false)).is_a?(String)
        reports.unpack(FORM * (reports.bytesize / SIZE)).each_slice(7) do |pid, *figures|
          @reported[pid] = Report.new(Time.now, figures)
        end
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
