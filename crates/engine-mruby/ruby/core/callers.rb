# caller_locations, backtrace_locations, and Kernel#display.

module FoolsGold
  # A line of a backtrace as path, line number and label: Thread::Backtrace::Location (library/core/thread.rb).
  class Location
    def self.name = "Thread::Backtrace::Location"
    singleton_class.alias_method :to_s, :name
    singleton_class.alias_method :inspect, :name

    attr_reader :path, :lineno, :label

    def initialize(line)
      @line = line
      # The name of a file of ours has a colon itself: <internal:foolsgold/load/require.rb>.
      own = line.start_with?("<internal:")
      path, lineno, label = (own ? line.delete_prefix("<internal:") : line).split(":", 3)
      @path = own ? "<internal:#{path}" : path
      @lineno = lineno.to_i
      @label = label.to_s.delete_prefix("in ")
    end

    def to_s = @line
    def inspect = @line.inspect
    def base_label = label
    def absolute_path = path.start_with?("<internal:") ? nil : File.expand_path(path)
  end

  # The first argument of `caller` for a method that calls it on behalf of its own caller.
  def self.level_above(start)
    return start if Integer === start && start < 0
    return start + 1 unless Range === start
    low, high = [start.begin || 0, start.end].map { |bound| bound.nil? || bound < 0 ? bound : bound + 1 }
    Range.new(low, high, start.exclude_end?)
  end

  # With CRuby's mark at lines of this interpreter's own files, which libraries that look for their caller pass over:
  # <internal:foolsgold/load/require.rb>:168:in 'run'.
  def self.marked(lines)
    lines.map do |line|
      next line unless line.start_with?("foolsgold/")
      colon = line.index(":")
      "<internal:#{line[0, colon]}>#{line[colon..]}"
    end
  end
end

module Kernel
  alias __caller caller

  def caller(start = 1, length = nil)
    start = FoolsGold.level_above(Range === start ? start : FoolsGold.integer(start))
    lines = length.nil? ? __caller(start) : __caller(start, length)
    lines && FoolsGold.marked(lines)
  end

  def caller_locations(start = 1, length = nil)
    caller(FoolsGold.level_above(start), length)&.map { |line| FoolsGold::Location.new(line) }
  end

  def display(port = $stdout)
    port.write(to_s)
    nil
  end

  private :caller_locations, :__caller
end

class Exception
  def backtrace_locations
    backtrace&.map { |line| FoolsGold::Location.new(line) }
  end
end
