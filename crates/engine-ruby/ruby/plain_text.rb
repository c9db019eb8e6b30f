# frozen_string_literal: true

# Conversion of Ruby values to text. No version of the library json may be activated before the application has chosen
# its own.

module FoolsGold
  module PlainText
    module_function

    # Converts a value to what JSON can represent.
    def plain(value)
      case value
      when nil, true, false, Integer then value
      when Float then value.finite? ? value : value.to_s
      when String, Symbol then utf8(value.to_s)
      when Array then value.map { |one| plain(one) }
      when Hash then value.to_h { |key, one| [utf8(key.to_s), plain(one)] }
      else other(value)
      end
    end

    # Of an object: its path, or the number that `Integer()` takes it for, such as ActiveSupport's 30.seconds.
    def other(value)
      return utf8(value.to_path) if value.respond_to?(:to_path)

      value.respond_to?(:to_int) ? value.to_int : "(#{value.class})"
    end

    def utf8(text)
      text.dup.force_encoding(Encoding::UTF_8).scrub("?")
    end

    # Returns the JSON of a result of `plain`, on one line.
    def json(value)
      case value
      when nil then "null"
      when Array then "[#{value.map { |one| json(one) }.join(',')}]"
      when Hash then "{#{value.map { |key, one| "#{json(key)}:#{json(one)}" }.join(',')}}"
      when String then "\"#{utf8(value).gsub(/["\\\x00-\x1f]/) { |char| format('\u%04x', char.ord) }}\""
      else value.to_s
      end
    end
  end
end
