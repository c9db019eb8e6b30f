# frozen_string_literal: true

# Bodies of requests: lengths, codings, chunks, expectations.
module Bodies
  include Requests
  extend Requests

  Table.section "Content-Length",
                "`POST` with a body of three bytes, `abc`. For a 200 the cell has `CONTENT_LENGTH` and the body."

  LENGTH = %w[CONTENT_LENGTH (body)].freeze
  def self.long(*values) = post(values.map { |value| "Content-Length:#{value}" }, "abc")

  asks "`Content-Length: 3`", long(" 3"), shows: LENGTH
  asks "`Content-Length: 003`", long(" 003"), shows: LENGTH,
       why: "a plain number for the application: `Integer(\"010\")` is 8 in Ruby"
  asks "`Content-Length: +3`", long(" +3"), shows: LENGTH
  asks "`Content-Length: -1`", long(" -1"), shows: LENGTH
  asks "`Content-Length: 0x3`", long(" 0x3"), shows: LENGTH
  asks "`Content-Length: 3.0`", long(" 3.0"), shows: LENGTH
  asks "`Content-Length: 3 3`", long(" 3 3"), shows: LENGTH
  asks "an empty Content-Length", long(""), shows: LENGTH
  asks "two equal Content-Lengths", long(" 3", " 3"), shows: LENGTH
  asks "`Content-Length: 3, 3`", long(" 3, 3"), shows: LENGTH
  asks "two different Content-Lengths", long(" 3", " 2"), shows: LENGTH
  asks "`Content-Length: 99999999999999999999`", long(" 99999999999999999999"), shows: LENGTH,
       why: "no body can be so long"
  asks "Content-Length and Transfer-Encoding", post(["Content-Length: 3", "Transfer-Encoding: chunked"],
                                                    "3\r\nabc\r\n0\r\n\r\n"), shows: LENGTH,
       why: "RFC 9112 6.1: a request with both is how requests are smuggled past a proxy"
  asks "Transfer-Encoding and Content-Length", post(["Transfer-Encoding: chunked", "Content-Length: 3"],
                                                    "3\r\nabc\r\n0\r\n\r\n"), shows: LENGTH,
       why: "RFC 9112 6.1: a request with both is how requests are smuggled past a proxy"
  asks "POST without a length", post([]), shows: LENGTH
  asks "a GET with a body", get("/g", "Content-Length: 3") + "abc", shows: LENGTH
  asks "1 MB", post(["Content-Length: 1000000"], "x" * 1_000_000), shows: "CONTENT_LENGTH"
  asks "a body that ends too early: the client shuts its sending side", long(" 3").chop, half: true
  asks "HTTP/1.0 with a body", "POST /p HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc", shows: LENGTH

  Table.section "Transfer-Encoding",
                "`POST` with `abc` in one chunk. For a 200 the cell has `CONTENT_LENGTH` and the body."

  CODINGS = "RFC 9112 6.3: the last coding must be chunked, or the length cannot be known: 400"
  GRAMMAR = "RFC 9112 7.1: what is not as the grammar wants it is how requests are smuggled"
  ABC = "3\r\nabc\r\n0\r\n\r\n"
  def self.coded(*values, body: ABC) = post(values.map { |value| "Transfer-Encoding:#{value}" }, body)

  asks "`chunked`", coded(" chunked"), shows: %w[CONTENT_LENGTH HTTP_TRANSFER_ENCODING (body)]
  asks "a chunked JSON body, as Rails before 7.1 reads it",
       chunked("7\r\n{\"a\":1}\r\n0\r\n\r\n", "Content-Type: application/json"), shows: LENGTH
  asks "`CHUNKED`", coded(" CHUNKED"), shows: LENGTH
  asks "`gzip, chunked`", coded(" gzip, chunked"), shows: LENGTH,
       why: "RFC 9112 6.1: what is not undone is a 501; the application would get gzip's bytes unsaid"
  asks "`chunked, gzip`", coded(" chunked, gzip"), shows: LENGTH
  asks "`xchunked`", coded(" xchunked"), shows: LENGTH, why: CODINGS
  asks "`identity`", coded(" identity"), shows: LENGTH, why: CODINGS
  asks "`chunked, chunked`", coded(" chunked, chunked"), shows: LENGTH
  asks "two lines, `chunked` and `identity`", coded(" chunked", " identity"), shows: LENGTH
  asks "`, chunked`", coded(" , chunked"), shows: LENGTH, why: CODINGS
  asks "`chunked` after a vertical tab", coded(" \vchunked"), shows: LENGTH
  asks "`Transfer-Encoding : chunked`, a space before the colon", post(["Transfer-Encoding : chunked"], ABC),
       shows: LENGTH
  asks "`chunked` with HTTP/1.0", "POST /p HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n#{ABC}", shows: LENGTH,
       why: "RFC 9112 6.1: its framing is faulty, since HTTP/1.0 has no chunks"
  asks "`chunked` with GET", get("/g", "Transfer-Encoding: chunked") + ABC, shows: LENGTH
  asks "1 MB in chunks of 1 000 bytes", chunked("#{"3e8\r\n#{"x" * 1000}\r\n" * 1000}0\r\n\r\n"),
       shows: "CONTENT_LENGTH"

  Table.section "Chunks", "What is sent as the chunked body. For a 200 the cell has the body."

  asks "two chunks", chunked("2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"), shows: "(body)"
  asks "an extension, `3;a=b`", chunked("3;a=b\r\nabc\r\n0\r\n\r\n"), shows: "(body)"
  asks "a quoted extension, `3;a=\"b;c\"`", chunked("3;a=\"b;c\"\r\nabc\r\n0\r\n\r\n"), shows: "(body)"
  asks "an extension that is none, `3;`", chunked("3;\r\nabc\r\n0\r\n\r\n"), shows: "(body)", why: GRAMMAR
  asks "an extension of 20 000 bytes", chunked("3;a=#{"b" * 20_000}\r\nabc\r\n0\r\n\r\n"), shows: "(body)"
  asks "a size in capitals, `A`", chunked("A\r\nabcdefghij\r\n0\r\n\r\n"), shows: "(body)"
  asks "zeros before the size, `0003`", chunked("0003\r\nabc\r\n0\r\n\r\n"), shows: "(body)"
  asks "a space after the size", chunked("3 \r\nabc\r\n0\r\n\r\n"), shows: "(body)", why: GRAMMAR
  asks "the size `0x3`", chunked("0x3\r\nabc\r\n0\r\n\r\n"), shows: "(body)"
  asks "the size `+3`", chunked("+3\r\nabc\r\n0\r\n\r\n"), shows: "(body)"
  asks "the size `-3`", chunked("-3\r\nabc\r\n0\r\n\r\n"), shows: "(body)"
  asks "the size `g`", chunked("g\r\nabc\r\n0\r\n\r\n"), shows: "(body)"
  asks "an empty size", chunked("\r\nabc\r\n0\r\n\r\n"), shows: "(body)", why: GRAMMAR
  asks "the size `fffffffffffffffff`", chunked("fffffffffffffffff\r\nabc\r\n0\r\n\r\n"), shows: "(body)", why: GRAMMAR
  asks "more data than the size says", chunked("3\r\nabcX\r\n0\r\n\r\n"), shows: "(body)"
  asks "a line feed alone after the size", chunked("3\nabc\r\n0\r\n\r\n"), shows: "(body)", why: GRAMMAR
  asks "a line feed alone after the data", chunked("3\r\nabc\n0\r\n\r\n"), shows: "(body)"
  asks "a trailer", chunked("3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n"), shows: %w[(body) HTTP_X_SUM]
  asks "a trailer that is no header", chunked("3\r\nabc\r\n0\r\nfoo bar\r\n\r\n"), shows: "(body)", why: GRAMMAR
  asks "a trailer `Content-Length: 9`", chunked("3\r\nabc\r\n0\r\nContent-Length: 9\r\n\r\n"), shows: LENGTH
  asks "no last chunk, and the client shuts its sending side", chunked("3\r\nabc\r\n"), half: true
  asks "no last line after the last chunk, and the client shuts its sending side",
       chunked("3\r\nabc\r\n0\r\n"), half: true

  Table.section "Expectations", "`POST` with `Expect`. The cell has all statuses that come."

  Table.row "`Expect: 100-continue`; the client waits for the 100" do |session|
    wire = session.send(post(["Expect: 100-continue", "Content-Length: 3"]))
    first = wire.answer
    next first.words unless first.status == 100

    wire.write("abc")
    "100 #{wire.answer.words}"
  end
  asks "`Expect: 100-continue`, with the body at once", post(["Expect: 100-continue", "Content-Length: 3"], "abc")
  asks "`Expect: 100-Continue`, in capitals, with the body at once",
       post(["Expect: 100-Continue", "Content-Length: 3"], "abc"), why: "RFC 9110 10.1.1: in any case of letters"
  asks "`Expect: 100-continue` without a body", get("/", "Expect: 100-continue"),
       why: "RFC 9110 10.1.1: a 100 is for a body"
  asks "`Expect: 100-continue` with HTTP/1.0",
       "POST /p HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
       why: "RFC 9110 10.1.1: clients of HTTP/1.0 know no 100"
  asks "`Expect: more`, which no server knows", post(["Expect: more", "Content-Length: 3"], "abc")
end
