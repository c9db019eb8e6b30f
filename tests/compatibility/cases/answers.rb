# frozen_string_literal: true

# Answers of applications: the rows of tests/answers, which hold what Rack's SPEC says and what Puma sends.

module Answers
  include Requests
  extend Requests

  TITLES = {
    "arrays" => ["Bodies that are Arrays", "Arrays, their subclasses, and what is in them."],
    "lists" => ["Bodies with `to_ary`", "Which is an Array, something else, or an exception; Rails streams with such."],
    "parts" => ["Bodies with `each`", "Parts of every kind, errors in the middle, and what is done to it afterwards."],
    "streams" => ["Bodies with `call`", "Rack 3's streaming bodies."],
    "files" => ["Bodies with `to_path`", "Files, ranges, and what is no file."],
    "statuses" => ["Statuses", "Numbers, what is none, and answers that are no answers."],
    "headers" => ["Headers of answers", "Values that are no Strings, names and values that HTTP does not know."],
    "hijacks" => ["Hijacked connections", "Partial and full hijacking."],
    "wrapped" => ["Rack's own classes", "Middleware and helpers of Rack, as applications use them."],
  }.freeze

  NO_STATUS = "no status of HTTP: the client would get no answer that it can read".freeze
  INFORMAL = "an informational status ends no request: the client would wait on".freeze
  STRINGS = "parts that are no Strings are made Strings, as by Unicorn, Thin and Passenger".freeze
  TOO_LONG = "what is beyond the length would be taken for the next answer".freeze
  TOO_SHORT = "the client would wait for the rest".freeze
  NO_BODY = "no body of Rack: an error that is in the log, not an empty page".freeze
  EARLY = "an error before the first byte is a 500".freeze
  RETURNS = "the answer is complete when `call` returns; there is nothing to read".freeze
  ONCE = "`to_path` is asked once, and not for an answer without a body".freeze
  NO_FILE = "what is no file is sent by `each`".freeze
  INJECTION = "this is how headers are injected ([limits](limits.md#what-the-application-may-do))".freeze
  DROPPED = "what HTTP does not allow in a header is left out, with a warning in the log".freeze
  NO_LENGTH = "no length of HTTP, or two".freeze
  TOO_LARGE = "more than 4096 lines or 1 MiB of headers ([limits](limits.md#what-the-application-may-do))".freeze
  BY_READING = "the kernel says that such files are empty: they are read until their end".freeze
  SAME = "one number, several times, is one length".freeze
  CODING = "the application's own chunks are undone and sent anew; what is not chunked cannot be".freeze

  # Why FoolsGold does not as Puma does, by the names of rows.
  WHY = {
    /\Astatus-(nil|words|zero|negative|99|1000)\z/ => NO_STATUS,
    /\Astatus-10[0-3]\z/ => INFORMAL,
    /\Astatus-304\z/ => "a length of 0 would be that of the page that the client has (RFC 9110 8.6)",
    /-205\z/ => "RFC 9110 15.3.6: a 205 has no body; without a length, the client waits for one",
    /(array|each|to_ary)-(integer|symbol)\z/ => STRINGS,
    /\Aarray-length-nil\z/ => "a header that is nil is none, as on Unicorn and Thin",
    /\A(array|each)-length-small\z/ => TOO_LONG,
    /\A(array|each)-length-(large|huge)\z/ => TOO_SHORT,
    /\Astring/ => "a String is a body of one part, as on Thin and Passenger",
    /\A(integer|bytesize-only|closed-anyway)\z/ => NO_BODY,
    /\Ato_ary-only\z/ => "`to_ary` says all that there is",
    /\Aeach-nil-length\z/ => "parts that are nil are none, as on Unicorn, Thin and Passenger",
    /-raises-(length|first)\z/ => EARLY,
    /\Aclose-raises/ => "the answer is complete: the error is in the log",
    /\Acall-(open|read|open-kept)\z/ => RETURNS,
    /\Acall-raises-late\z/ => "the client can tell that the answer is not complete",
    /\Aeach-length-array\z/ => SAME,
    /\Apath-(204|304|length|length-head|list-length|length-9-head|length-99-head|range-head)\z/ => ONCE,
    /\Apath-range-new\z/ => "neither the file nor `each` has as many bytes as the range says",
    /\Apath-proc-/ => BY_READING,
    /\Aanswer-two-head\z/ => "as to GET: an answer has three elements",
    /\Apath-(directory|fifo)\z/ => NO_FILE,
    /\Apath-(fresh-)?range\z/ => "the length says that it is not the whole file",
    /\Aheader-array-(empty|nil)\z/ => "Rack 3: each of an Array is a header; nil is none",
    /\Aheader-lines-empty\z/ => "an empty line is no cookie",
    /\Aheader-(array-line-feed|location|type-lines|cr|nul)/ => INJECTION,
    /\Aheader-(delete|name-)/ => DROPPED,
    /\Aheader-upgrade\z/ => "without a 101 nothing is upgraded",
    /\Aheader-trailer\z/ => "there are no trailers",
    /\Aheader-edge-.*over\z/ => TOO_LARGE,
    /\Aheader-length-array-(same|spaces)\z/ => SAME,
    /\Aheader-length-(array|empty)\z/ => "the length of the body is known",
    /\Aheader-length-/ => NO_LENGTH,
    /\Acoding-/ => CODING,
  }.freeze

  def self.why(name) = WHY.find { |pattern, _| pattern.match?(name) }&.last

  # What came of a row: the status, and what else is not as the row says. Nothing where this server's Ruby lacks what
  # the row needs. Other servers have three tries, since with some it is chance.
  def self.words(row, session)
    check = Check.new("http://127.0.0.1:#{session.port}", [row.name])
    wrong = nil
    (session.server.name.start_with?("fg-") ? 1 : 3).times do
      break unless session.server.serves?(3) || session.server.again
      return nil if check.run.asked.empty?

      wrong = check.differing.delete(row.name)
      break if wrong.nil? || wrong.grep(/\Ano end/).any?
    end
    return row.status.to_s + (row.expected[:cut] ? ", cut off" : "") unless wrong

    parts = wrong.map { |words| short(words.gsub(session.server.folder, "")) }.compact
    parts.unshift(row.status.to_s) unless parts.first&.match?(/\A(\d|hangs|closed|no HTTP)/)
    parts.join("; ")
  end

  def self.short(words)
    case words
    when /\Astatus (\d+), not/ then Regexp.last_match(1)
    when /\Ano end/ then "hangs"
    when /\Ano answer/ then "closed"
    when /\Ano status in "(.+?)(\\r\\n)?"\z/ then "no HTTP, #{code(Regexp.last_match(1))}"
    when /\Ait was asked for "(.*)", not/ then "asked for #{code(Regexp.last_match(1))}"
    when /\Athe next answer on its connection is 502/ then nil # Passenger's, while it starts another process.
    when /\Athe next answer/ then "the next answer is broken"
    when /\Athe body is "(.*)", not/ then "the body is #{code(Regexp.last_match(1))}"
    when /\A"(.*?)" is \[(.*?)\], not/ then header_words(*Regexp.last_match.captures)
    when /\Acontent-length is (\[.*?\]|".*?")(, not|\z)/
      header_words("content-length", Regexp.last_match(1).delete("[]"))
    when /\Ait does not break/ then "not cut off"
    else words
    end
  end

  def self.header_words(name, values)
    values = values.gsub(/\w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT/, "(a date)")
    values.empty? ? "no `#{name}`" : "#{name.empty? ? "an empty name" : code(name)} is #{code(values)}"
  end

  Table.part "Answers of applications",
             "The rows of `tests/answers`, by name: each is what an application answers, what a client must get for " \
             "it by Rack's SPEC, and what is asked of the body in which order. A status alone means that all was as " \
             "the row says; otherwise the cell has what was not."
  Book.rows.group_by(&:table).each do |table, rows|
    Table.section(*TITLES.fetch(table))
    rows.each do |row|
      Table.row("`#{row.name}`", app: :answers, why: why(row.name),
                                 without: Hash.new("its Ruby, or its Rack, has not what the row needs")) do |session|
        words(row, session)
      end
    end
  end

  Table.section "Old and odd clients", "How an answer is sent to those that know less than HTTP/1.1."

  asks "a streamed body to HTTP/1.0", "GET /each HTTP/1.0\r\n\r\n",
       app: :answers, body: true, header: "transfer-encoding"
  asks "a streamed body to HTTP/1.0 with `Connection: keep-alive`",
       "GET /each HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", app: :answers, body: true, header: "connection",
       why: "its length is known when it is complete"
  asks "the length of an Array to HEAD", "HEAD /array HTTP/1.1\r\n#{HOST}\r\n", app: :answers, method: "HEAD",
                                                                              header: "content-length"
end
