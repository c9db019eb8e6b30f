# Attributes of errors and methods, methods of Hash and Proc, and constants of the program that libraries take for
# granted.

[NameError, KeyError, FrozenError].each do |error|
  error.class_eval do
    def receiver
      raise ArgumentError, "no receiver is available" unless defined?(@receiver)
      @receiver
    end
  end
end

class NameError
  attr_writer :receiver

  def initialize(message = nil, name = nil, receiver: (none = true))
    super(message)
    @name = name
    @receiver = receiver unless none
  end
end

class NoMethodError
  def initialize(message = nil, name = nil, args = nil, _private = false, **given)
    super(message, name, **given)
    @args = args
  end
end

class KeyError
  def initialize(message = nil, receiver: (no_receiver = true), key: (no_key = true))
    super(message)
    @receiver = receiver unless no_receiver
    @key = key unless no_key
  end

  def key
    raise ArgumentError, "no key is available" unless defined?(@key)
    @key
  end
end

class UncaughtThrowError
  # In the message `%p` stands for the tag.
  def initialize(tag, value, message = "uncaught throw %p")
    @tag = tag
    @value = value
    super(format(message, tag))
  end
end

class Hash
  def to_h
    made = {}
    unless block_given?
      return self if instance_of?(Hash)
      made.default = default
      made.default_proc = default_proc if default_proc
      return made.merge!(self)
    end
    each do |key, value|
      pair = yield(key, value)
      pair = FoolsGold.array(pair) if !(Array === pair) && pair.respond_to?(:to_ary)
      raise TypeError, "wrong element type #{pair.class} (expected array)" unless Array === pair
      if pair.size != 2
        raise ArgumentError, "element has wrong array length (expected 2, was #{pair.size})"
      end
      made.store(pair[0], pair[1])
    end
    made
  end

  alias __transform_keys transform_keys

  def transform_keys(*names, &block)
    return __transform_keys(&block) if names.empty?
    names = FoolsGold.hash(*names)
    __transform_keys { |key| names.fetch(key) { block ? yield(key) : key } }
  end

  def transform_keys!(*names, &block)
    return to_enum(:transform_keys!) unless block || !names.empty?
    FoolsGold.refuse_change(self) if frozen?
    made = transform_keys(*names, &block)
    # Not `replace`, which would take the default of the other Hash.
    clear.merge!(made)
  end

  def fetch(key, *otherwise)
    raise ArgumentError, "wrong number of arguments (given #{otherwise.size + 1}, expected 1..2)" if otherwise.size > 1
    return self[key] if key?(key)
    return yield(key) if block_given?
    return otherwise[0] unless otherwise.empty?
    raise KeyError.new("key not found: #{key.inspect}", receiver: self, key: key)
  end

  def deconstruct_keys(_keys) = self

  # Equal for the same pairs in any order.
  def hash
    code = size
    # Exclusive or does not depend on the order.
    each { |key, value| code ^= [key, value].hash }
    code
  end
end

class NoMatchingPatternError < StandardError; end
class NoMatchingPatternKeyError < NoMatchingPatternError; end

class Method
  alias original_name name
  alias === call
  alias __to_proc to_proc
  def hash = owner.hash

  # A method of two parameters becomes a lambda of two, to which Hash#map gives a key and its value.
  def to_proc
    return __to_proc unless arity == 2 && parameters.all? { |kind, _| kind == :req || kind == :block }
    own = self
    ->(one, two, &block) { own.call(one, two, &block) }
  end

  def curry(count = nil) = to_proc.curry(count || (arity < 0 ? -arity - 1 : arity))
end

class UnboundMethod
  alias original_name name
  def hash = owner.hash
end

class Proc
  # The composition is a lambda where the callable that is called first is one, or is no Proc at all.
  def <<(other)
    raise TypeError, "callable object is expected" unless other.respond_to?(:call)
    own = self
    made = ->(*values, **named, &block) { own.call(other.call(*values, **named, &block)) }
    return made unless Proc === other && !other.lambda?
    proc { |*values, **named, &block| made.call(*values, **named, &block) }
  end

  def >>(other)
    raise TypeError, "callable object is expected" unless other.respond_to?(:call)
    own = self
    return ->(*values, **named, &block) { other.call(own.call(*values, **named, &block)) } if lambda?
    proc { |*values, **named, &block| other.call(own.call(*values, **named, &block)) }
  end
end

class Struct
  class << self
    alias __define new

    # Loads the rest of Struct with the first class that is made, which redefines this method.
    def new(*names, **options, &block)
      FoolsGold::Loader.library("foolsgold/struct")
      new(*names, **options, &block)
    end
  end
end

class Array
  alias deconstruct itself
end

module Warning
  def self.[](_category) = false
  def self.[]=(_category, _value); end

  def self.warn(message, **)
    $stderr.write(message)
    nil
  end
end

# Signals belong to the server.
module Signal
  def self.list = { "EXIT" => 0, "HUP" => 1, "INT" => 2, "KILL" => 9, "TERM" => 15 }

  def self.trap(*)
    raise NotImplementedError, "trap: #{FoolsGold::HINT}"
  end
end

RUBY_COPYRIGHT = MRUBY_COPYRIGHT
RUBY_RELEASE_DATE = MRUBY_RELEASE_DATE
RUBY_REVISION = "0".freeze
RUBY_DESCRIPTION = "mruby #{MRUBY_VERSION} in FoolsGold".freeze
TOPLEVEL_BINDING = binding

# Functions of Kernel are private methods, so that no object responds to them; `Kernel.format` and so on still work.
module Kernel
  module_function :puts, :print, :p, :pp, :printf, :warn, :sleep, :exit, :exit!, :abort, :at_exit, :gets, :fork,
                  :system, :exec, :spawn, :open, :trap, :select, :syscall, :test, :`, :raise, :fail, :loop, :lambda,
                  :proc, :format, :sprintf, :Integer, :Float, :String, :Array, :Hash, :rand, :srand,
                  :caller, :binding, :block_given?, :iterator?, :eval, :local_variables, :global_variables,
                  :require, :require_relative, :load, :autoload, :autoload?, :caller_locations, :__method__, :__dir__
  private :__callee__
end
