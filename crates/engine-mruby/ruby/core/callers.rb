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
      path, lineno, label = line.split(":", 3)
      @path = path
      @lineno = lineno.to_i
      @label = label.to_s.delete_prefix("in ")
    end

    def to_s = @line
    def inspect = @line.inspect
    def base_label = label
    def absolute_path = File.expand_path(path)
  end
end

module Kernel
  def caller_locations(start = 1, length = nil)
    lines = caller(start + 1) || []
    lines = lines.first(length) if length
    lines.map { |line| FoolsGold::Location.new(line) }
  end

  def display(port = $stdout)
    port.write(to_s)
    nil
  end

  private :caller_locations
end

class Exception
  def backtrace_locations
    backtrace&.map { |line| FoolsGold::Location.new(line) }
  end
end
