# URI::RFC3986_Parser: splits a text into the components of a URI.

module URI
  class RFC3986_Parser
    PARTS = %r{\A(?:([A-Za-z][-+.A-Za-z\d]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?\z}m
    CHARS = %r{\A(?:[-!$&'()*+,./0-9:;=?@A-Z_a-z~]|%\h\h)*\z}
    AUTHORITY = %r{\A(?:([^@]*)@)?(\[[\h:.]+\]|\[v\h+\.[^\]]+\]|[^:@\[\]]*)(?::(\d*))?\z}

    # Splits a text into scheme, userinfo, host, port, registry, path, opaque, query and fragment.
    def split(text)
      text = text.to_str if text.respond_to?(:to_str)
      raise InvalidURIError, "bad URI(is not URI?): #{text.inspect}" unless text.is_a?(String)
      raise InvalidURIError, "URI must be ascii only #{text.dump}" unless text.ascii_only?
      scheme, authority, path, query, fragment = PARTS.match(text)&.captures
      # A query may have any character; Generic escapes those that it must not have.
      valid = path && CHARS.match?(path) && CHARS.match?(fragment.to_s)
      # RFC 3986, section 4.2: a colon in the first segment of a relative path would read as a scheme.
      valid &&= scheme || authority || !path.split("/", 2).first.to_s.include?(":")
      raise InvalidURIError, "bad URI(is not URI?): #{text.inspect}" unless valid
      # Such as mailto:a@b: everything behind the scheme is opaque.
      if scheme && authority.nil? && !path.empty? && !path.start_with?("/")
        return [scheme, nil, nil, nil, nil, nil, query ? "#{path}?#{query}" : path, nil, fragment]
      end
      [scheme, *split_authority(authority, text), nil, path, nil, query, fragment]
    end

    def parse(text)
      URI.for(*split(text), self)
    end

    def join(*texts) = URI.join(*texts)
    def escape(text, *args) = RFC2396_PARSER.escape(text, *args)
    def unescape(text, *) = RFC2396_PARSER.unescape(text)
    def extract(text, schemes = nil, &block) = URI.extract(text, schemes, &block)
    def make_regexp(schemes = nil) = RFC2396_PARSER.make_regexp(schemes)
    def inspect = "#<#{self.class}>"

    def regexp
      { UNSAFE: RFC2396_Parser::UNSAFE, ESCAPED: /%[a-fA-F\d]{2}/, SCHEME: /\A[A-Za-z][A-Za-z0-9+\-.]*\z/,
        PATH: CHARS, QUERY: CHARS, FRAGMENT: CHARS }
    end

    private

    def split_authority(authority, text)
      return [nil, nil, nil] unless authority
      userinfo, host, port = AUTHORITY.match(authority)&.captures
      if host.nil? || ![userinfo.to_s, host.delete("[]")].all? { |part| CHARS.match?(part) }
        raise InvalidURIError, "bad URI(is not URI?): #{text.inspect}"
      end
      [userinfo, host, port.nil? || port.empty? ? nil : port]
    end
  end

  RFC3986_PARSER = DEFAULT_PARSER = RFC3986_Parser.new
end
