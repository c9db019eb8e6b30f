# frozen_string_literal: true

# The configuration of Thin: YAML with ERB in it, each key with its line.

module FoolsGold
  class ThinFile
    def initialize(path)
      @path = path
    end

    def read
      require "erb"
      require "yaml"
      calls = []
      document = YAML.parse(ERB.new(File.read(@path, encoding: "UTF-8")).result)
      values = document ? document.to_ruby : {}
      raise ArgumentError, "is not a list of keys with their values" unless values.is_a?(Hash)

      # A key may be there twice, and others may come from an alias. One without a value is not there, to Thin too.
      keys = document ? document.root.children.each_slice(2).map(&:first).grep(YAML::Nodes::Scalar) : []
      lines = keys.to_h { |key| [key.value, key.start_line + 1] }
      values.each { |name, value| calls << call(name, value, lines[name.to_s]) unless value.nil? }
      { "calls" => calls, "error" => nil }
    rescue Exception => error # Psych's errors are no StandardError in old versions; ERB may have any code in it.
      { "calls" => calls, "error" => { "class" => error.class.name, "message" => PlainText.utf8(error.message) } }
    end

    private

    def call(name, value, line)
      shown = value.is_a?(Hash) || value.is_a?(Array) ? "..." : value
      { "name" => PlainText.utf8(name.to_s), "line" => line, "file" => @path, "args" => [PlainText.plain(value)],
        "written" => PlainText.utf8("#{name}: #{shown}") }
    end
  end
end
