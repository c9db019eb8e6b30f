# JSON by Rust: parse and generate as in Ruby's own library, and `to_json` on the values that JSON has.

module JSON
  class JSONError < StandardError; end
  class ParserError < JSONError; end
  class GeneratorError < JSONError; end
  class NestingError < ParserError; end

  class << self
    # A String; GeneratorError for NaN and infinity, NestingError for what is too deep.
    def generate(object, _options = nil)
      FoolsGold::Native.json_generate(object)
    end
    alias dump generate

    def pretty_generate(object, _options = nil)
      FoolsGold::Native.json_pretty(object)
    end

    # Ruby values; ParserError for what is no JSON, NestingError for what is too deep.
    def parse(text, options = nil, symbolize_names: false, **)
      symbolize_names ||= options[:symbolize_names] if options.is_a?(Hash)
      text = text.to_str unless text.is_a?(String)
      FoolsGold::Native.json_parse(text, symbolize_names)
    end
    alias parse! parse

    def load(source, *)
      return nil if source.nil?
      parse(source.respond_to?(:read) ? source.read : source)
    end
  end
end

[NilClass, TrueClass, FalseClass, Integer, Float, String, Symbol, Array, Hash].each do |type|
  type.class_eval do
    def to_json(*)
      FoolsGold::Native.json_generate(self)
    end
  end
end
