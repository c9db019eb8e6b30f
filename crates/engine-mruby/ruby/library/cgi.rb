# Escaping functions of CGI, in Rust (ruby-stdlib/src/text.rs). Cookies are in cgi/cookie.rb. The interface to web
# servers is not there.

class CGI
  CR, LF, EOL = "\r", "\n", "\r\n"

  module Escape
    def escapeHTML(text) = FoolsGold::Native.html_escape(text)
    alias escape_html escapeHTML
    alias h escapeHTML
    def unescapeHTML(text) = FoolsGold::Native.html_unescape(text)
    alias unescape_html unescapeHTML
    def escape(text) = FoolsGold::Native.form_escape(text)
    def unescape(text, *) = FoolsGold::Native.form_unescape(text)
    def escapeURIComponent(text) = FoolsGold::Native.url_escape(text)
    alias escape_uri_component escapeURIComponent

    # The result of a BINARY text is UTF-8 if it is valid as such, else BINARY.
    def unescapeURIComponent(text, *)
      decoded = FoolsGold::Native.url_unescape(text)
      return decoded unless text.__binary?
      decoded.__binary!(false).valid_encoding? ? decoded : decoded.__binary!(true)
    end
    alias unescape_uri_component unescapeURIComponent
  end

  module Util
    include Escape

    # Escapes the tags of these elements only.
    def escapeElement(text, *elements)
      elements = elements.flatten
      return text if elements.empty?
      text.gsub(/<\/?(?:#{elements.join('|')})\b[^<>]*+>?/im) { |found| CGI.escapeHTML(found) }
    end
    alias escape_element escapeElement

    def unescapeElement(text, *elements)
      elements = elements.flatten
      return text if elements.empty?
      form = /&lt;\/?(?:#{elements.join('|')})\b(?>[^&]+|&(?![gl]t;)\w+;)*(?:&gt;)?/im
      text.gsub(form) { |found| CGI.unescapeHTML(found) }
    end
    alias unescape_element unescapeElement

    def rfc1123_date(time) = time.getgm.strftime("%a, %d %b %Y %T GMT")
  end

  extend Util

  # The names in a query, each with an Array of its values.
  def self.parse(query)
    found = Hash.new([].freeze)
    query.split(/[&;]/).each do |pair|
      name, value = pair.split("=", 2).map { |part| CGI.unescape(part) }
      next unless name
      found[name] = [] unless found.key?(name)
      found[name].push(value) if value
    end
    found
  end

  def initialize(*)
    raise NotImplementedError, "CGI.new: there is no CGI here, but Rack. #{FoolsGold::HINT}"
  end

  FoolsGold.wait_for(self, :Cookie, "foolsgold/cgi/cookie")
end
