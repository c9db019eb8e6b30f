# Requests by name, as they are sent; a line feed stands for CRLF.

def plain(line, headers = "")
  "#{line} HTTP/1.1\nHost: a.example\n#{headers}Connection: close\n\n"
end

def post(headers, body)
  plain("POST /p", headers) + body
end

METHODS = %w[HEAD DELETE OPTIONS PATCH PUT TRACE PROPFIND BREW get].freeze

REQUESTS = {
  "GET" => plain("GET /a/b?c=d"),
  "GET, bare" => "GET / HTTP/1.1\nHost: a.example\n\n",
  **METHODS.to_h { |name| [name, plain("#{name} /m", "Content-Length: 0\n")] },
  "OPTIONS *" => plain("OPTIONS *"),
  "CONNECT" => plain("CONNECT a.example:443"),
  "absolute form" => plain("GET http://b.example:81/p?q=1"),
  "absolute form without path" => plain("GET http://b.example"),
  "absolute form, https" => plain("GET https://a.example/p"),
  "HTTP/1.0" => "GET /old HTTP/1.0\nHost: a.example\n\n",
  "HTTP/1.0 without Host" => "GET /old HTTP/1.0\n\n",
  "HTTP/1.0 with a body" => "POST /old HTTP/1.0\nContent-Length: 3\n\nabc",
  "HTTP/1.0, keep-alive" => "GET /old HTTP/1.0\nHost: a\nConnection: close, keep-alive\n\n",
  "an empty Host" => "GET / HTTP/1.1\nHost:\nConnection: close\n\n",
  "Host with a port" => "GET / HTTP/1.1\nHost: a.example:8080\nConnection: close\n\n",
  "Host with an empty port" => "GET / HTTP/1.1\nHost: a.example:\nConnection: close\n\n",
  "Host of IPv4" => "GET / HTTP/1.1\nHost: 10.1.2.3:80\nConnection: close\n\n",
  "Host of IPv6" => "GET / HTTP/1.1\nHost: [::1]\nConnection: close\n\n",
  "Host of IPv6 with a port" => "GET / HTTP/1.1\nHost: [2001:db8::1]:9292\nConnection: close\n\n",
  "Host in capitals" => "GET / HTTP/1.1\nHOST: A.Example\nConnection: close\n\n",
  "Host with an underscore" => "GET / HTTP/1.1\nHost: a_b.example\nConnection: close\n\n",
  "body" => post("Content-Type: application/json\nContent-Length: 7\n", '{"a":1}'),
  "body without a type" => post("Content-Length: 3\n", "abc"),
  "body, empty" => post("Content-Type: text/plain\nContent-Length: 0\n", ""),
  "body, none said" => post("Content-Type: text/plain\n", ""),
  "body of a form" => post("Content-Type: application/x-www-form-urlencoded\nContent-Length: 5\n", "a=1&b"),
  "body of bytes" => post("Content-Length: 4\n", "\xff\x00\r\n".b),
  "body, large" => post("Content-Length: 200000\n", "x" * 200_000),
  "body, length with zeros before" => post("Content-Length: 003\n", "abc"),
  "body of a GET" => plain("GET /g", "Content-Length: 3\n") + "abc",
  "chunked" => post("Content-Type: application/json\nTransfer-Encoding: chunked\n", "7\r\n{\"a\":1}\r\n0\r\n\r\n"),
  "chunked, empty" => post("Transfer-Encoding: chunked\n", "0\r\n\r\n"),
  "chunked, in capitals" => post("Transfer-Encoding: CHUNKED\n", "1\r\na\r\n0\r\n\r\n"),
  "chunked, two chunks and a trailer" =>
    post("Trailer: X-Sum\nTransfer-Encoding: chunked\n", "2\r\nab\r\n1;x=y\r\nc\r\n0\r\nX-Sum: 1\r\n\r\n"),
  "chunked, large" => post("Transfer-Encoding: chunked\n", "30d40\r\n#{'x' * 200_000}\r\n0\r\n\r\n"),
  "chunked GET" => plain("GET /g", "Transfer-Encoding: chunked\n") + "3\r\nabc\r\n0\r\n\r\n",
  "gzip, chunked" => post("Transfer-Encoding: gzip, chunked\n", "1\r\na\r\n0\r\n\r\n"),
  "a body with a Content-Encoding" => post("Content-Encoding: gzip\nContent-Length: 1\n", "a"),
  "Expect" => post("Expect: 100-continue\nContent-Length: 3\n", "abc"),
  "a header twice" => plain("GET /h", "Accept: a\nAccept: b\n"),
  "a header twice, once empty" => plain("GET /h", "X-A:\nX-A: b\n"),
  "cookies in two lines" => plain("GET /h", "Cookie: a=1\nCookie: b=2\n"),
  "Content-Type twice" => post("Content-Type: a/b\nContent-Type: c/d\nContent-Length: 0\n", ""),
  "a header without a value" => plain("GET /h", "X-Empty:\n"),
  "a header with spaces around" => plain("GET /h", "X-Space: \t a  b \t\n"),
  "a header beyond ASCII" => plain("GET /h", "X-Text: gr\u00fcn\n"),
  "a header in Latin-1" => plain("GET /h", "X-Text: gr\xfcn\n".b),
  "an odd name" => plain("GET /h", "X-A.b!c: 1\n"),
  "a number for a name" => plain("GET /h", "1: 2\n"),
  "underscores" => plain("GET /h", "api_key: 1\n"),
  "underscores, and the twin with a dash" => plain("GET /h", "X_Real_Thing: 1\nX-Real-Thing: 2\n"),
  "underscores, the twin comes first" => plain("GET /h", "X-Real-Thing: 2\nX_Real_Thing: 1\n"),
  "underscores twice" => plain("GET /h", "a_b: 1\nA_B: 2\n"),
  "underscores and dashes mixed" => plain("GET /h", "a-b_c: 1\na_b-c: 2\n"),
  "Content_Type" => post("Content_Type: a/b\nContent-Length: 0\n", ""),
  "Content_Length" => post("Content_Length: 5\nContent-Length: 3\n", "abc"),
  "Transfer_Encoding" => post("Transfer_Encoding: chunked\nContent-Length: 3\n", "abc"),
  "X_Forwarded_For" => plain("GET /h", "X_Forwarded_For: 1.2.3.4\n"),
  "Version" => plain("GET /h", "Version: HTTP/9.9\n"),
  "HTTP-Version" => plain("GET /h", "HTTP-Version: 9\n"),
  "Proxy" => plain("GET /h", "Proxy: http://evil.example/\n"),
  "X-Forwarded-Proto" =>
    plain("GET /h", "X-Forwarded-Proto: https\nX-Forwarded-For: 1.2.3.4\nX-Forwarded-Host: b:81\n"),
  "X-Forwarded-Ssl" => plain("GET /h", "X-Forwarded-Ssl: on\n"),
  "X-Request-Id" => plain("GET /h", "X-Request-Id: abc\n"),
  "Authorization" => plain("GET /h", "Authorization: Basic YTpi\n"),
  "Upgrade" => "GET /u HTTP/1.1\nHost: a\nConnection: Upgrade\nUpgrade: websocket\n\n",
  "Upgrade to h2c" =>
    "GET /u HTTP/1.1\nHost: a\nConnection: Upgrade, HTTP2-Settings\nUpgrade: h2c\nHTTP2-Settings: \n\n",
  "only a query" => plain("GET /?a=1"),
  "an empty query" => plain("GET /q?"),
  "two question marks" => plain("GET /q?a?b"),
  "a fragment" => plain("GET /q?a#b"),
  "two slashes" => plain("GET //a//b"),
  "three slashes, a host" => plain("GET ///b.example/c"),
  "dots" => plain("GET /a/../b/./c"),
  "escapes" => plain("GET /%61%2F%2e%00%zz?%26=%zz"),
  "odd characters" => plain("GET /a:b@c;d=e,f'g(h)*!$~|{}[]\\^`\"<>?a[]=1&b={x}|\"<>`"),
  "UTF-8 in the path" => plain("GET /gr\u00fcn?gr\u00fcn"),
  "plus" => plain("GET /a+b?c+d"),
  "a long path" => plain("GET /#{'a' * 3000}?#{'b' * 3000}"),
}.transform_values do |text|
  head, body = text.b.split("\n\n".b, 2)
  "#{head.gsub("\n", "\r\n")}\r\n\r\n".b + body.to_s.b
end
