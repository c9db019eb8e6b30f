# frozen_string_literal: true

# Headers of requests.
module Headers
  include Requests
  extend Requests

  Table.section "Headers", "For a 200 the cell has the value as the application sees it."

  asks "a value with spaces around it", get("/", "X-A: \t a  b \t"), shows: "HTTP_X_A"
  asks "no space after the colon", get("/", "X-A:1"), shows: "HTTP_X_A"
  asks "an empty value", get("/", "X-A:"), shows: "HTTP_X_A"
  asks "a space before the colon", get("/", "X-A : 1"), shows: "HTTP_X_A"
  asks "a line without a colon", get("/", "X-A")
  asks "an empty name", get("/", ": 1")
  asks "a value folded over two lines", get("/", "X-A: 1\r\n 2"), shows: "HTTP_X_A"
  asks "a space before the first header", "GET / HTTP/1.1\r\n X-A: 1\r\n#{HOST}\r\n"
  asks "a NUL in a value", get("/", "X-A: 1\x002")
  asks "a control character (1) in a value", get("/", "X-A: 1\x012")
  asks "DEL in a value", get("/", "X-A: 1\x7f2")
  asks "a carriage return in a value", get("/", "X-A: 1\r2")
  asks "a line feed alone between two headers", "GET / HTTP/1.1\r\n#{HOST}X-A: 1\nX-B: 2\r\n\r\n"
  asks "Latin-1 in a value", get("/", "X-A: gr\xfcn".b), shows: "HTTP_X_A"
  asks "UTF-8 in a value", get("/", "X-A: gr\u00fcn"), shows: "HTTP_X_A"
  asks "`X(A: 1`", get("/", "X(A: 1")
  asks "`X-A.b!c: 1`", get("/", "X-A.b!c: 1"), shows: "HTTP_X_A.B!C"
  asks "Latin-1 in a name", get("/", "X-\xfc: 1".b)
  asks "a header twice", get("/", "X-A: 1", "X-A: 2"), shows: "HTTP_X_A"
  asks "two Cookie headers", get("/", "Cookie: a=1", "Cookie: b=2"), shows: "HTTP_COOKIE",
       why: "RFC 9113 8.2.3 and RFC 6265: cookies are joined with `; `, or the second is lost"
  asks "two Content-Types", post(["Content-Type: a/b", "Content-Type: c/d", "Content-Length: 0"]), shows: "CONTENT_TYPE"

  Table.section "Host", "For a 200 the cell has `SERVER_NAME` and `SERVER_PORT`."

  HOSTS = "RFC 9112 3.2: a 400 is a must where there is no Host, or more than one"
  EMPTY_HOST = "Rails makes links of it; an empty one is a mistake, or an attack on caches"
  HOST_FORM = "RFC 9110 4.2: no host and port; Rails makes links of it"
  COUNT = "`--header-count` (100): each of them is an object in Ruby"
  LONG = "only the head as a whole is bounded (`--header-bytes`)"
  SERVER = %w[SERVER_NAME SERVER_PORT].freeze
  def self.host(*values) = "GET / HTTP/1.1\r\n#{values.map { |value| "Host:#{value}\r\n" }.join}\r\n"

  asks "HTTP/1.1 without a Host", host, why: HOSTS
  asks "two Hosts that differ", host(" a.example", " b.example"), shows: SERVER, why: HOSTS
  asks "the same Host twice", host(" a.example", " a.example"), shows: SERVER, why: HOSTS
  asks "an empty Host", host(""), shows: SERVER, why: EMPTY_HOST
  asks "`Host: a.example:8080`", host(" a.example:8080"), shows: SERVER
  asks "`Host: a.example:`", host(" a.example:"), shows: SERVER,
       why: "no port means the default one; Puma's empty `SERVER_PORT` is no number"
  asks "`Host: a.example:99999`", host(" a.example:99999"), shows: SERVER, why: HOST_FORM
  asks "`Host: a.example:x`", host(" a.example:x"), shows: SERVER, why: HOST_FORM
  asks "`Host: a_b.example`", host(" a_b.example"), shows: SERVER
  asks "`Host: a b`", host(" a b"), shows: SERVER, why: HOST_FORM
  asks "`Host: a/b`", host(" a/b"), shows: SERVER, why: HOST_FORM
  asks "`Host: u@a.example`", host(" u@a.example"), shows: SERVER, why: HOST_FORM
  asks "`Host: [::1]:80`", host(" [::1]:80"), shows: SERVER
  asks "`Host: [::1`", host(" [::1"), shows: SERVER, why: HOST_FORM

  Table.section "Sizes and counts of headers", "Each below a server's limit, or beyond it."

  def self.many(count) = get("/", *(1..count).map { |number| "X-#{number}: 1" })

  asks "90 headers", many(90)
  asks "200 headers", many(200), why: COUNT
  asks "2 000 headers", many(2000), why: COUNT
  asks "a name of 300 bytes", get("/", "X-#{"a" * 298}: 1"), why: LONG
  asks "a cookie of 8 000 bytes", get("/", "Cookie: a=#{"x" * 8000}")
  asks "a cookie of 40 000 bytes", get("/", "Cookie: a=#{"x" * 40_000}")
  asks "a value of 90 000 bytes", get("/", "X-A: #{"x" * 90_000}"), why: LONG
  asks "a value of 200 000 bytes", get("/", "X-A: #{"x" * 200_000}"), why: "431 says what is wrong"

  Table.section "Headers that could pass for others",
                "Sent from 127.0.0.1, which FoolsGold trusts as a proxy unless `--trust-proxy` says otherwise."

  UNDERSCORES = "names with underscores pass but for those that could pass for a proxy's or for the body's " \
                "(`--underscore-headers`)"
  asks "`api_key: 1`", get("/", "api_key: 1"), shows: "HTTP_API_KEY"
  asks "`X_Real_Thing: 1` and `X-Real-Thing: 2`", get("/", "X_Real_Thing: 1", "X-Real-Thing: 2"),
       shows: "HTTP_X_REAL_THING"
  asks "`X_Forwarded_For: 1.2.3.4`", get("/", "X_Forwarded_For: 1.2.3.4"), shows: "HTTP_X_FORWARDED_FOR",
                                                                                   why: UNDERSCORES
  asks "`Content_Length: 5` beside `Content-Length: 3`", post(["Content_Length: 5", "Content-Length: 3"], "abc"),
       shows: %w[CONTENT_LENGTH (body)]
  asks "`Transfer_Encoding: chunked` beside a Content-Length", post(["Transfer_Encoding: chunked", "Content-Length: 3"],
                                                                    "abc"), shows: %w[HTTP_TRANSFER_ENCODING (body)]
  asks "`Proxy: http://evil.example/`", get("/", "Proxy: http://evil.example/"), shows: "HTTP_PROXY",
       why: "CVE-2016-5385 (httpoxy): CGI programs and libraries take `HTTP_PROXY` for their own setting"
  asks "`Version: HTTP/9.9`", get("/", "Version: HTTP/9.9"), shows: %w[SERVER_PROTOCOL HTTP_VERSION],
       why: "`HTTP_VERSION` is the request's version, as in Rack 2; no header of a client hides it"
  asks "`X-Forwarded-For: 1.2.3.4`", get("/", "X-Forwarded-For: 1.2.3.4"), shows: %w[HTTP_X_FORWARDED_FOR REMOTE_ADDR]
  asks "`X-Forwarded-Proto: https`", get("/", "X-Forwarded-Proto: https"), shows: %w[rack.url_scheme SERVER_PORT]
  asks "`X-Sendfile-Type: X-Accel-Redirect`, from a trusted peer", get("/", "X-Sendfile-Type: X-Accel-Redirect"),
       shows: "HTTP_X_SENDFILE_TYPE"
  asks "`Client-IP: 4.4.4.4`, from a trusted peer", get("/", "Client-IP: 4.4.4.4"), shows: "HTTP_CLIENT_IP"
end
