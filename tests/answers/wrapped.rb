# Bodies as Rack's own classes and middleware make them.

# A row answered by an application behind middleware. The block makes the application.
def wrapped(name, status, body = nil, **expected, &make)
  needs = Array(expected.delete(:needs) || :rack)
  Book.row("rack-#{name}", status, body, needs: needs, **expected) { |notes, env| make.call(notes, env).call(env) }
end

def plain(status, headers, body)
  ->(_) { [status, headers, body] }
end

TEXT = { "content-type" => "text/plain" }.freeze

wrapped("proxy-array", 200, "ab", length: "2", seen: "closed") do |notes|
  plain(200, {}, Rack::BodyProxy.new(%w[a b]) { notes.note("closed") })
end
wrapped("proxy-each", 200, "ab", seen: "each close closed") do |notes|
  plain(200, {}, Rack::BodyProxy.new(Made.new(notes, %w[a b], close: nil)) { notes.note("closed") })
end
wrapped("proxy-path", 200, GOLD, length: "15", seen: "to_path close closed") do |notes|
  plain(200, {}, Rack::BodyProxy.new(paged(notes, PAGE)) { notes.note("closed") })
end
# That of Rack 3 closes the body after to_ary, whatever came of it.
LISTED = ["to_ary close closed each run", "to_ary each run close closed"].freeze
wrapped("proxy-rails", 200, "ab", seen: LISTED) do |notes|
  plain(200, {}, Rack::BodyProxy.new(as_rails(notes)) { notes.note("closed") })
end
wrapped("proxy-twice", 200, "ab", length: "2", seen: "inner outer") do |notes|
  inner = Rack::BodyProxy.new(%w[a b]) { notes.note("inner") }
  plain(200, {}, Rack::BodyProxy.new(inner) { notes.note("outer") })
end
wrapped("proxy-call", 200, "a", needs: :rack3, seen: "closed") do |notes|
  plain(200, {}, Rack::BodyProxy.new(->(s) { s.write("a"); s.close }) { notes.note("closed") })
end
wrapped("etag", 200, "ab", length: "2", headers: { "etag" => ["W/\"fb8e20fc2e4c3f248c60c39bd652f3c1\""] }) do
  Rack::ETag.new(plain(200, TEXT.dup, %w[a b]))
end
wrapped("length", 200, "ab", length: "2") { Rack::ContentLength.new(plain(200, TEXT.dup, %w[a b])) }
wrapped("lock", 200, "ab", seen: "each close") do |notes|
  Rack::Lock.new(plain(200, {}, Made.new(notes, %w[a b], close: nil)))
end
wrapped("head", 200, "", method: "HEAD", seen: "close") do |notes|
  Rack::Head.new(plain(200, TEXT.dup, Made.new(notes, %w[a b], close: nil)))
end
wrapped("conditional", 304, "", request: { "If-None-Match" => "\"x\"" }, seen: "close") do |notes|
  Rack::ConditionalGet.new(plain(200, { "etag" => "\"x\"" }.merge(TEXT), Made.new(notes, %w[a b], close: nil)))
end
wrapped("deflater", 200, "ab", request: { "Accept-Encoding" => "gzip" }, headers: { "content-encoding" => ["gzip"] },
                               seen: ["each close", "each close close"]) do |notes|
  Rack::Deflater.new(plain(200, TEXT.dup, Made.new(notes, %w[a b], close: nil)))
end
wrapped("deflater-array", 200, "ab", request: { "Accept-Encoding" => "gzip" }) do
  Rack::Deflater.new(plain(200, { "content-length" => "2" }.merge(TEXT), %w[a b]))
end
wrapped("sendfile", 200, GOLD, length: "15") { |notes| Rack::Sendfile.new(plain(200, {}, paged(notes, PAGE))) }
wrapped("runtime", 200, "ab") { Rack::Runtime.new(plain(200, {}, %w[a b])) }
wrapped("tempfile-reaper", 200, "ab", seen: "each close") do |notes|
  Rack::TempfileReaper.new(plain(200, {}, Made.new(notes, %w[a b], close: nil)))
end
wrapped("tempfile-reaped", 200, "reaped", length: "6", needs: %i[rack cruby]) do |notes|
  Rack::TempfileReaper.new(lambda do |env|
    file = Tempfile.new("answers")
    file.write("reaped")
    file.close
    env["rack.tempfiles"] << file
    [200, {}, Made.new(notes, ["each"], to_path: file.path)]
  end)
end
wrapped("lint-array", 200, "ab") { Rack::Lint.new(plain(200, TEXT.dup, %w[a b])) }
wrapped("lint-each", 200, "ab", seen: "each close") do |notes|
  Rack::Lint.new(plain(200, TEXT.dup, Made.new(notes, %w[a b], close: nil)))
end
wrapped("lint-call", 200, "a", needs: :rack3, seen: "call close") do |notes|
  Rack::Lint.new(plain(200, TEXT.dup, stream(notes, close: nil) { |s| s.write("a"); s.close }))
end
wrapped("chunked", 200, "ab", needs: :rack2, seen: "each close") do |notes|
  Rack::Chunked.new(plain(200, TEXT.dup, Made.new(notes, %w[a b], close: nil)))
end

def files(*)
  serve = Rack::Files.new(Row::HERE)
  ->(env) { serve.call(env.merge("PATH_INFO" => "/page.txt")) }
end

wrapped("files", 200, GOLD, length: "15", &method(:files))
wrapped("files-head", 200, "", method: "HEAD", length: "15", &method(:files))
wrapped("files-range", 206, "page", request: { "Range" => "bytes=2-5" }, length: "4",
                                    headers: { "content-range" => ["bytes 2-5/15"] }, &method(:files))
wrapped("files-range-end", 206, "old\n", request: { "Range" => "bytes=-4" }, length: "4", &method(:files))
wrapped("files-range-whole", 206, GOLD, request: { "Range" => "bytes=0-" }, length: "15", &method(:files))
wrapped("files-range-head", 206, "", method: "HEAD", request: { "Range" => "bytes=2-5" }, length: "4", &method(:files))
wrapped("files-ranges", 206, nil, request: { "Range" => "bytes=0-0,2-5" }, &method(:files))
wrapped("files-range-wrong", 416, nil, request: { "Range" => "bytes=99-" }, &method(:files))
wrapped("response", 200, "ab") { ->(_) { Rack::Response.new(%w[a b], 200, TEXT.dup).finish } }
wrapped("response-block", 200, "abc") do
  ->(_) { Rack::Response.new(["a"]).finish { |response| response.write("b"); response.write("c") } }
end
