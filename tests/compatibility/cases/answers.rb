# frozen_string_literal: true

# Answers of applications: the rows of tests/answers, which hold what Rack's SPEC says and what Puma sends.

module Answers
  include Requests
  extend Requests

  TITLES = {
    "arrays" => ["Bodies that are Arrays", "Arrays, their subclasses, and what is in them."],
    "lists" => ["Bodies with `to_ary`", "Whose `to_ary` is an Array, something else, or an exception; Rails streams with such."],
    "parts" => ["Bodies with `each`", "Parts of every kind, errors in the middle, and what is done to the body afterwards."],
    "streams" => ["Bodies with `call`", "Rack 3's streaming bodies."],
    "files" => ["Bodies with `to_path`", "Files, ranges, and what is no file."],
    "statuses" => ["Statuses", "Numbers, what is none, and answers that are no answers."],
    "headers" => ["Headers of answers", "Values that are no Strings, names and values that HTTP does not know."],
    "hijacks" => ["Hijacked connections", "Partial and full hijacking."],
    "wrapped" => ["Rack's own classes", "Middleware and helpers of Rack, as applications use them."],
  }.freeze

  WHY = {}.freeze

  # What came of a row: the status where all is as the row says, otherwise what is not. Nothing where this server's Ruby
  # lacks what the row needs.
  def self.words(row, session)
    check = Check.new("http://127.0.0.1:#{session.port}", [row.name]).run
    return nil if check.asked.empty?

    wrong = check.differing[row.name]
    return wrong.join("; ").gsub(session.server.folder, "").gsub(/within \d+ s/, "in time") if wrong

    row.expected[:cut] ? "#{row.status}, cut off" : row.status.to_s
  end

  Table.part "Answers of applications"
  Book.rows.group_by(&:table).each do |table, rows|
    Table.section(*TITLES.fetch(table))
    rows.each do |row|
      Table.row("`#{row.name}`", app: :answers, why: WHY[row.name],
                                 without: Hash.new("its Ruby, or its Rack, has not what the row needs")) do |session|
        words(row, session)
      end
    end
  end

  Table.section "Old and odd clients", "How an answer is sent to those that know less than HTTP/1.1."

  asks "a streamed body to HTTP/1.0", "GET /each HTTP/1.0\r\n\r\n", app: :answers, body: true, header: "transfer-encoding"
  asks "a streamed body to HTTP/1.0 with `Connection: keep-alive`",
       "GET /each HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", app: :answers, body: true, header: "connection"
  asks "the length of an Array to HEAD", "HEAD /array HTTP/1.1\r\n#{HOST}\r\n", app: :answers, method: "HEAD",
                                                                              header: "content-length"
end
