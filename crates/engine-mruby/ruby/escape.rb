# Escaping for HTML and URLs under the names that people know: CGI and ERB::Util. The work is done by Rust.

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
    def html_escape(text)
      FoolsGold::Native.html_escape(text.to_s)
    end
    alias h html_escape

    def url_encode(text)
      FoolsGold::Native.url_escape(text.to_s)
    end
    alias u url_encode

    # Both as ERB::Util.html_escape and, included, as html_escape.
    extend self
  end

  def initialize(*)
    raise NotImplementedError, "ERB.new: #{FoolsGold::HINT}"
  end
end
