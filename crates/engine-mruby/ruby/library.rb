# JSON, SecureRandom, Time's texts, CGI, ERB::Util and URI: the names people know, on functions of Rust.

module JSON
  class JSONError < StandardError; end
  class ParserError < JSONError; end
  class GeneratorError < JSONError; end
  class NestingError < ParserError; end

  class << self
    def generate(object, _options = nil)
      FoolsGold::Native.json_generate(object)
    end
    alias dump generate

    def pretty_generate(object, _options = nil)
      FoolsGold::Native.json_pretty(object)
    end

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

module SecureRandom
  class << self
    def random_bytes(count = nil)
      FoolsGold::Native.random_bytes(count || 16)
    end
    alias bytes random_bytes
    alias gen_random random_bytes

    def hex(count = nil)
      random_bytes(count).unpack("H*").first
    end

    def base64(count = nil)
      [random_bytes(count)].pack("m").delete("\n")
    end

    def urlsafe_base64(count = nil, padding = false)
      text = base64(count).tr("+/", "-_")
      padding ? text : text.delete("=")
    end

    def uuid
      FoolsGold::Native.uuid
    end

    def random_number(limit = 0)
      case limit
      when nil, 0 then FoolsGold::Native.random_number(0)
      when Float then FoolsGold::Native.random_number(0) * limit
      when Integer then FoolsGold::Native.random_number(limit)
      else limit.first + FoolsGold::Native.random_number(limit.size)
      end
    end
    alias rand random_number

    def alphanumeric(count = nil)
      Array.new(count || 16) { ALPHANUMERIC[random_number(ALPHANUMERIC.size)] }.join
    end
  end

  ALPHANUMERIC = [*"A".."Z", *"a".."z", *"0".."9"].freeze
end

class Time
  RFC2822_DAY_NAME = %w[Sun Mon Tue Wed Thu Fri Sat].freeze

  class << self
    def httpdate(text)
      at(FoolsGold::Native.parse_httpdate(text)).utc
    end
  end

  def strftime(form)
    FoolsGold::Native.strftime(form, to_i, nsec, year, month, day, hour, min, sec, wday, yday, utc? ? nil : utc_offset)
  end

  def nsec
    usec * 1000
  end unless method_defined?(:nsec)

  def utc_offset
    return 0 if utc?
    local = Time.gm(year, month, day, hour, min, sec)
    local.to_i - to_i
  end unless method_defined?(:utc_offset)
  alias gmt_offset utc_offset unless method_defined?(:gmt_offset)

  def httpdate
    FoolsGold::Native.httpdate(to_i)
  end

  def iso8601(digits = 0)
    fraction = digits > 0 ? ".%#{digits}N" : ""
    strftime("%Y-%m-%dT%H:%M:%S#{fraction}#{utc? ? 'Z' : '%:z'}")
  end
  alias xmlschema iso8601

  def rfc2822
    strftime("%a, %d %b %Y %T #{utc? ? '-0000' : '%z'}")
  end
  alias rfc822 rfc2822

  def to_s
    strftime(utc? ? "%Y-%m-%d %H:%M:%S UTC" : "%Y-%m-%d %H:%M:%S %z")
  end
  alias inspect to_s
end

class CGI
  class << self
    def escape(text)
      FoolsGold::Native.form_escape(text.to_s)
    end

    def unescape(text, *)
      FoolsGold::Native.form_unescape(text.to_s)
    end

    def escapeURIComponent(text)
      FoolsGold::Native.url_escape(text.to_s)
    end

    def unescapeURIComponent(text, *)
      FoolsGold::Native.url_unescape(text.to_s)
    end

    def escapeHTML(text)
      FoolsGold::Native.html_escape(text.to_s)
    end
    alias escape_html escapeHTML
    alias h escapeHTML

    def unescapeHTML(text)
      FoolsGold::Native.html_unescape(text.to_s)
    end
    alias unescape_html unescapeHTML
  end

  Escape = self
  Util = self
end

class ERB
  module Util
    class << self
      def html_escape(text)
        FoolsGold::Native.html_escape(text.to_s)
      end
      alias h html_escape

      def url_encode(text)
        FoolsGold::Native.url_escape(text.to_s)
      end
      alias u url_encode
    end

    def html_escape(text)
      FoolsGold::Native.html_escape(text.to_s)
    end
    alias h html_escape

    def url_encode(text)
      FoolsGold::Native.url_escape(text.to_s)
    end
    alias u url_encode
  end

  def initialize(*)
    raise NotImplementedError, "ERB.new: #{FoolsGold::HINT}"
  end
end

module URI
  class << self
    def encode_www_form_component(text, *)
      FoolsGold::Native.www_form_escape(text.to_s)
    end

    def decode_www_form_component(text, *)
      FoolsGold::Native.www_form_unescape(text.to_s)
    end

    def encode_uri_component(text, *)
      FoolsGold::Native.url_escape(text.to_s)
    end

    def decode_uri_component(text, *)
      FoolsGold::Native.url_unescape(text.to_s)
    end

    def encode_www_form(pairs)
      pairs.map do |name, value|
        name = encode_www_form_component(name)
        next name if value.nil?
        [*value].map { |one| "#{name}=#{encode_www_form_component(one)}" }.join("&")
      end.join("&")
    end

    def decode_www_form(text)
      text.split("&").map do |pair|
        name, value = pair.split("=", 2)
        [decode_www_form_component(name || ""), decode_www_form_component(value || "")]
      end
    end

    def parse(*)
      raise NotImplementedError, "URI.parse: #{FoolsGold::HINT}"
    end
  end
end
