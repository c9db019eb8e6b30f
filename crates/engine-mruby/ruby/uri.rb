# URI: encoding and decoding of components and forms. What takes a whole URI apart is in library/uri.rb.

module URI
  class << self
    def encode_www_form_component(text, *)
      FoolsGold::Native.www_form_escape(text.to_s)
    end

    def decode_www_form_component(text, *)
      FoolsGold::Native.www_form_unescape(text.to_str)
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

    def parse(text) = Generic.parse(text)
    def join(base, *others) = others.inject(parse(base)) { |left, right| left.merge(right) }
    def split(text) = parse(text).parts
  end

  names = %i[Generic HTTP HTTPS Parser RFC2396_Parser RFC2396_PARSER DEFAULT_PARSER Error InvalidURIError
             InvalidComponentError BadURIError]
  names.each { |name| FoolsGold.wait_for(URI, name, "foolsgold/uri") }
end

module Kernel
  def URI(text) = text.is_a?(URI::Generic) ? text : URI.parse(text)
end
