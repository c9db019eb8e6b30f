# frozen_string_literal: true

# Headers as Rack has them to headers as PROTOCOL.md has them.

module FoolsGold
  # Encoded headers, with what the server itself wants to know of them.
  class Headers
    # The block of headers that are plain strings, without its last NUL; nil when there is one that is not a string,
    # that has a NUL itself, or that may be for the server. Written for speed: `flatten` and `join` cost less than a
    # block for each header.
    def self.encode(headers)
      strings = headers.flatten
      return nil unless strings.all?(String)

      block = strings.join("\0")
      block.include?("rack.") || block.count("\0") != strings.size - 1 ? nil : block
    rescue Encoding::CompatibilityError, ArgumentError # Strings of other encodings, or broken ones.
      nil
    end

    # The block, its number of pairs, what stood under `rack.hijack`, and the value of Content-Length.
    attr_reader :block, :pairs, :hijack, :content_length

    def initialize(headers)
      @block = String.new
      @pairs = 0
      raise BadAnswer, "headers must be a Hash, not #{headers.class}" unless headers.respond_to?(:each)

      headers.each { |name, value| take(name, value) }
    end

    def add(name, value)
      name = name.b
      value = value.b
      if name.include?("\0") || value.include?("\0")
        raise BadAnswer, "the header #{name.dump} has a NUL character, which RFC 9110 section 5.5 forbids"
      end

      @pairs += 1
      @block << name << "\0" << value << "\0"
    end

    private

    def take(name, value)
      raise BadAnswer, "the name of a header must be a String, not #{name.inspect[0, 80]}" unless name.is_a?(String)
      return @hijack = value if name == "rack.hijack"
      return if name.start_with?("rack.")

      value = value.join("\n") if value.is_a?(Array) && value.all?(String)
      unless value.is_a?(String)
        raise BadAnswer, "the header #{name} must be a String or an Array of Strings, not #{value.inspect[0, 80]}"
      end

      @content_length = value if name.casecmp?("content-length")
      add(name, value)
    end
  end
end
