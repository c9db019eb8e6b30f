# JSON::State, the argument of `to_json` of the application's own classes.

module JSON
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
  end
end
