# URI: encoding and decoding of components and forms by Rust. Most applications need no more, so the parser and the
# classes of URIs (uri/) are loaded on first use.

module URI
  class Error < StandardError; end
  class InvalidURIError < Error; end
  class InvalidComponentError < Error; end
  class BadURIError < Error; end

  class << self
    def encode_www_form_component(text, encoding = nil)
      FoolsGold::Native.www_form_escape(__as(encoding, text.to_s))
    end

    def decode_www_form_component(text, encoding = nil)
      __in(encoding, FoolsGold::Native.www_form_unescape(text.to_str))
    end

    def encode_uri_component(text, encoding = nil) = encode_www_form_component(text, encoding).gsub("+", "%20")

    def decode_uri_component(text, encoding = nil)
      raise ArgumentError, "invalid %-encoding (#{text})" if /%(?!\h\h)/.match?(text)
      __in(encoding, FoolsGold::Native.url_unescape(text.to_str))
    end

    def encode_www_form(pairs, encoding = nil)
      pairs.map do |name, value|
        name = encode_www_form_component(name, encoding)
        next name if value.nil?
        next "#{name}=#{encode_www_form_component(value, encoding)}" unless value.respond_to?(:to_ary)
        value.to_ary.map { |one| one.nil? ? "" : "#{name}=#{encode_www_form_component(one, encoding)}" }.join("&")
      end.join("&")
    end

    def decode_www_form(text, encoding = nil, separator: "&", use__charset_: false, isindex: false)
      raise ArgumentError, "the input of URI.decode_www_form must be ASCII only string" unless text.ascii_only?
      return [] if text.empty?
      pairs = text.chomp(separator).split(separator, -1)
      pairs << "" if pairs.empty?
      pairs.map do |pair|
        name, equals, value = pair.partition("=")
        name, value = "", name if isindex && equals.empty?
        isindex = false
        [name, value].map { |part| __in(encoding, FoolsGold::Native.form_unescape(part)).scrub }
      end
    end

    def parse(text) = DEFAULT_PARSER.parse(text)
    def split(text) = DEFAULT_PARSER.split(text)
    def join(*texts) = texts.drop(1).inject(parse(texts.first)) { |left, right| left.merge(right) }
    def scheme_list = { "FTP" => FTP, "HTTP" => HTTP, "HTTPS" => HTTPS, "WS" => WS, "WSS" => WSS, "FILE" => File,
                        "MAILTO" => MailTo }.merge(@schemes || {})

    def register_scheme(scheme, klass)
      (@schemes ||= {})[scheme.to_s.upcase] = klass
    end

    def for(scheme, *parts, default: Generic)
      (scheme_list[scheme.to_s.upcase] || default).new(scheme, *parts)
    end

    def regexp(schemes = nil) = RFC2396_PARSER.make_regexp(schemes)

    def extract(text, schemes = nil)
      found = []
      text.scan(RFC2396_PARSER.make_regexp(schemes)) { found << $& }
      block_given? ? found.each { |uri| yield uri } && nil : found
    end

    private

    # A text in an encoding. Characters that the encoding lacks become references of HTML, as when browsers send forms.
    def __as(encoding, text)
      return text if encoding.nil? || text.__binary? || encoding == Encoding::BINARY
      text.encode("UTF-8", invalid: :replace, undef: :replace).encode(encoding, fallback: ->(char) { "&##{char.ord};" })
    end

    # Decoded bytes in an encoding, UTF-8 without one: the constant Encoding would load a library.
    def __in(encoding, text) = encoding ? text.force_encoding(encoding) : text.__binary!(false)
  end

  FoolsGold.wait_for(self, :Generic, "foolsgold/uri/generic")
  %i[HTTP HTTPS FTP WS WSS File MailTo].each { |name| FoolsGold.wait_for(self, name, "foolsgold/uri/schemes") }
  %i[RFC3986_Parser RFC3986_PARSER DEFAULT_PARSER].each do |name|
    FoolsGold.wait_for(self, name, "foolsgold/uri/rfc3986_parser")
  end
  %i[RFC2396_Parser RFC2396_PARSER Parser REGEXP Util].each do |name|
    FoolsGold.wait_for(self, name, "foolsgold/uri/rfc2396_parser")
  end
end

module Kernel
  def URI(text)
    return text if text.is_a?(URI::Generic)
    raise ArgumentError, "bad argument (expected URI object or URI string)" unless text.respond_to?(:to_str)
    URI.parse(text.to_str)
  end
  module_function :URI
end
