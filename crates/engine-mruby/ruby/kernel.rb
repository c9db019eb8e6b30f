# Kernel, ENV and Process as far as a Rack application takes them for granted. Printing goes to the server's log.

module FoolsGold
  # $stdout, $stderr and rack.errors: lines for the log.
  class LogIO
    attr_accessor :sync

    def initialize(level)
      @level = level
      @sync = true
    end

    def write(*texts)
      texts.each { |text| Native.log(@level, text.to_s) }
      texts.sum { |text| text.to_s.bytesize }
    end

    def print(*texts)
      write(*texts)
      nil
    end

    def <<(text)
      write(text)
      self
    end

    def puts(*things)
      return Native.log(@level, "") if things.empty?
      things.each { |thing| thing.is_a?(Array) ? puts(*thing) : write(thing) }
      nil
    end

    def printf(form, *values)
      write(format(form, *values))
      nil
    end

    def flush
      self
    end

    def fsync
      0
    end

    def tty?
      false
    end
    alias isatty tty?

    def fileno
      @level == "info" ? 1 : 2
    end
  end
end

$stdout = STDOUT = FoolsGold::LogIO.new("info")
$stderr = STDERR = FoolsGold::LogIO.new("warn")
$0 = "foolsgold"
$PROGRAM_NAME = $0

module Kernel
  def puts(*things)
    $stdout.puts(*things)
  end

  def print(*things)
    $stdout.print(*things)
  end

  def p(*things)
    things.each { |thing| $stdout.puts(thing.inspect) }
    things.size < 2 ? things.first : things
  end
  alias pp p

  def printf(form, *values)
    $stdout.printf(form, *values)
  end

  def warn(*things, **)
    $stderr.puts(*things)
  end

  def sleep(seconds = nil)
    FoolsGold::Native.sleep(seconds)
  end

  def exit(status = 0)
    status = 0 if status == true
    status = 1 if status == false
    raise SystemExit.new(status)
  end
  alias exit! exit

  def abort(message = "abort")
    raise SystemExit.new(1, message)
  end

  def at_exit
    nil
  end

  def gets(*)
    nil
  end

  %i[fork system exec spawn open trap select syscall test `].each do |name|
    define_method(name) do |*|
      raise NotImplementedError, "#{name}: #{FoolsGold::HINT}"
    end
  end
end

module Process
  CLOCK_REALTIME = 0
  CLOCK_MONOTONIC = 1
  CLOCK_PROCESS_CPUTIME_ID = 2

  def self.clock_gettime(clock, unit = :float_second)
    seconds = clock == CLOCK_REALTIME ? Time.now.to_f : FoolsGold::Native.monotonic
    case unit
    when :float_second then seconds
    when :float_millisecond then seconds * 1e3
    when :float_microsecond then seconds * 1e6
    when :second then seconds.to_i
    when :millisecond then (seconds * 1e3).to_i
    when :microsecond then (seconds * 1e6).to_i
    when :nanosecond then (seconds * 1e9).to_i
    else raise ArgumentError, "unexpected unit: #{unit}"
    end
  end
end

# The process's environment as it was when the interpreter was opened. A change is seen by this interpreter only.
ENV = FoolsGold::Native.environment_variables

class << ENV
  def []=(name, value)
    return delete(name) if value.nil?
    raise TypeError, "ENV takes Strings, not #{value.class}" unless name.is_a?(String) && value.is_a?(String)
    super
  end
  alias store []=

  def fetch(name, *default, &block)
    return self[name] if key?(name)
    return block.call(name) if block
    return default.first unless default.empty?
    raise KeyError, "key not found: #{name.inspect}"
  end

  def to_h
    {}.merge(self)
  end
  alias to_hash to_h

  def inspect
    to_h.inspect
  end
end

# One interpreter runs one thing at a time, so a lock is always free; code that uses one runs unchanged.
class Mutex
  def synchronize
    yield
  end

  def lock
    @locked = true
    self
  end

  def unlock
    @locked = false
    self
  end

  def try_lock
    @locked ? false : (@locked = true)
  end

  def locked?
    @locked ? true : false
  end

  def owned?
    locked?
  end
end

Thread::Mutex = Mutex if Object.const_defined?(:Thread)
RUBY_PLATFORM = "embedded" unless Object.const_defined?(:RUBY_PLATFORM)
RUBY_PATCHLEVEL = 0 unless Object.const_defined?(:RUBY_PATCHLEVEL)
ARGV = [] unless Object.const_defined?(:ARGV)
