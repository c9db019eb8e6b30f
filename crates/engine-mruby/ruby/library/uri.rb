# URI.parse and what it gives: a URI taken apart by RFC 3986, put together again and joined with others.

module URI
  class Error < StandardError; end
  class InvalidURIError < Error; end
  class InvalidComponentError < Error; end
  class BadURIError < Error; end

  class Generic
    PORTS = { "http" => 80, "https" => 443, "ftp" => 21, "ws" => 80, "wss" => 443 }.freeze

    attr_reader :opaque
    attr_accessor :scheme, :userinfo, :host, :port, :path, :query, :fragment
    def hostname = host&.start_with?("[") ? host[1...-1] : host

    def self.parse(text)
      text = text.to_str
      if text.each_char.any? { |char| char <= " " || char == "<" || char == ">" || char == "\"" || char.ord > 126 }
        raise InvalidURIError, "bad URI (is not URI?): #{text.inspect}"
      end
      rest, fragment = text.split("#", 2)
      rest, query = rest.to_s.split("?", 2)
      scheme, rest = scheme_of(rest.to_s)
      klass = { "http" => HTTP, "https" => HTTPS }[scheme] || Generic
      klass.new(scheme, rest, query, fragment)
    end

    def self.scheme_of(text)
      colon = text.index(":")
      return [nil, text] if colon.nil? || (text.index("/") || colon) < colon
      name = text[0...colon].downcase
      plain = name[0].to_s.between?("a", "z") && name.each_char.all? do |char|
        char.between?("a", "z") || char.between?("0", "9") || "+-.".include?(char)
      end
      plain ? [name, text[(colon + 1)..-1]] : raise(InvalidURIError, "bad URI (is not URI?): #{text.inspect}")
    end

    def initialize(scheme, rest, query, fragment)
      @scheme = scheme
      @query = query
      @fragment = fragment
      if rest.start_with?("//")
        slash = rest.index("/", 2) || rest.size
        authority(rest[2...slash])
        @path = rest[slash..-1]
      elsif scheme && !rest.start_with?("/")
        @opaque = rest
      else
        @path = rest
      end
      @port ||= default_port
    end

    def default_port = PORTS[scheme]
    def user = userinfo&.split(":", 2)&.first
    def password = userinfo&.split(":", 2)&.last
    def absolute? = !scheme.nil?
    def relative? = scheme.nil?
    def hierarchical? = opaque.nil?
    def odd_port = port && port != default_port ? port.to_s : nil
    def parts = [scheme, userinfo, host, odd_port, nil, path, opaque, query, fragment]
    def request_uri = "#{path.empty? ? '/' : path}#{query && "?#{query}"}"
    def authority_text = "#{userinfo && "#{userinfo}@"}#{host}#{odd_port && ":#{odd_port}"}"
    def origin = "#{scheme}://#{host}#{port == default_port ? '' : ":#{port}"}"

    def to_s
      text = scheme ? "#{scheme}:" : ""
      text += opaque || "#{host && "//#{authority_text}"}#{path}"
      "#{text}#{query && "?#{query}"}#{fragment && "##{fragment}"}"
    end
    alias to_str to_s

    def inspect = "#<#{self.class} #{self}>"
    def ==(other) = other.is_a?(Generic) && to_s == other.to_s
    def hash = to_s.hash
    alias eql? ==

    # Another reference as seen from this one.
    def merge(other)
      other = URI.parse(other.to_s)
      return other if other.absolute?
      made = dup
      made.fragment = other.fragment
      return made.tap { made.query = other.query || query } if other.path.empty? && other.host.nil?
      made.query = other.query
      made.host = other.host if other.host
      made.path = other.path.start_with?("/") || other.host ? other.path : beside(other.path)
      made
    end
    alias + merge

    private

    def authority(text)
      at = text.rindex("@")
      @userinfo = at && text[0...at]
      text = text[(at + 1)..-1] if at
      colon = text.rindex(":")
      colon = nil if colon && text.end_with?("]")
      @host = colon ? text[0...colon] : text
      port = colon ? text[(colon + 1)..-1] : ""
      @port = port.empty? ? nil : Integer(port, 10)
    rescue ArgumentError
      raise InvalidURIError, "bad URI (bad port): #{text.inspect}"
    end

    def beside(relative)
      kept = path[0..(path.rindex("/") || 0)].to_s.split("/")
      relative.split("/", -1).each do |part|
        next kept.pop if part == ".."
        kept << part unless part == "."
      end
      made = kept.join("/")
      made.start_with?("/") ? made : "/#{made}"
    end
  end

  class HTTP < Generic; end
  class HTTPS < HTTP; end

  # The parts of the old parser that Rack uses.
  class RFC2396_Parser
    SAFE = "-_.!~*'();/?:@&=+$,[]".freeze

    def parse(text) = URI.parse(text)
    def split(text) = URI.split(text)

    def escape(text, _unsafe = nil)
      text.bytes.map { |byte| safe?(byte.chr) ? byte.chr : "%#{byte.to_s(16).upcase.rjust(2, '0')}" }.join
    end

    def unescape(text) = FoolsGold::Native.url_unescape(text)

    # A URI with a scheme, of those that are named or any: RFC 2396, appendix A.
    def make_regexp(schemes = nil)
      scheme = schemes ? "(?i:#{Regexp.union(*schemes).source})" : "[a-zA-Z][-+.a-zA-Z\\d]*"
      char = "(?:[-_.!~*'()a-zA-Z\\d;?:@&=+$,]|%[a-fA-F\\d]{2})"
      Regexp.new("#{scheme}:(?://#{char}*(?:\\[[a-fA-F\\d:.]+\\](?::\\d*)?)?(?:/#{char}*)*|/?#{char}(?:/|#{char})*)" \
        "(?:\\?(?:[/\\[\\]]|#{char})*)?(?:\\#(?:[/\\[\\]]|#{char})*)?")
    end

    private

    def safe?(char)
      char.between?("a", "z") || char.between?("A", "Z") || char.between?("0", "9") || SAFE.include?(char)
    end
  end
  Parser = RFC2396_Parser
  DEFAULT_PARSER = RFC2396_PARSER = RFC2396_Parser.new
end
