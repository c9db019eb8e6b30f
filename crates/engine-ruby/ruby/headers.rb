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

    # Whether the body is said to be in a transfer coding: its bytes are then no file's.
    def coded?
      @coded
    end

    # Whether the application has said where the body ends.
    def framed?
      @coded || @content_length
    end

    # In the place of what the application has said.
    def content_length=(size)
      remove("content-length") if @content_length
      @content_length = size.to_s
      add("content-length", @content_length)
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

    def remove(name)
      pairs = @block.split("\0", -1)[0...-1].each_slice(2).reject { |other, _| same?(other, name) }
      @pairs = pairs.size
      @block = pairs.map { |pair| "#{pair.join("\0")}\0" }.join.b
    end

    # Values of other classes go out as the text they are turned into, as with Puma and Unicorn.
    def take(name, value)
      name = name.to_s if name.is_a?(Symbol)
      raise BadAnswer, "the name of a header must be a String, not #{name.inspect[0, 80]}" unless name.is_a?(String)
      return take_own(name, value) if same?(name.byteslice(0, 5), "rack.")

      value = value.is_a?(Array) ? lines(name, value) : value.to_s
      add(name, value) if value && frame(name, value)
    end

    # What is for the server.
    def take_own(name, value)
      @hijack = value if same?(name, "rack.hijack")
    end

    # Notes what is said of the body's end. An empty length is none.
    def frame(name, value)
      if same?(name, "content-length")
        return if value.strip.empty?

        @content_length = value
      elsif same?(name, "transfer-encoding")
        @coded = true
      end
      true
    end

    def same?(name, other)
      name.casecmp(other)&.zero?
    end

    # Several values of one header, as PROTOCOL.md has them.
    def lines(name, values)
      values = values.map { |value| value.to_s.b }
      return values.join("\n") if values.any? && values.none? { |value| value.include?("\n") }

      raise BadAnswer, "the header #{name} has a line feed in one of its values" if values.any?
    end
  end
end
