# frozen_string_literal: true

# Answers of every kind that Rack knows.

require_relative "common"

PLAIN = { "content-type" => "text/plain" }.freeze

# A body with a path, and another content for a server that does not look at it.
class Page
  def initialize(name)
    @name = name
  end

  def to_path
    File.expand_path(@name)
  end

  def each
    yield File.binread(@name)
  end
end

def plain(more = {})
  PLAIN.merge(more)
end

# Three parts, each of which is made when the client has had the one before.
def paced(name)
  Body.new(name) do |out|
    out.call("one")
    wait_for("go1")
    out.call("two")
    wait_for("go2")
    out.call("three")
  end
end

# An IO whose first line is not complete before the client has had its beginning.
def halting
  reader, writer = IO.pipe
  Thread.new do
    writer.write("half")
    wait_for("go1")
    writer.write(" a line\nand the rest")
    writer.close
  end
  reader
end

# An IO with an `each` of its own.
def own_each
  StringIO.new("not this").tap { |io| io.define_singleton_method(:each) { |&block| block.call("its own") } }
end

def endless(name)
  Body.new(name) { |out| loop { out.call("x" * 10_000) } }
end

CASES = {
  "/array" => ->(_) { [200, plain, %w[a b]] },
  "/empty" => ->(_) { [200, plain, []] },
  "/tea" => ->(_) { text("tea", 418) },
  "/each" => ->(_) { [200, plain, Body.new("each") { |out| %w[x y].each(&out) }] },
  "/each-length" => ->(_) { [200, plain("content-length" => "2"), Body.new("each-length") { |o| %w[x y].each(&o) }] },
  "/enumerator" => ->(_) { [200, plain, Enumerator.new { |out| 3.times { |n| out << n.to_s } }] },
  "/lazy" => ->(_) { [200, plain, (1..5).lazy.map(&:to_s)] },
  "/utf8" => ->(_) { text("über") },
  "/large" => ->(_) { text("gold" * 1_000_000) },
  "/large-parts" => ->(_) { [200, plain, Body.new("large-parts") { |out| 40.times { out.call("gold" * 25_000) } }] },
  "/204" => ->(_) { [204, {}, []] },
  "/304" => ->(_) { [304, { "etag" => '"x"' }, []] },
  "/head" => ->(env) { [200, plain("content-length" => "4"), env["REQUEST_METHOD"] == "HEAD" ? [] : ["gold"]] },
  "/rack" => ->(_) { text(Rack.release.to_i) },
  "/called" => ->(_) { [200, plain, lambda { |s| s.write("st"); s << "re" << "am"; s.flush; s.close }] },
  "/called-open" => ->(_) { [200, plain, ->(s) { s.write("open") }] },
  "/called-echo" => ->(_) { [200, plain, lambda { |s| s.write(s.read.upcase); s.close }] },
  "/file" => ->(_) { [200, plain("content-length" => File.size("page").to_s), Page.new("page")] },
  "/file-bare" => ->(_) { [200, plain, Page.new("page")] },
  "/hints" => lambda do |env|
    env["rack.early_hints"]&.call("link" => "</a.css>; rel=preload")
    wait_for("go1")
    text("hinted")
  end,
  "/events" => ->(_) { [200, { "content-type" => "text/event-stream" }, paced("events")] },
  "/pipe" => ->(_) { [200, plain, halting] },
  "/string-io" => ->(_) { [200, plain, StringIO.new("one\ntwo\nthree").tap(&:gets)] },
  "/own-each" => ->(_) { [200, plain, own_each] },
  "/endless" => ->(_) { [200, plain, endless("endless")] },
  "/slow" => ->(_) { [200, plain, Body.new("slow") { |out| loop { out.call("x"); sleep 0.01 } }] },
  "/after" => lambda do |env|
    env["rack.after_reply"] << -> { wait_for("go1"); note("after_reply") }
    text("after")
  end,
  "/finished" => lambda do |env|
    finished = env["rack.response_finished"]
    finished << ->(_, status, headers, error) { note("first #{status} #{headers.class} #{error.inspect}") }
    finished << ->(same, *) { wait_for("go1"); note("second #{same.equal?(env) || same["PATH_INFO"]}") }
    text("finished", 201)
  end,
  "/finished-raise" => lambda do |env|
    env["rack.response_finished"] << ->(_, status, _, error) { note("raised #{status.inspect} #{error.message}") }
    raise "on purpose"
  end,
  "/raise" => ->(_) { raise ArgumentError, "raised on purpose" },
  "/exit" => ->(_) { exit },
  "/raise-late" => lambda do |_|
    body = Body.new("late") do |out|
      out.call("part")
      wait_for("go1")
      raise "late on purpose"
    end
    [200, plain, body]
  end,
  "/none" => ->(_) {},
  "/nil-body" => ->(_) { [200, plain, nil] },
  "/bad-part" => ->(_) { [200, plain, [Object.new]] },
  "/bad-name" => ->(_) { [200, { 5 => "1" }, []] }
}.freeze

use Linted
run paths(CASES)
