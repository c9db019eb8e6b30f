# Benchmark: how long blocks take.

module Benchmark
  CAPTION = "      user     system      total        real\n".freeze
  FORMAT = "%10.6u %10.6y %10.6t %10.6r\n".freeze

  class Tms
    attr_reader :utime, :stime, :cutime, :cstime, :real, :total, :label

    def initialize(utime = 0.0, stime = 0.0, cutime = 0.0, cstime = 0.0, real = 0.0, label = nil)
      @utime, @stime, @cutime, @cstime, @real, @label = utime, stime, cutime, cstime, real, label
      @total = utime + stime + cutime + cstime
    end

    def to_a = [label, utime, stime, cutime, cstime, real]
    def format(*) = Kernel.format("%10.6f %10.6f %10.6f (%10.6f)\n", utime, stime, total, real)
    alias to_s format
  end

  # Takes the blocks of `bm`.
  class Report
    attr_reader :list

    def initialize(width)
      @width = width
      @list = []
    end

    def item(label = "", &block)
      $stdout.print(label.to_s.ljust(@width))
      @list << Benchmark.measure(label, &block)
      $stdout.print(@list.last.format)
      @list.last
    end
    alias report item
  end

  module_function

  def measure(label = "")
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
    yield
    cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - cpu
    Tms.new(cpu, 0.0, 0.0, 0.0, Process.clock_gettime(Process::CLOCK_MONOTONIC) - began, label)
  end

  def realtime
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    yield
    Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
  end

  def bm(width = 0)
    report = Report.new(width)
    $stdout.print(" " * width + CAPTION)
    yield report
    report.list
  end
  alias bmbm bm
  module_function :bmbm
end
