# Bodies that answer to_ary: an Array from it is the body, anything else is none, and it is asked only where the
# application has not said the length.

# Hands on what it is asked, as Rack::BodyProxy does.
class Proxy
  def initialize(inner)
    @inner = inner
  end

  def respond_to_missing?(name, all = false)
    @inner.respond_to?(name, all)
  end

  def method_missing(name, *args, &block)
    @inner.__send__(name, *args, &block)
  end
end

# An enumerator that notes how often it is run.
def counted(notes, *parts)
  Enumerator.new do |out|
    notes.note("run")
    parts.each { |part| out << part }
  end
end

# What Rails makes of `self.response_body = Enumerator.new { ... }`: to_ary is the enumerator itself.
def as_rails(notes, **more)
  run = counted(notes, "a", "b")
  Made.new(notes, to_ary: -> { run.each }, close: nil, **more) { |out| run.each(&out) }
end

# What Rails makes of a body whose each wants a block, such as the part of a file.
def as_rails_range(notes, **more)
  Made.new(notes, to_ary: -> { raise LocalJumpError, "no block given (yield)" }, close: nil, **more) do |out|
    out.call("0123456789")
  end
end

def listed(notes, list, **more)
  Made.new(notes, %w[a b], to_ary: list, close: nil, **more)
end

Book.row("to_ary", 200, "ab", length: "2", seen: "to_ary close") { |notes| [200, {}, listed(notes, %w[a b])] }
Book.row("to_ary-frozen", 200, "ab", length: "2", seen: "to_ary close") do |notes|
  [200, {}, listed(notes, %w[a b].freeze)]
end
Book.row("to_ary-subclass", 200, "ab", length: "2", seen: "to_ary close") do |notes|
  [200, {}, listed(notes, Pieces.new(%w[a b]))]
end
Book.row("to_ary-empty", 200, "", length: "0", seen: "to_ary close") { |notes| [200, {}, listed(notes, [])] }
Book.row("to_ary-nil", 200, "ab", seen: "to_ary each close") { |notes| [200, {}, listed(notes, nil)] }
Book.row("to_ary-false", 200, "ab", seen: "to_ary each close") { |notes| [200, {}, listed(notes, false)] }
Book.row("to_ary-string", 200, "ab", seen: "to_ary each close") { |notes| [200, {}, listed(notes, "wrong")] }
Book.row("to_ary-delegator", 200, "ab", seen: "to_ary each close") do |notes|
  [200, {}, listed(notes, SimpleDelegator.new(%w[wrong]))]
end
Book.row("to_ary-enumerator", 200, "ab", seen: "to_ary each run close") { |notes| [200, {}, as_rails(notes)] }
Book.row("to_ary-enumerator-length", 200, "ab", length: "2", seen: "each run close") do |notes|
  [200, { "content-length" => "2" }, as_rails(notes)]
end
Book.row("to_ary-enumerator-head", 200, "", method: "HEAD", length: nil, seen: "to_ary close") do |notes|
  [200, {}, as_rails(notes)]
end
Book.row("to_ary-lazy", 200, "ab", seen: "to_ary each close") { |notes| [200, {}, listed(notes, %w[x].lazy)] }
Book.row("to_ary-raises", 500, seen: "to_ary close") { |notes| [200, {}, as_rails_range(notes)] }
Book.row("to_ary-raises-length", 206, "0123456789", length: "10", seen: "each close") do |notes|
  [206, { "content-length" => "10", "content-range" => "bytes 0-9/100" }, as_rails_range(notes)]
end
Book.row("to_ary-raises-head", 206, "", method: "HEAD", length: "10", seen: "close") do |notes|
  [206, { "content-length" => "10" }, as_rails_range(notes)]
end
Book.row("to_ary-length", 200, "ab", length: "2", seen: "each close") do |notes|
  [200, { "content-length" => "2" }, listed(notes, %w[a b])]
end
Book.row("to_ary-nil-parts", 200, "x", length: "1", seen: "to_ary close") { |n| [200, {}, listed(n, [nil, "x"])] }
Book.row("to_ary-integer", 200, "1x", length: "2", seen: "to_ary close") { |n| [200, {}, listed(n, [1, "x"])] }
Book.row("to_ary-object", 500, seen: "to_ary close") { |n| [200, {}, listed(n, [Object.new])] }
Book.row("to_ary-head", 200, "", method: "HEAD", length: "2", seen: "to_ary close") do |notes|
  [200, {}, listed(notes, %w[a b])]
end
Book.row("to_ary-204", 204, "", length: nil, seen: "close") { |notes| [204, {}, listed(notes, %w[a b])] }
Book.row("to_ary-path", 200, "ab", length: "2", seen: "to_ary close") do |notes|
  [200, {}, listed(notes, %w[a b], to_path: "#{Row::HERE}/page.txt")]
end
Book.row("to_ary-only", 200, "ab", needs: :cruby) { |notes| [200, {}, Made.new(notes, to_ary: %w[a b])] }
Book.row("proxy-array", 200, "ab", length: "2") { [200, {}, Proxy.new(%w[a b])] }
Book.row("proxy-each", 200, "ab", seen: "each close") do |notes|
  [200, {}, Proxy.new(Made.new(notes, %w[a b], close: nil))]
end
