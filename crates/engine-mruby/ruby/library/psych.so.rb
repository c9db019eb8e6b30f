# The part of psych that CRuby has in C (psych.so): the parser, which is in Rust (ruby-stdlib/src/yaml.rs). The rest is
# Ruby's own library. YAML can be read, not written.

module Psych
  def self.libyaml_version = [0, 2, 5]

  class Parser
    ANY, UTF8, UTF16LE, UTF16BE = 0, 1, 2, 3

    def mark = Mark.new(*(@mark || [0, 0, 0]))

    private

    def _native_parse(handler, yaml, path)
      yaml = yaml.read if yaml.respond_to?(:read)
      yaml = yaml.to_str if !yaml.is_a?(String) && yaml.respond_to?(:to_str)
      unless yaml.is_a?(String)
        raise TypeError, "no implicit conversion of #{FoolsGold.named(yaml)} into String"
      end
      @mark = nil
      # All events are made before the first is handled: the handler runs Ruby code, which Rust cannot call in between.
      FoolsGold::Native.yaml_events(yaml).each do |line, column, end_line, end_column, name, *arguments|
        @mark = [0, line, column]
        refuse(path, line, column, *arguments) if name == :error
        handler.event_location(line, column, end_line, end_column)
        handler.__send__(name, *arguments)
      end
      self
    end

    def refuse(path, line, column, offset, problem)
      if problem.end_with?("unknown anchor")
        raise AnchorNotDefined, "at line #{line + 1}"
      end
      raise SyntaxError.new(path, line + 1, column + 1, offset, problem, nil)
    end
  end

  class Handler; end

  class Emitter < Handler
    def initialize(*)
      raise NotImplementedError, "YAML is only read here, and not written: JSON.generate is there. #{FoolsGold::HINT}"
    end
  end

  class ClassLoader
    private

    def path2class(path)
      path = path.to_s
      found = Object.const_get(path)
      raise ArgumentError, "#{path} does not refer to class/module" unless found.is_a?(Module)
      found
    rescue NameError
      raise ArgumentError, "undefined class/module #{path}"
    end
  end

  module Visitors
    class Visitor; end

    class ToRuby < Visitor
      private

      def build_exception(kind, message) = kind.allocate.exception(message)
    end
  end
end

require "psych/syntax_error"
