# JSON: parsing and generating by Rust (ruby-stdlib/src/json/), with the API of Ruby's json library.

module JSON
  # JSON::State, the argument of `to_json` of the application's own classes.
  module Ext
    module Generator
      # The options of a call of JSON.generate, in the form that `to_json` methods pass on.
      class State
        # Levels of nesting around the value that is generated with this state.
        attr_accessor :depth

        def self.from_state(options) = options.is_a?(self) ? options : new(options)

        def initialize(options = nil)
          @options = options.to_h
          @depth = @options[:depth] || 0
        end

        def to_h = @options.merge(depth: @depth)
        alias to_hash to_h
        def [](name) = name.to_sym == :depth ? @depth : @options[name.to_sym]

        def []=(name, value)
          @options = @options.merge(name.to_sym => value)
        end

        def configure(options)
          @options = @options.merge(options.to_h)
          self
        end
        alias merge configure

        def generate(object) = JSON.generate(object, self)
        def ascii_only? = !!@options[:ascii_only]
        def allow_nan? = !!@options[:allow_nan]
        def script_safe? = !!(@options[:script_safe] || @options[:escape_slash])
        %i[indent space space_before object_nl array_nl].each { |name| define_method(name) { @options[name] || "" } }
        def max_nesting = @options.fetch(:max_nesting, 100) || 0
      end
    end

    # JSON::Parser: a text and the options for its parsing. Libraries also look for this class to learn whether Ruby's
    # json is loaded.
    class Parser
      def initialize(source, options = nil, **named)
        @source = FoolsGold.string(source)
        @options = options.to_h.merge(named)
      end

      def source = @source.dup
      def parse = JSON.parse(@source, @options)
    end
  end

  VERSION = "2.7.2".freeze

  class JSONError < StandardError; end
  class ParserError < JSONError; end
  class NestingError < ParserError; end
  class GeneratorError < JSONError; end
  UnparserError = GeneratorError
  NaN = Float::NAN
  Infinity = Float::INFINITY
  MinusInfinity = -Float::INFINITY
  PRETTY = { indent: "  ", space: " ", object_nl: "\n", array_nl: "\n" }.freeze

  State = Ext::Generator::State
  Parser = Ext::Parser
  PRETTY_STATE_PROTOTYPE = State.new(PRETTY)

  class << self
    attr_accessor :load_default_options, :dump_default_options
    attr_writer :create_id

    # The name that additions give to the key with the class of an object; there are no additions here.
    def create_id = @create_id || "json_class"
    def state = State
    def parser = Parser

    # The state for a `to_json` that c/tree.c calls while it encodes an object with these options.
    def __state(options, depth)
      state = State.new(options)
      state.depth += depth
      limit = state.max_nesting
      raise NestingError, "nesting of #{state.depth} is too deep" if limit != 0 && state.depth > limit
      state
    end

    def generator = Ext::Generator

    # The JSON text of an object. GeneratorError for NaN and infinity, NestingError for too many levels.
    def generate(object, options = nil)
      options = options.to_h if options && !options.is_a?(Hash)
      FoolsGold::Native.json_generate(object, options)
    end
    alias fast_generate generate
    alias unparse generate
    alias fast_unparse generate

    def pretty_generate(object, options = nil)
      FoolsGold::Native.json_generate(object, options ? PRETTY.merge(options.to_h) : PRETTY)
    end
    alias pretty_unparse pretty_generate

    # The value of a JSON text. ParserError for invalid JSON, NestingError for too many levels.
    def parse(text, options = nil, **named)
      options = options ? options.to_h.merge(named) : named
      text = text.to_str if !text.is_a?(String) && text.respond_to?(:to_str)
      unless text.is_a?(String)
        raise TypeError, "no implicit conversion of #{text.nil? ? 'nil' : text.class} into String"
      end
      return FoolsGold::Native.json_parse(text, nil) if options.empty?
      # Other options are applied to the values afterwards, in Ruby.
      taken = options.slice(:symbolize_names, :allow_nan, :max_nesting)
      # Numbers with a fraction or an exponent are then binary Strings, and no other values are.
      taken[:decimals] = true if options[:decimal_class]
      found = FoolsGold::Native.json_parse(text, taken)
      %i[object_class array_class decimal_class freeze].any? { |name| options[name] } ? shaped(found, options) : found
    end

    def parse!(text, options = nil, **named)
      parse(text, { max_nesting: false, allow_nan: true }.merge(options.to_h).merge(named))
    end

    # The value of a text or IO; the callable is called with each value, the innermost first.
    def load(source, callable = nil, options = nil, **named)
      source = source.read if source.respond_to?(:read)
      source = source.to_str if source.respond_to?(:to_str)
      return nil if source.nil? || source.empty?
      found = parse(source, load_default_options.merge(options.to_h).merge(named))
      visit(found, callable) if callable
      found
    end
    alias restore load
    alias unsafe_load load

    def load_file(path, options = nil, **named) = parse(File.read(path), options, **named)
    def load_file!(path, **named) = parse!(File.read(path), **named)

    # `dump(a: 1)`, without braces, writes a Hash too.
    def dump(*args, **named)
      object, io, limit = args.empty? ? [named] : args
      named = {} if args.empty?
      io, limit = nil, io if io.is_a?(Integer)
      named = { max_nesting: limit }.merge(named) if limit
      text = generate(object, dump_default_options.merge(named))
      return text unless io
      io.write(text)
      io
    # As in CRuby, the limit of `dump` raises another class.
    rescue NestingError
      raise ArgumentError, "exceed depth limit"
    end

    def [](object, **options)
      object.respond_to?(:to_str) ? parse(object.to_str, **options) : generate(object, options)
    end

    private

    def visit(value, callable)
      case value
      when Array then value.each { |one| visit(one, callable) }
      when Hash then value.each { |key, one| visit(key, callable) && visit(one, callable) }
      end
      callable.call(value)
      true
    end

    def shaped(value, options)
      case value
      when Array
        made = (options[:array_class] || Array).new
        value.each { |one| made << shaped(one, options) }
      when Hash
        made = (options[:object_class] || Hash).new
        value.each { |key, one| made[key] = shaped(one, options) }
      when String then made = value.__binary? ? decimal(value.__binary!(false), options[:decimal_class]) : value
      else made = value
      end
      options[:freeze] ? made.freeze : made
    end

    # The object of a class for the text of a number: by its `try_convert`, its `new`, or a function such as
    # BigDecimal().
    def decimal(text, type)
      return type.try_convert(text) if type.respond_to?(:try_convert)
      type.respond_to?(:new) ? type.new(text) : __send__(type.name, text)
    end
  end

  self.load_default_options = { max_nesting: false, allow_nan: true, allow_blank: true, create_additions: true }
  self.dump_default_options = { max_nesting: false, allow_nan: true, script_safe: false }
end

class Object
  # The JSON of `to_s`, with the options of the value around it, such as script_safe, which must apply here too.
  def to_json(options = nil, *)
    text = to_s
    raise TypeError, "wrong argument type #{text.nil? ? 'nil' : text.class} (expected String)" unless text.is_a?(String)
    JSON.generate(text, options.respond_to?(:to_h) ? options : nil)
  end
end

[NilClass, TrueClass, FalseClass, Integer, Float, String, Symbol, Array, Hash].each do |type|
  type.class_eval do
    def to_json(options = nil, *) = JSON.generate(self, options.respond_to?(:to_h) ? options : nil)
  end
end

module Kernel
  def JSON(object, options = nil) = JSON[object, **options.to_h]
  module_function :JSON
end
