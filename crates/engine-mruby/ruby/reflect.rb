# What errors, methods and the program itself tell of themselves: names that libraries take for granted.

class NameError
  attr_accessor :receiver
end

class KeyError
  attr_reader :key, :receiver

  def initialize(message = nil, receiver: nil, key: nil)
    super(message)
    @receiver = receiver
    @key = key
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
    each { |key, value| made.store(*yield(key, value)) }
    made
  end

  alias __transform_keys transform_keys

  def transform_keys(names = nil, &block)
    return __transform_keys(&block) unless names
    __transform_keys { |key| names.fetch(key) { block ? yield(key) : key } }
  end

  def fetch(key, *otherwise)
    return self[key] if key?(key)
    return yield(key) if block_given?
    return otherwise[0] unless otherwise.empty?
    raise KeyError.new("key not found: #{key.inspect}", receiver: self, key: key)
  end
end

class NoMatchingPatternError < StandardError; end
class NoMatchingPatternKeyError < NoMatchingPatternError; end
class SignalException < Exception; end unless Object.const_defined?(:SignalException)

class Method
  alias original_name name
  alias === call
  def curry(count = nil) = to_proc.curry(count || (arity < 0 ? -arity - 1 : arity))
end

class UnboundMethod
  alias original_name name
end

class Struct
  class << self
    alias __define new

    # The rest of Struct comes with the first one that is made.
    def new(*names, **options, &block)
      FoolsGold::Loader.library("foolsgold/struct")
      new(*names, **options, &block)
    end
  end
end

class Array
  alias deconstruct itself
end

class Hash
  def deconstruct_keys(_keys) = self
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
$0 = $PROGRAM_NAME = "foolsgold"

# What anybody may call without a receiver is private, so that no object seems to answer to it; `Kernel.format` and its
# kin go on.
module Kernel
  module_function :puts, :print, :p, :pp, :printf, :warn, :sleep, :exit, :exit!, :abort, :at_exit, :gets, :fork,
                  :system, :exec, :spawn, :open, :trap, :select, :syscall, :test, :`, :raise, :fail, :loop, :lambda,
                  :proc, :format, :sprintf, :Integer, :Float, :String, :Array, :Hash, :rand, :srand,
                  :caller, :binding, :block_given?, :iterator?, :eval, :local_variables, :global_variables,
                  :require, :require_relative, :load, :autoload, :autoload?, :caller_locations, :__method__, :__dir__
end
