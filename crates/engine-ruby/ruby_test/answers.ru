# frozen_string_literal: true

# An application with one path for each kind of answer.

class Closing
  def initialize(*parts); @parts = parts; end
  def each(&block); @parts.each(&block); end
  def close; end
end
class Listed < Closing
  def to_ary; @parts; end
end
class Filed < Closing
  def initialize(path)
    super()
    @path = path
  end

  def to_path; @path; end
end
class Failing < Closing
  def each
    yield "first"
    raise "in each"
  end
end
text = { "content-type" => "text/plain" }
run(lambda do |env|
  case env["PATH_INFO"]
  when "/" then [200, text, ["hello"]]
  when "/env" then [200, text, [env.inspect, "\n", env.values.grep(String).map(&:encoding).uniq.inspect]]
  when "/two" then [200, text, %w[a b]]
  when "/array" then [200, { "set-cookie" => %w[a=1 b=2] }, ["x"]]
  when "/nil" then nil
  when "/status" then ["many", {}, []]
  when "/headers" then [200, 5, []]
  when "/name" then [200, { 5 => "b" }, ["12345"]]
  when "/lines" then [200, { "set-cookie" => ["a=1\nb=2"] }, ["12345"]]
  when "/nul" then [200, { "x" => "1\0" }, ["12345"]]
  when "/neither" then [200, {}, Object.new]
  when "/early" then [103, {}, []]
  when "/nobody" then [200, {}, nil]
  when "/raise" then raise ArgumentError, "caf\u00e9"
  when "/exit" then exit 3
  when "/throw" then throw :async
  when "/deep" then (deep = -> { deep.call }).call
  when "/load" then require "no/such/file"
  when "/each" then [200, text, Closing.new("a", "b")]
  when "/method" # As Rack::MethodOverride does, and caches that ask for the whole answer.
    env["REQUEST_METHOD"] = env["QUERY_STRING"]
    [200, text, Closing.new("a", "b")]
  when "/gathered" then [200, { "Content-Length" => "2" }, Closing.new("a", "b")]
  when "/listed" then [200, text, Listed.new("a", "b")]
  when "/file" then [200, text, Filed.new(RbConfig.ruby)]
  when "/file-after"
    env["rack.after_reply"] << -> {}
    [200, text, Filed.new(RbConfig.ruby)]
  when "/file-made"
    File.write("#{__dir__}/made", "made")
    [200, { "Content-Length" => "9", "a" => "" }, Filed.new("#{__dir__}/made")]
  when "/file-long"
    File.write("#{__dir__}/long", "long " * 200_000)
    [200, text, Filed.new("#{__dir__}/long")]
  when "/failing-early" then [200, { "content-length" => "9" }, Failing.new]
  when "/big" then [200, text, ["x" * 700_000, "y"]]
  when "/joined" then [200, text, ["y" * 70_000, *(["\u00e9" * 500] * 600), "z" * 65_536, "\xff".b, "\u00e9"]]
  when "/stream" then [200, text, ->(stream) { stream << "a"; stream.write("b", "c"); stream.close }]
  when "/printed"
    printed = lambda do |stream|
      stream.puts("a", ["\u00e9", 1])
      stream.print("b", :c)
      stream.printf("%02d", 7)
      stream.write([stream.putc("d"), stream.write_nonblock("ef", exception: false), stream.syswrite("g")].inspect)
    end
    [200, text, printed]
  when "/pooled"
    slot = Thread.current
    $pool ||= Queue.new.tap { |jobs| Thread.new { loop { jobs.pop.call } } }
    pooled = lambda do |stream|
      sleep 0.001 until slot.stop? # The body has returned.
      stream.write("poo", "led")
      stream.close
    end
    [200, text, ->(stream) { $pool << -> { pooled.call(stream) } }]
  when "/threaded" then [200, text, ->(stream) { Thread.new { stream.write("threaded") } }]
  when "/nothing"
    FoolsGold::Stream.send(:remove_const, :BEGINNING)
    FoolsGold::Stream::BEGINNING = 0.2 # Not five seconds.
    [200, text, ->(_) {}]
  when "/open" then [200, text, ->(stream) { stream.write("open") }]
  when "/hints" then env["rack.early_hints"].call("link" => "</a.css>") || [200, text, ["x"]]
  when "/hints-odd"
    env["rack.early_hints"].call("x" => "1\0", "y" => ["a\nb"], 5 => "c")
    env["rack.early_hints"].call("x" => "1\0", "link" => "</b.css>")
    [200, text, ["x"]]
  end
end)
