# Process, ENV and constants of the process that Rack code takes for granted.

module Process
  CLOCK_REALTIME = 0
  CLOCK_MONOTONIC = 1
  CLOCK_PROCESS_CPUTIME_ID = 2

  # All processor time counts as user time. The Struct is defined on first use, since that loads the rest of Struct.
  def self.times
    const_set(:Tms, Struct.new(:utime, :stime, :cutime, :cstime)) unless const_defined?(:Tms, false)
    Tms.new(clock_gettime(CLOCK_PROCESS_CPUTIME_ID), 0.0, 0.0, 0.0)
  end

  def self.clock_gettime(clock, unit = :float_second)
    seconds =
      case clock
      when CLOCK_MONOTONIC then FoolsGold::Native.monotonic
      when CLOCK_REALTIME, CLOCK_REALTIME_COARSE then FoolsGold::Native.time_real
      when CLOCK_PROCESS_CPUTIME_ID then FoolsGold::Native.processor_time(true)
      when CLOCK_THREAD_CPUTIME_ID then FoolsGold::Native.processor_time(false)
      else FoolsGold::Native.monotonic
      end
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

module Process
  def self.pid = FoolsGold::Native.process_id
  def self.ppid = 0
end

# The environment of the process when the interpreter was opened. A change is visible to this interpreter only.
ENV = FoolsGold::Native.environment_variables

class << ENV
  def [](name) = super(FoolsGold.string(name))

  def []=(name, value)
    name = FoolsGold.string(name)
    return delete(name) && nil if value.nil?
    super(name, FoolsGold.string(value))
  end
  alias store []=

  def fetch(name, *default, &block)
    name = FoolsGold.string(name)
    return self[name] if key?(name)
    return block.call(name) if block
    return default.first unless default.empty?
    raise KeyError.new("key not found: #{name.inspect}", receiver: self, key: name)
  end

  # By `[]=`, which takes only Strings and deletes a variable whose value is nil. Hash#update would store any value.
  def update(*others)
    others.each do |other|
      other.each { |name, value| self[name] = block_given? && key?(name) ? yield(name, self[name], value) : value }
    end
    self
  end
  alias merge! update

  def to_h(&block)
    all = {}.merge(self)
    block ? all.to_h(&block) : all
  end

  def to_hash = to_h
  def to_s = "ENV"

  def inspect
    to_h.inspect
  end
end

RUBY_PLATFORM = "embedded" unless Object.const_defined?(:RUBY_PLATFORM)
RUBY_PATCHLEVEL = 0 unless Object.const_defined?(:RUBY_PATCHLEVEL)
ARGV = [] unless Object.const_defined?(:ARGV)
$* = ARGV
$$ = Process.pid
$/ = "\n".freeze
$. = 0
