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

  def self.pid = FoolsGold::Native.process_id
  def self.ppid = 0
end

# The environment of the process when the interpreter was opened. A change is visible to this interpreter only.
ENV = Object.new

class << ENV
  include Enumerable

  def __fill(all) = @all = all.to_h { |name, value| [name.freeze, value.freeze] }

  def [](name) = @all[__name(name)]

  def []=(name, value)
    name = __name(name)
    return delete(name) && nil if value.nil?
    value = __value(value)
    raise Errno::EINVAL, "setenv(#{name})" if name.empty? || name.include?("=")
    @all[name] = value
  end
  alias store []=

  def fetch(name, *default, &block)
    name = __name(name)
    return @all[name] if @all.key?(name)
    return block.call(name) if block
    return default.first unless default.empty?
    raise KeyError.new("key not found: #{name.inspect}", receiver: self, key: name)
  end

  def delete(name)
    name = __name(name)
    return @all.delete(name) if @all.key?(name)
    yield name if block_given?
  end

  def key?(name) = @all.key?(__name(name))
  alias include? key?
  alias member? key?
  alias has_key? key?

  def value?(value) = (@all.value?(value.to_str) if value.respond_to?(:to_str))
  alias has_value? value?

  def key(value) = @all.key(FoolsGold.string(value))
  def assoc(name) = @all.assoc(__name(name))
  def rassoc(value) = (@all.rassoc(value.to_str) if value.respond_to?(:to_str))
  def values_at(*names) = names.map { |name| self[name] }
  def slice(*names) = @all.slice(*names.map { |name| __name(name) })
  def except(*names) = @all.except(*names)
  def keys = @all.keys
  def values = @all.values
  def size = @all.size
  alias length size
  def empty? = @all.empty?
  def invert = @all.invert
  def to_hash = @all.dup
  def to_h(&block) = block ? @all.to_h(&block) : @all.dup
  def to_s = "ENV"
  def inspect = @all.inspect
  def rehash = nil
  def shift = @all.shift

  def each
    return to_enum(:each) { size } unless block_given?
    @all.to_a.each { |pair| yield pair }
    self
  end

  def each_pair(&block) = block ? each(&block) : to_enum(:each_pair) { size }

  def each_key(&block)
    return to_enum(:each_key) { size } unless block
    keys.each(&block)
    self
  end

  def each_value(&block)
    return to_enum(:each_value) { size } unless block
    values.each(&block)
    self
  end

  %i[select filter reject].each do |name|
    define_method(name) { |&block| block ? @all.__send__(name, &block) : to_enum(name) { size } }
    define_method(:"#{name}!") do |&block|
      block ? @all.__send__(:"#{name}!", &block) && self : to_enum(:"#{name}!") { size }
    end
  end

  %i[keep_if delete_if].each do |name|
    define_method(name) do |&block|
      next to_enum(name) { size } unless block
      @all.__send__(name, &block)
      self
    end
  end

  def clear
    @all.clear
    self
  end

  # Checks all pairs before the first change.
  def replace(other)
    pairs = FoolsGold.hash(other).map { |name, value| [__name(name), __value(value)] }
    names = pairs.map { |name, value| (self[name] = value) && name }
    @all.keep_if { |name, _| names.include?(name) }
    self
  end

  def update(*others)
    others.each do |other|
      FoolsGold.hash(other).each do |name, value|
        self[name] = block_given? && key?(name) ? yield(name, self[name], value) : value
      end
    end
    self
  end
  alias merge! update

  def freeze = raise(TypeError, "cannot freeze ENV")
  def dup = raise(TypeError, "Cannot dup ENV, use ENV.to_h to get a copy of ENV as a hash")

  def clone(freeze: nil)
    raise ArgumentError, "unexpected value for freeze: #{freeze.class}" unless [nil, true, false].include?(freeze)
    freeze ? self.freeze : self
  end

  private

  def __name(name)
    name = FoolsGold.string(name)
    raise ArgumentError, "bad environment variable name: contains null byte" if name.include?("\0")
    name
  end

  def __value(value)
    value = FoolsGold.string(value)
    raise ArgumentError, "bad environment variable value: contains null byte" if value.include?("\0")
    value.frozen? ? value : value.dup.freeze
  end
end

ENV.__fill(FoolsGold::Native.environment_variables)
ENV.singleton_class.send(:undef_method, :__fill)

RUBY_PLATFORM = "embedded" unless Object.const_defined?(:RUBY_PLATFORM)
RUBY_PATCHLEVEL = 0 unless Object.const_defined?(:RUBY_PATCHLEVEL)
ARGV = [] unless Object.const_defined?(:ARGV)
$* = ARGV
$$ = Process.pid
$/ = "\n".freeze
$. = 0
