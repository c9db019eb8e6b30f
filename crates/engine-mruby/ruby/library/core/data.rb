# Data: immutable objects with named values.

class Data
  class << self
    undef_method :new

    def define(*names, &block)
      names = names.map(&:to_sym)
      wrong = names.find { |name| name.end_with?("=") }
      raise ArgumentError, "invalid data member: #{wrong}" if wrong
      twice = names.find { |name| names.count(name) > 1 }
      raise ArgumentError, "duplicate member: #{twice}" if twice
      made = Class.new(self)
      made.instance_variable_set(:@members, names.freeze)
      made.extend(Maker)
      names.each { |name| made.define_method(name) { @values[name] } }
      # Not from the object's class: a member may be called `class`.
      made.define_method(:members) { names } unless names.include?(:members)
      made.class_eval(&block) if block
      made
    end
  end

  # Class methods of the classes that `define` returns.
  module Maker
    def members = @members || superclass.members

    def new(*values, **named)
      unless values.empty? || named.empty?
        raise ArgumentError, "wrong number of arguments (given #{values.size + 1}, expected 0)"
      end
      if values.size > members.size
        raise ArgumentError, "wrong number of arguments (given #{values.size}, expected #{__expected})"
      end
      values.each_with_index { |value, at| named[members[at]] = value }
      # Positional values become keywords here, so that an `initialize` of the application's gets keywords only.
      made = allocate
      made.__send__(:initialize, **named)
      made.freeze
    end
    alias [] new

    def __expected = members.empty? ? "0" : "0..#{members.size}"
  end

  # A bare `super` passes keywords as a Hash in mruby.
  def initialize(given = nil, **named)
    named = given if given && named.empty?
    named = named.transform_keys { |name| String === name ? name.to_sym : name } unless named.keys.all?(Symbol)
    missing = members - named.keys
    unless missing.empty?
      raise ArgumentError, "missing keyword#{'s' if missing.size > 1}: #{missing.map(&:inspect).join(', ')}"
    end
    unknown = named.keys - members
    unless unknown.empty?
      raise ArgumentError, "unknown keyword#{'s' if unknown.size > 1}: #{unknown.map(&:inspect).join(', ')}"
    end
    @values = members.map { |name| [name, named[name]] }.to_h.freeze
  end

  private def initialize_copy(_original) = freeze

  NAME = Module.instance_method(:name)
  private_constant :NAME

  def to_h(&block) = block ? @values.to_h(&block) : @values.dup
  def ==(other) = FoolsGold.class_of(self).equal?(FoolsGold.class_of(other)) && @values == other.__values
  def eql?(other) = FoolsGold.class_of(self).equal?(FoolsGold.class_of(other)) && @values.eql?(other.__values)
  def hash = [FoolsGold.class_of(self), @values].hash
  def __values = @values

  def with(*values, **named)
    raise ArgumentError, "wrong number of arguments (given #{values.size}, expected 0)" unless values.empty?
    return self if named.empty?
    made = FoolsGold.class_of(self).allocate
    made.__send__(:initialize, **@values, **named.transform_keys(&:to_sym))
    made.freeze
  end

  def deconstruct = @values.values

  # The values up to the first key that is no member; none where there are more keys than members. As in CRuby.
  def deconstruct_keys(keys)
    return to_h if keys.nil?
    raise TypeError, "wrong argument type #{keys.class} (expected Array or nil)" unless Array === keys
    return {} if keys.size > @values.size
    keys = keys.take_while { |key| Symbol === key || String === key ? @values.key?(key.to_sym) : members[key] }
    keys.to_h { |key| [key, @values[Integer === key ? members[key] : key.to_sym]] }
  end

  def inspect
    name = NAME.bind_call(FoolsGold.class_of(self))
    name = nil if name&.start_with?("#<")
    return "#<data #{name ? "#{name}:" : ''}...>" if __inspect_recursive?
    fields = @values.map { |member, value| "#{member}=#{value.inspect}" }.join(", ")
    "#<data #{[name, fields].compact.reject(&:empty?).join(' ')}>"
  end
  alias to_s inspect
end
