# frozen_string_literal: true

# Conversion of Rack headers to the headers of PROTOCOL.md.

module FoolsGold
  # Encoded headers, with the values that the server itself uses.
  class Headers
    # The most headers of an answer, and the most bytes of their encoding: the front accepts 4096 lines with 1 MiB of
    # names and values, which it counts itself, and here each name and value has a NUL behind it.
    MOST = 4096
    BYTES = (1 << 20) + (2 * MOST)
    # The bytes that are left for a Content-Length.
    ROOM = (2 * MOST) + 64
    # Headers by which an application has the proxy send a file instead of its body.
    OF_PROXY = %w[x-sendfile x-accel-redirect x-lighttpd-send-file].freeze
    private_constant :ROOM, :OF_PROXY

    # Encodes headers that are plain strings, without the last NUL. Returns nil if one is not a string, contains NUL, or
    # may be meant for the server. Written for speed: `flatten` and `join` cost less than a block for each header.
    def self.encode(headers)
      strings = headers.flatten
      return nil unless strings.all?(String)

      block = strings.join("\0")
      block.include?("rack.") || block.count("\0") != strings.size - 1 ? nil : block
    rescue Encoding::CompatibilityError, ArgumentError, TypeError # Of other encodings, broken, or taken for an Array.
      nil
    end

    # The encoded headers, the number of pairs, the value under `rack.hijack`, and the value of Content-Length.
    attr_reader :block, :pairs, :hijack, :content_length

    def initialize(headers)
      @block = String.new
      @pairs = 0
      raise BadAnswer, "headers must be a Hash, not #{headers.class}" unless headers.respond_to?(:each)

      headers.each { |name, value| take(name, value) }
    end

    # Whether the headers announce a transfer coding: the bytes of the body are then not those of a file.
    def coded?
      @coded
    end

    # Whether the headers say where the body ends.
    def framed?
      @coded || @content_length
    end

    # Whether the headers have the proxy send a file instead of the body.
    def of_proxy?
      @of_proxy
    end

    # Whether there are more than the front accepts.
    def too_many?
      @pairs > MOST || @block.bytesize > BYTES
    end

    # Replaces the Content-Length of the application; nil removes it.
    def content_length=(size)
      remove("content-length") if @content_length
      @content_length = nil
      announce(size) if size
    end

    # Adds a Content-Length where the headers do not say where the body ends, and there is room for one more.
    def announce(size)
      return if framed? || @pairs >= MOST || @block.bytesize > BYTES - ROOM

      @content_length = size.to_s
      add("content-length", @content_length)
    end

    def add(name, value)
      name = name.b
      value = value.b
      if name.include?("\0") || value.include?("\0")
        raise BadAnswer, "the header #{name.dump[0, 200]} has a NUL character, which RFC 9110 section 5.5 forbids"
      end

      @pairs += 1
      @block << name << "\0" << value << "\0"
    end

    private

    def remove(name)
      pairs = @block.split("\0", -1)[0...-1].each_slice(2).reject { |other, _| same?(other, name) }
      @pairs = pairs.size
      @block = pairs.map { |pair| "#{pair.join("\0")}\0" }.join("").b
    end

    # Adds a header. Values of other classes are converted to strings, as in Puma and Unicorn.
    def take(name, value)
      name = name.to_s if name.is_a?(Symbol)
      raise BadAnswer, "the name of a header must be a String, not #{name.inspect[0, 80]}" unless name.is_a?(String)
      if same?(name.byteslice(0, 5), "rack.") # It is meant for the server.
        @hijack = value if same?(name, "rack.hijack")
        return
      end

      value = value.is_a?(Array) ? lines(name, value) : text(value)
      add(name, value) if value && frame(name, value)
    end

    # Notes headers that say where the body ends. An empty length is ignored.
    def frame(name, value)
      if same?(name, "content-length")
        return if value.strip.empty?

        @content_length = value
      elsif same?(name, "transfer-encoding")
        @coded = true
      elsif OF_PROXY.any? { |other| same?(name, other) }
        @of_proxy = true
      end
      true
    end

    def same?(name, other)
      name.casecmp(other)&.zero?
    end

    # The text of a value. An application may have changed String#to_s.
    def text(value)
      String === value ? value : value.to_s
    end

    # Joins several values of one header as PROTOCOL.md requires.
    def lines(name, values)
      values = values.map { |value| text(value).b }
      return values.join("\n") if values.any? && values.none? { |value| value.include?("\n") }

      raise BadAnswer, "the header #{name[0, 200]} has a line feed in one of its values" if values.any?
    end
  end
end
