# Headers: values that are no Strings, names and values that HTTP does not know, and those that are not the
# application's.

# One that has the pairs and is no Hash.
class Pairs
  def initialize(*pairs)
    @pairs = pairs
  end

  def each
    @pairs.each { |name, value| yield name, value }
  end
end

# A row of these headers and a body of one byte.
def header(name, given, expected, status = 200, **more)
  Book.row("header-#{name}", status, (status < 500 ? "x" : nil), headers: expected, **more) do
    [200, given.respond_to?(:call) ? given.call : given, ["x"]]
  end
end

header("string", { "x-a" => "1" }, { "x-a" => ["1"] })
header("capitals", { "X-Total-Count" => "1" }, { "x-total-count" => ["1"] })
header("integer", { "x-total-count" => 42 }, { "x-total-count" => ["42"] })
header("float", { "x-a" => 1.5 }, { "x-a" => ["1.5"] })
header("true", { "x-a" => true }, { "x-a" => ["true"] })
header("symbol-value", { "x-a" => :b }, { "x-a" => ["b"] })
header("object", { "x-a" => Pathname.new("/a") }, { "x-a" => ["/a"] })
header("nil", { "x-a" => nil }, { "x-a" => [""] })
header("empty", { "x-a" => "" }, { "x-a" => [""] })
header("symbol-name", { "x-a": "1" }, { "x-a" => ["1"] })
header("integer-name", { 5 => "1" }, {}, 500)
header("nil-name", { nil => "1" }, {}, 500)
header("array", { "set-cookie" => %w[a=1 b=2] }, { "set-cookie" => %w[a=1 b=2] })
header("array-one", { "x-a" => ["1"] }, { "x-a" => ["1"] })
header("array-empty", { "x-a" => [] }, { "x-a" => [] })
header("array-integers", { "x-a" => [1, 2] }, { "x-a" => %w[1 2] })
header("array-nil", { "x-a" => [nil, "1"] }, { "x-a" => ["1"] })
header("array-line-feed", { "set-cookie" => ["a=1\nb=2"] }, {}, 500)
header("pairs", [["x-a", "1"], ["x-b", "2"]], { "x-a" => ["1"], "x-b" => ["2"] })
header("pairs-twice", [["x-a", "1"], ["x-a", "2"]], { "x-a" => %w[1 2] })
header("each", -> { Pairs.new(["x-a", "1"], ["x-b", 2]) }, { "x-a" => ["1"], "x-b" => ["2"] })
header("frozen", { "x-a".freeze => "1".freeze }.freeze, { "x-a" => ["1"] })
header("none", nil, {}, 500)
header("number", 5, {}, 500)
header("string-headers", "x-a: 1", {}, 500)
header("rack-headers", -> { Rack::Headers["x-a" => "1"] }, { "x-a" => ["1"] }, needs: :rack3)
header("two-cases", { "X-A" => "1", "x-a" => "2" }, { "x-a" => %w[1 2] })
header("utf8", { "x-a" => "\u00e9" }, { "x-a" => ["\u00e9".b] })
header("bytes", { "x-a" => "\xff".b }, { "x-a" => ["\xff".b] })
header("utf16", -> { { "x-a" => "a".encode("UTF-16LE") } }, {}, 500, needs: :cruby)
header("tab", { "x-a" => "a\tb" }, { "x-a" => ["a\tb"] })
header("spaces", { "x-a" => "  a b  " }, { "x-a" => ["a b"] })
header("lines", { "set-cookie" => "a=1\nb=2" }, { "set-cookie" => %w[a=1 b=2] })
header("lines-empty", { "set-cookie" => "a=1\n\nb=2\n" }, { "set-cookie" => %w[a=1 b=2] })
header("line-feed-at-end", { "x-a" => "YQ==\n" }, { "x-a" => ["YQ=="] })
header("line-feed-only", { "x-a" => "\n" }, { "x-a" => [] })
header("location-lines", { "location" => "/x\nset-cookie: evil=1" }, { "set-cookie" => [] }, 500)
header("location-twice", { "location" => ["/x", "/y"] }, {}, 500)
header("type-lines", { "content-type" => "a/b\nc/d" }, {}, 500)
header("location-cr-lf", { "location" => "/x\r\nset-cookie: evil=1" }, { "set-cookie" => [] }, 500)
header("cr-lf", { "x-a" => "1\r\nx-evil: 1" }, { "x-evil" => [] }, 500)
header("cr", { "x-a" => "1\rx-evil: 1" }, { "x-evil" => [] }, 500)
header("cr-at-end", { "x-a" => "1\r" }, {}, 500)
header("cr-lf-at-end", { "x-a" => "1\r\n" }, {}, 500)
header("nul", { "x-a" => "1\0x" }, {}, 500)
header("nul-at-end", { "x-a" => "1\0" }, {}, 500)
header("nul-array", { "x-a" => ["1\0", "2"] }, {}, 500)
header("nul-name", { "x-a\0" => "1" }, {}, 500)
header("control", { "x-a" => "1\x01", "x-b" => "2" }, { "x-a" => [], "x-b" => ["2"] })
header("escape", { "x-a" => "\e[31m", "x-b" => "2" }, { "x-a" => [], "x-b" => ["2"] })
header("delete", { "x-a" => "1\x7f", "x-b" => "2" }, { "x-a" => [], "x-b" => ["2"] })
header("name-space", { "x a" => "1", "x-b" => "2" }, { "x a" => [], "x-b" => ["2"] })
header("name-colon", { "x:a" => "1", "x-b" => "2" }, { "x" => [], "x-b" => ["2"] })
header("name-slash", { "x/a" => "1", "x-b" => "2" }, { "x/a" => [], "x-b" => ["2"] })
header("name-empty", { "" => "1", "x-b" => "2" }, { "" => [], "x-b" => ["2"] })
header("name-utf8", { "x-\u00e9" => "1", "x-b" => "2" }, { "x-\u00e9" => [], "x-b" => ["2"] })
header("name-cr-lf", { "x-a\r\nx-evil" => "1", "x-b" => "2" }, { "x-evil" => [], "x-b" => ["2"] })
header("name-underscore", { "x_a" => "1" }, { "x_a" => ["1"] })
header("name-odd", { "x!#$%&'*+.^`|~a" => "1" }, { "x!#$%&'*+.^`|~a" => ["1"] })
header("rack-names", { "rack.secret" => "1", "RACK.other" => 2, "x-b" => "2" }, { "rack.secret" => [], "x-b" => ["2"] })
header("status", { "status" => "404 Not Found" }, { "status" => [] })
header("status-capital", { "Status" => "404 Not Found" }, { "status" => [] })
header("date", { "date" => "Thu, 01 Jan 1970 00:00:00 GMT" }, { "date" => ["Thu, 01 Jan 1970 00:00:00 GMT"] })
header("server", { "server" => "mine" }, { "server" => ["mine"] })
header("connection-close", { "connection" => "close" }, { "connection" => ["close"] })
header("connection-keep-alive", { "connection" => "keep-alive", "keep-alive" => "timeout=5" }, {})
header("connection-other", { "connection" => "x-a", "x-a" => "1" }, { "x-a" => ["1"] })
header("upgrade", { "upgrade" => "h2c" }, { "upgrade" => [] })
Book.row("header-upgrade-426", 426, "x", headers: { "upgrade" => ["HTTP/3.0"] }) do
  [426, { "upgrade" => "HTTP/3.0", "connection" => "upgrade" }, ["x"]]
end
header("trailer", { "trailer" => "x-a" }, { "trailer" => [] })
header("length-integer", { "content-length" => 1 }, { "content-length" => ["1"] })
header("length-capitals", { "Content-Length" => 1 }, { "content-length" => ["1"] })
header("length-spaces", { "content-length" => " 1 " }, { "content-length" => ["1"] })
header("length-array", { "content-length" => ["1"] }, { "content-length" => ["1"] })
header("length-array-same", { "content-length" => %w[1 1] }, { "content-length" => ["1"] })
header("length-array-spaces", { "content-length" => ["", "1", " 1"] }, { "content-length" => ["1"] })
header("length-array-two", { "content-length" => %w[1 2] }, {}, 500)
header("length-lines-same", { "content-length" => "1\n1" }, { "content-length" => ["1"] })
header("length-list", { "content-length" => "1, 1" }, {}, 500)
header("length-nil", { "content-length" => nil }, { "content-length" => ["1"] })
header("length-empty", { "content-length" => "" }, { "content-length" => ["1"] })
header("length-words", { "content-length" => "many" }, {}, 500)
header("length-negative", { "content-length" => "-1" }, {}, 500)
header("length-plus", { "content-length" => "+1" }, {}, 500)
header("length-hexadecimal", { "content-length" => "0x1" }, {}, 500)
header("length-lines", { "content-length" => "1\n2" }, {}, 500)
header("length-twice", { "content-length" => "1", "Content-Length" => "1" }, { "content-length" => ["1"] })
header("length-two", { "content-length" => "1", "Content-Length" => "2" }, {}, 500)

# A row of headers at the edge of what there may be, 4096 lines with 1 MiB of names and values, and beyond it.
def edge(name, status, body = "x", **more, &headers)
  Book.row("header-edge-#{name}", status, (body if status < 500), **more) { [200, headers.call, [body]] }
end

# As many headers, each with this many bytes of name and value.
def headers_of(count, bytes)
  (1..count).to_h { |number| ["x-#{number.to_s.rjust(5, "0")}", "a" * (bytes - 7)] }
end

edge("half", 200) { { "x-a" => "a" * 524_284 } }
edge("one", 200, headers: { "x-a" => ["a" * 1_048_573] }) { { "x-a" => "a" * 1_048_573 } }
edge("one-over", 500) { { "x-a" => "a" * 1_048_574 } }
edge("one-array", 200) { { "x-a" => ["a" * 524_285] * 2 } }
edge("one-array-over", 500) { { "x-a" => ["a" * 524_285, "a" * 524_286] } }
edge("one-body", 200, "b" * 524_288, length: "524288") { { "x-a" => "a" * 1_000_000 } }
edge("one-body-over", 500, "b" * 524_288) { { "x-a" => "a" * 1_048_574 } }
edge("one-body-huge", 200, "b" * 700_000) { { "x-a" => "a" * 1_048_573 } }
edge("many", 200) { headers_of(4096, 256) }
edge("many-over", 500) { headers_of(4096, 257) }
edge("many-body", 200, "b" * 700_000) { headers_of(4096, 200) }
edge("lines", 200) { headers_of(4096, 8) }
edge("lines-over", 500) { headers_of(4097, 8) }
edge("lines-array", 200) { { "x-a" => ["a"] * 4096 } }
edge("lines-array-over", 500) { { "x-a" => ["a"] * 4097 } }
edge("lines-far-over", 500) { headers_of(66_000, 8) }
Book.row("header-edge-head", 200, "", method: "HEAD", length: "3") { [200, { "x-a" => "a" * 1_000_000 }, ["bcd"]] }
Book.row("header-edge-each", 200, "ab") { |notes| [200, headers_of(4096, 256), Made.new(notes, %w[a b])] }
Book.row("header-edge-file", 200, "a page of gold\n") do |notes|
  [200, headers_of(4096, 256), Made.new(notes, ["each"], to_path: "#{Row::HERE}/page.txt")]
end

# A row of a body that is in a transfer coding already, as Rack::Chunked and older Rails make them.
def coded(name, value, body, status = 200, parts = ["5\r\nhello\r\n", "0\r\n\r\n"], **more)
  Book.row("coding-#{name}", status, body, **more) do |notes|
    [200, { "transfer-encoding" => value }, Made.new(notes, parts)]
  end
end

coded("chunked", "chunked", "hello")
coded("chunked-capitals", "Chunked", "hello")
coded("chunked-in-pieces", "chunked", "hello", 200, ["5", "\r\nhel", "lo\r", "\n0\r\n\r", "\n"])
coded("chunked-trailer", "chunked", "hello", 200, ["5;x=1\r\nhello\r\n0\r\nx-a: 1\r\n\r\n"])
coded("chunked-large", "chunked", LARGE, 200, ["30d40\r\n#{LARGE}\r\n", "0\r\n\r\n"])
coded("chunked-not", "chunked", nil, 500, ["hello"], fails: true)
coded("chunked-broken-late", "chunked", nil, 200, ["30d40\r\n#{LARGE}\r\n", "hello"], cut: true)
coded("chunked-without-end", "chunked", nil, 500, ["5\r\nhello\r\n"], fails: true)
coded("identity", "identity", "hello", 200, ["hello"])
coded("gzip", "gzip", nil, 500, ["hello"])
Book.row("coding-chunked-head", 200, "", method: "HEAD", length: nil) do |notes|
  [200, { "transfer-encoding" => "chunked" }, Made.new(notes, ["5\r\nhello\r\n0\r\n\r\n"])]
end
Book.row("coding-and-length", 200, "hello") do |notes|
  [200, { "transfer-encoding" => "chunked", "content-length" => "99" }, Made.new(notes, ["5\r\nhello\r\n0\r\n\r\n"])]
end
