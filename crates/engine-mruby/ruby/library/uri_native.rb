# What Ruby's uri/common.rb does with a pattern and a table for each text, done by Rust: Rack escapes with it.

module URI
  class << self
    alias __encode _encode_uri_component
    alias __decode _decode_uri_component

    private

    def _encode_uri_component(pattern, table, text, encoding)
      return __encode(pattern, table, text, encoding) if encoding
      made = FoolsGold::Native.www_form_escape(text.to_s)
      table.equal?(TBLENCURICOMP_) ? made.gsub("+", "%20") : made
    end

    def _decode_uri_component(pattern, text, encoding)
      return __decode(pattern, text, encoding) unless encoding.equal?(Encoding::UTF_8) && text.is_a?(String)
      return FoolsGold::Native.www_form_unescape(text) if pattern.match?("+")
      raise ArgumentError, "invalid %-encoding (#{text})" if /%(?!\h\h)/.match?(text)
      FoolsGold::Native.url_unescape(text)
    end
  end
end
