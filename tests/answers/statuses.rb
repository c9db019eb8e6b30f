# Statuses.

[200, 201, 299, 400, 404, 418, 499, 500, 503, 599, 600, 999].each do |status|
  Book.row("status-#{status}", status, "x", length: "1") { [status, {}, ["x"]] }
end
Book.row("status-string", 404, "x") { ["404", {}, ["x"]] }
Book.row("status-string-words", 404, "x") { ["404 Not Found", {}, ["x"]] }
Book.row("status-float", 201, "x") { [201.9, {}, ["x"]] }
Book.row("status-nil", 500) { [nil, {}, ["x"]] }
Book.row("status-symbol", 500) { [:ok, {}, ["x"]] }
Book.row("status-words", 500) { ["many", {}, ["x"]] }
Book.row("status-zero", 500) { [0, {}, ["x"]] }
Book.row("status-negative", 500) { [-1, {}, []] }
Book.row("status-99", 500) { [99, {}, ["x"]] }
Book.row("status-1000", 500) { [1000, {}, ["x"]] }
[100, 101, 102, 103].each { |status| Book.row("status-#{status}", 500) { [status, {}, ["x"]] } }
[204, 304].each do |status|
  Book.row("status-#{status}", status, "", length: nil) { [status, {}, []] }
  Book.row("status-#{status}-body", status, "") { [status, {}, ["x"]] }
  Book.row("status-#{status}-type", status, "", headers: { "content-type" => ["a/b"] }) do
    [status, { "content-type" => "a/b" }, []]
  end
end
Book.row("status-204-length", 204, "", length: nil) { [204, { "content-length" => "5" }, []] }
Book.row("status-304-length", 304, "") { [304, { "content-length" => "5", "etag" => "\"x\"" }, []] }
Book.row("status-205", 205, "", length: "0") { [205, {}, ["x"]] }
Book.row("answer-nil", 500) { nil }
Book.row("answer-two", 500) { [200, {}] }
Book.row("answer-two-head", 500, "", method: "HEAD") { [200, {}] }
[204, 205, 304].each { |status| Book.row("answer-two-#{status}", status, "") { [status, {}] } }
Book.row("answer-one", 500) { [200] }
Book.row("answer-one-head", 500, "", method: "HEAD") { [200] }
Book.row("answer-four", 200, "x", length: "1") { [200, {}, ["x"], "more"] }
Book.row("answer-to_ary", 200, "x", length: "1") do
  Object.new.tap { |answer| answer.define_singleton_method(:to_ary) { [200, {}, ["x"]] } }
end
Book.row("answer-empty", 500) { [] }
Book.row("answer-string", 500) { "text" }
Book.row("answer-frozen", 200, "x") { [200, { "x-a" => "1" }.freeze, ["x"].freeze].freeze }
Book.row("raises", 500) { raise ArgumentError, "on purpose" }
