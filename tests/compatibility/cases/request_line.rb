# frozen_string_literal: true

# The request line: versions, methods, targets.
module RequestLine
  include Requests
  extend Requests

  VERSIONS = "HTTP/1 is spoken; 505 says so"
  METHODS_WHY = "a method is any token; what is allowed is for the application to say (WebDAV, CalDAV)"
  ENCODED = "what no URI may have is taken, and percent-encoded, so that all libraries can parse it"
  ABSOLUTE = "RFC 9112 3.2.2: the host of the target counts, not the Host header"
  LONG = "only the head as a whole is bounded (`--header-bytes`)"

  Table.part "Requests", "Bytes that are sent over a socket, to an application that answers 200 with its environment."

  Table.section "The request line", "Versions, and what separates words and lines."

  def self.line(text) = "#{text}\r\n#{HOST}\r\n"

  asks "`GET / HTTP/1.1`", get
  asks "`GET / HTTP/1.0`, without a Host", "GET / HTTP/1.0\r\n\r\n", shows: %w[SERVER_NAME],
       why: "the address that the client has connected to is right where `localhost` is not"
  asks "`HTTP/1.2`", line("GET / HTTP/1.2")
  asks "`HTTP/2.0`", line("GET / HTTP/2.0"), why: VERSIONS
  asks "`HTTP/9.9`", line("GET / HTTP/9.9"), why: VERSIONS
  asks "`http/1.1`, in small letters", line("GET / http/1.1")
  asks "`HTTP/1`", line("GET / HTTP/1")
  asks "`HTTP/01.1`", line("GET / HTTP/01.1"), why: "RFC 9112 2.3: a version is two digits"
  asks "`GET /`, without a version", "GET /\r\n\r\n"
  asks "the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", why: VERSIONS
  asks "a TLS handshake", "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00\r\n\r\n".b
  asks "two spaces in the request line", line("GET  / HTTP/1.1")
  asks "tabs in the request line", line("GET\t/\tHTTP/1.1")
  asks "a word too many", line("GET / x HTTP/1.1")
  asks "a space before the method", line(" GET / HTTP/1.1")
  asks "a space at the end of the request line", line("GET / HTTP/1.1 ")
  asks "an empty line before the request", "\r\n" + get, why: "RFC 9112 2.2: empty lines before a request are skipped"
  asks "ten empty lines before the request", ("\r\n" * 10) + get,
       why: "RFC 9112 2.2: empty lines before a request are skipped"
  asks "line feeds alone for line ends", "GET / HTTP/1.1\nHost: a.example\n\n"
  asks "a carriage return alone after the request line", "GET / HTTP/1.1\rHost: a.example\r\n\r\n",
       why: "a bad request is the client's fault: 400"

  Table.section "Methods", "What is sent with `METHOD /m HTTP/1.1`; the application answers 200 to all of them."

  %w[OPTIONS PUT PATCH DELETE TRACE PROPFIND QUERY BREW get].each do |name|
    asks "`#{name}`", line("#{name} /m HTTP/1.1"), shows: "REQUEST_METHOD",
         why: (METHODS_WHY if %w[PROPFIND QUERY BREW get].include?(name))
  end
  asks "`HEAD`", line("HEAD /m HTTP/1.1"), method: "HEAD"
  asks "`CONNECT a.example:443`", line("CONNECT a.example:443 HTTP/1.1")
  asks "`CONNECT /m`", line("CONNECT /m HTTP/1.1")
  asks "`OPTIONS *`", line("OPTIONS * HTTP/1.1"), shows: %w[PATH_INFO]
  asks "`G@T`", line("G@T /m HTTP/1.1")
  asks "`GÉT`", line("G\u00c9T /m HTTP/1.1").b
  asks "a method of 300 letters", line("#{"A" * 300} /m HTTP/1.1"), why: METHODS_WHY

  Table.section "Targets", "For a 200 the cell has `PATH_INFO` and `QUERY_STRING` as the application sees them."

  URL = %w[PATH_INFO QUERY_STRING].freeze
  asks "`/a/b?c=d`", get("/a/b?c=d"), shows: URL
  asks "`/q?a#b`, a fragment", get("/q?a#b"), shows: URL
  asks "`/p#b`, a fragment without a query", get("/p#b"), shows: URL
  asks "`//a//b`", get("//a//b"), shows: URL
  asks "`/a/../b/./c`", get("/a/../b/./c"), shows: URL
  asks "`/%61%2F%2e`", get("/%61%2F%2e"), shows: URL
  asks "`/%zz?%zz`, no escapes", get("/%zz?%zz"), shows: URL
  asks "`/a%00b`", get("/a%00b"), shows: URL
  asks "`/a+b?c+d`", get("/a+b?c+d"), shows: URL
  asks "`/q?a?b`", get("/q?a?b"), shows: URL
  asks "`/q?`", get("/q?"), shows: URL
  asks "`?a=1`, no path", get("?a=1"), shows: URL
  asks "`a/b`, no slash before it", get("a/b"), shows: URL
  asks "`*` with GET", get("*"), shows: URL, why: "RFC 9112 3.2.4: `*` is for OPTIONS alone"
  asks "`a.example:80` with GET", get("a.example:80"), shows: URL,
       why: "RFC 9112 3.2.3: only CONNECT has such a target; Puma gives the application an empty path"
  asks "`/q?a[]=1&b={x}`", get("/q?a[]=1&b={x}"), shows: URL
  asks "`` /<a>\"^`{}|\\ ``", get("/<a>\"^`{}|\\"), shows: URL, why: ENCODED
  asks "Latin-1 in the target", get("/gr\xfcn?\xfc".b), shows: URL, why: ENCODED
  asks "UTF-8 in the target", get("/gr\u00fcn?\u00fc"), shows: URL
  asks "a control character (1) in the target", get("/a\x01b"), shows: URL
  asks "a NUL in the target", get("/a\0b"), shows: URL
  asks "a tab in the target", get("/a\tb"), shows: URL
  asks "DEL in the target", get("/a\x7fb"), shows: URL
  asks "`http://b.example:81/p?q`, absolute form", get("http://b.example:81/p?q"),
       shows: %w[PATH_INFO QUERY_STRING HTTP_HOST SERVER_PORT], why: ABSOLUTE
  asks "`http://b.example`, absolute form without a path", get("http://b.example"), shows: %w[PATH_INFO HTTP_HOST],
       why: ABSOLUTE
  asks "`HTTP://b.example/p`, the scheme in capitals", get("HTTP://b.example/p"), shows: %w[PATH_INFO HTTP_HOST],
       why: ABSOLUTE
  asks "`ftp://b.example/p`", get("ftp://b.example/p"), shows: %w[PATH_INFO HTTP_HOST], why: "this server has no `ftp`"
  asks "`http://u@b.example/p`, with a user", get("http://u@b.example/p"), shows: %w[PATH_INFO HTTP_HOST],
       why: "RFC 9110 4.2.4: a user in a request's target is there to deceive somebody"
  asks "a path of 2 000 bytes", get("/#{"a" * 2000}")
  asks "a path of 9 000 bytes", get("/#{"a" * 9000}"), why: LONG
  asks "a query of 9 000 bytes", get("/?#{"a" * 9000}")
  asks "a query of 20 000 bytes", get("/?#{"a" * 20_000}"), why: LONG
  asks "a target of 70 000 bytes", get("/?#{"a" * 70_000}"), why: "414 says what is wrong"
end
