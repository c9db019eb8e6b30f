# URI::RFC2396_Parser: the parts of the older parser that are still in use.

module URI
  # Escaping of characters that a URI must not have, and a pattern that finds URIs in text.
  class RFC2396_Parser < RFC3986_Parser
    UNSAFE = %r{[^-_.!~*'()a-zA-Z\d;/?:@&=+$,\[\]]}

    def initialize(_options = {}); end

    def escape(text, unsafe = UNSAFE)
      unsafe = Regexp.new("[#{Regexp.quote(unsafe)}]") unless unsafe.is_a?(Regexp)
      text.gsub(unsafe) { |found| found.each_byte.map { |byte| format("%%%02X", byte) }.join }
    end

    def unescape(text, *) = text.gsub(/(?:%\h\h)+/) { |found| FoolsGold::Native.url_unescape(found) }

    # A Regexp for absolute URIs with one of these schemes, or any: RFC 2396, appendix A.
    def make_regexp(schemes = nil)
      scheme = schemes ? "(?i:#{Regexp.union(*schemes).source})" : "[a-zA-Z][-+.a-zA-Z\\d]*"
      char = "(?:[-_.!~*'()a-zA-Z\\d;?:@&=+$,]|%[a-fA-F\\d]{2})"
      Regexp.new("#{scheme}:(?://#{char}*(?:\\[[a-fA-F\\d:.]+\\](?::\\d*)?)?(?:/#{char}*)*|/?#{char}(?:/|#{char})*)" \
        "(?:\\?(?:[/\\[\\]]|#{char})*)?(?:\\#(?:[/\\[\\]]|#{char})*)?")
    end
  end

  Parser = RFC2396_Parser
  RFC2396_PARSER = RFC2396_Parser.new

  module REGEXP
    def self.const_missing(name) = name == :UNSAFE ? RFC2396_Parser::UNSAFE : super
  end

  module Util; end
end
