# URI: encoding and decoding of components and forms. URI.parse is not there and says so.

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
