# Measures typical Regexps of Rack code, in nanoseconds, the best of several rounds. On CRuby: ruby patterns.rb. On the
# embedded interpreter: cargo run --release -p engine-mruby --example patterns.

module Patterns
  COOKIE = "_session=BAh7CEkiD3Nlc3Npb25faWQGOgZFVEk; theme=dark; lang=en; _ga=GA1.2.1234567.89; csrf=abc123".freeze
  ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8".freeze
  QUERY = "id=42&name=J%C3%BCrgen+M&tags%5B%5D=a&tags%5B%5D=b&page=3&order=created_at".freeze
  TYPE = "multipart/form-data; boundary=----WebKitFormBoundary7MA4YWxkTrZu0gW".freeze
  DISPOSITION = 'form-data; name="upload"; filename="report 2024.pdf"'.freeze
  HTML = ("<p class=\"x\">Tom & Jerry's <b>adventure</b></p>" * 20).freeze
  ESCAPES = { "&" => "&amp;", "<" => "&lt;", ">" => "&gt;", "'" => "&#39;", '"' => "&quot;" }.freeze
  DATE = "Sun, 06 Nov 1994 08:49:37 GMT".freeze
  TEXT = ("Lorem ipsum dolor sit amet, consectetur adipiscing elit. " * 100).freeze
  UNICODE = ("Füße, Straße und Übermut; " * 40).freeze

  CASES = {
    "path =~, two groups" => -> { "/users/42/edit" =~ %r{\A/users/(\d+)/(\w+)\z} and $1 },
    "path match?" => -> { "/users/42/edit".match?(%r{\A/users/\d+}) },
    "path, no match" => -> { "/articles/42".match?(%r{\A/users/\d+}) },
    "case of three patterns" => lambda {
      case "/static/app.js"
      when %r{\A/api/} then 1
      when %r{\A/admin} then 2
      when /\.(js|css)\z/ then 3
      end
    },
    "cookie split" => -> { COOKIE.split(/; */).map { |pair| pair.split("=", 2) } },
    "query split and decode" => lambda {
      QUERY.split(/[&;] */).map { |pair| pair.gsub(/%(\h\h)/) { $1.hex.chr } }
    },
    "accept header scan" => -> { ACCEPT.scan(%r{([\w*]+/[\w*+.-]+)(?:;q=([\d.]+))?}) },
    "multipart boundary" => -> { TYPE[/\Amultipart\/.*boundary="?([^";,]+)"?/i, 1] },
    "disposition" => -> { DISPOSITION[/\bfilename="((?:\\.|[^"\\])*)"/, 1] },
    "HTTP date groups" => -> { DATE.match(/(\d+) (\w+) (\d+) (\d+):(\d+):(\d+)/).captures },
    "escape HTML, hash, 1 KB" => -> { HTML.gsub(/[&<>'"]/, ESCAPES) },
    "escape HTML, block, 1 KB" => -> { HTML.gsub(/[&<>'"]/) { |c| ESCAPES[c] } },
    "snake case" => -> { "CamelCaseStringHere".gsub(/([a-z])([A-Z])/, '\1_\2').downcase },
    "words of 6 KB" => -> { TEXT.scan(/\w+/).size },
    "rare word in 6 KB" => -> { TEXT.match?(/adipiscing elot/) },
    "look-behind in 6 KB" => -> { TEXT.scan(/(?<=, )\w+/).size },
    "letters of 1 KB Unicode" => -> { UNICODE.scan(/[[:alpha:]]+/).size },
    "squeeze white space" => -> { "  a   b  c ".gsub(/\s+/, " ").gsub(/\A | \z/, "") },
    "format check, anchors" => lambda {
      "user.name+tag@example.org".match?(/\A[\w+\-.]+@[a-z\d\-]+(\.[a-z\d\-]+)*\.[a-z]+\z/i)
    },
  }.freeze

  def self.cost(work)
    best = nil
    rounds = 0
    times = 20
    while rounds < 8
      begun = now
      i = 0
      while i < times
        work.call
        i += 1
      end
      took = now - begun
      next times *= 2 if took < 0.02
      best = took / times if best.nil? || took / times < best
      rounds += 1
    end
    best * 1e9
  end

  def self.now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end

  def self.report(only = nil)
    CASES.map { |name, work| format("%-28s %9.0f\n", name, cost(work)) if only.nil? || only == name }.compact
  end
end

Patterns.report.each { |line| print line } if $0 == __FILE__
