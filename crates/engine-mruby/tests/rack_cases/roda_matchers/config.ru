# Roda's plugins for matching.

require "roda"

APPS = {}

# A plugin that does not load says so in its own answers alone.
def matcher(path, *plugins, &block)
  made = Class.new(Roda) do
    plugins.each { |name, *args| plugin(name, *args) }
    class_exec(&block)
  end
  APPS[path] = made.freeze.app
rescue StandardError, ScriptError => error
  APPS[path] = ->(_) { [500, {}, ["does not load: #{error.class} #{error.message}"]] }
end

matcher("/class_matchers", :class_matchers) do
  klass = Class.new
  class_matcher(klass, /(\d\d)-(\d\d)/) { |a, b| [a.to_i, b.to_i] }
  class_matcher(Float, /(\d+\.\d+)/, &:to_f)
  route do |r|
    r.on("pair", klass) { |a, b| "#{a}+#{b}" }
    r.on("float", Float, &:inspect)
  end
end

matcher("/symbol_matchers", :symbol_matchers) do
  symbol_matcher(:slug, /([a-z]+-[a-z]+)/)
  symbol_matcher(:even, :d) { |d| (n = d.to_i).even? && n }
  route do |r|
    r.is(:even) { |n| "even #{n}" }
    r.is(:d) { |d| "digits #{d.inspect}" }
    r.is(:slug) { |s| "slug #{s}" }
    r.is("rest", :rest) { |s| "rest #{s}" }
    r.is("w", :w) { |s| "word #{s}" }
  end
end

matcher("/header_matchers", :header_matchers) do
  route do |r|
    r.on(header: "x-key") { |value| "header #{value}" }
    r.on(host: "match.example") { "host" }
    r.on(host: /\A(\w+)\.sub\.example\z/) { |name| "sub #{name}" }
    r.on(user_agent: /Mozilla\/(\d)/) { |version| "ua #{version}" }
    r.on(accept: "text/csv") { "csv" }
  end
end

matcher("/hash_matcher", :hash_matcher) do
  hash_matcher(:double) { |text| consume(/\/(#{text})\/(#{text})/) }
  route { |r| r.on(double: "a") { |*captured| captured.inspect } }
end

matcher("/param_matchers", :param_matchers) do
  route do |r|
    r.on("need", param: "a") { |a| "a=#{a}" }
    r.on("full", param!: "a") { |a| "a=#{a}" }
    r.on("many", params: %w[a b]) { |a, b| "#{a} #{b}" }
    r.on("all", params!: %w[a b]) { |a, b| "#{a} #{b}" }
  end
end

matcher("/path_matchers", :path_matchers) do
  route do |r|
    r.on(prefix: "pre") { |rest| "prefix #{rest}" }
    r.on(suffix: ".txt") { |name| "suffix #{name}" }
    r.on(extension: "css") { |name| "extension #{name}" }
  end
end

matcher("/placeholder", :placeholder_string_matchers) do
  route { |r| r.is("foo/:bar/baz/:qux") { |a, b| "#{a} #{b}" } }
end

matcher("/match_affix", [:match_affix, "/", /(\/|\z)/]) do
  route { |r| r.on("a") { |*c| "a #{c.inspect} #{r.remaining_path}" } }
end

matcher("/multibyte", :multibyte_string_matcher) { route { |r| r.on("ä") { "umlaut #{r.remaining_path}" } } }
matcher("/unescape_path", :unescape_path) { route { |r| r.on("b", String) { |text| text } } }

matcher("/optimized", :optimized_string_matchers) do
  plugin :optimized_segment_matchers
  route do |r|
    r.on_branch("branch") { r.is_exactly("leaf") { "leaf" } }
    r.is_segment { |text| "segment #{text}" }
    r.on_segment { |text| "on #{text} #{r.remaining_path}" }
  end
end

matcher("/integer_max", [:Integer_matcher_max, 100]) { route { |r| r.is(Integer) { |n| n.to_s } } }

matcher("/custom", :custom_matchers) do
  set = Class.new { def initialize(words) = (@words = words); attr_reader :words }
  custom_matcher(set) do |one|
    one.words.any? { |word| consume(self.class.cached_matcher(word) { Regexp.escape(word) }) }
  end
  red = set.new(%w[red rot])
  route { |r| r.is(red) { "red" } }
end

matcher("/map", :map_matcher) { route { |r| r.is(map: { "one" => "eins", "two" => 2 }) { |v| v.inspect } } }

matcher("/backtracking", :backtracking_array) do
  route { |r| r.is(%w[foo foo/bar]) { |which| which } }
end

matcher("/slash_empty", :slash_path_empty) { route { |r| r.on("a") { r.is("b") { "b" }; r.is { "a" } } } }
matcher("/empty_root", :empty_root) { route { |r| r.root { "root" } } }

matcher("/params_capturing", :params_capturing) do
  route { |r| r.on("p", :name, Integer) { |_, _| r.params.inspect } }
end

matcher("/restore", :params_capturing_restore) do
  route do |r|
    r.on("p", :name) { |_| r.is("x") { "x #{r.params.inspect}" } }
    r.params.inspect
  end
end

matcher("/strip", [:strip_path_prefix, "/strip"]) { route { |r| "#{r.remaining_path} #{r.path_info}" } }

matcher("/rewriter", :path_rewriter) do
  rewrite_path("/old", "/new")
  rewrite_path(/\A\/year(\d+)/) { |match| "/y/#{match[1]}" }
  rewrite_path("/info", "/told", path_info: true)
  route { |r| "#{r.remaining_path} #{r.path_info}" }
end

matcher("/static_routing", :static_routing) do
  static_route("/static") { |r| r.get { "static get" }; "static any" }
  static_get("/only") { "only get" }
  static_post("/only") { "only post" }
  route { |r| "dynamic #{r.remaining_path}" }
end

matcher("/break", :break) do
  route { |r| r.is("a") { break "broke" if r.params["x"]; next "next" if r.params["y"]; "no" }; "after" }
end

matcher("/pass", :pass) do
  route do |r|
    r.on("a", String) { |text| r.pass if text == "skip"; "first #{text}" }
    r.on("a", String) { |text| "second #{text}" }
  end
end

matcher("/aref", [:request_aref, :raise]) do
  route { |r| r.get("get") { (r["a"] rescue $!.class.name.split("::").last) } }
end

matcher("/r", :r) { route { |r| foo }; def foo = r.remaining_path }

matcher("/host_routing") do
  plugin(:host_routing) { |hosts| hosts.to(:api, "api.example"); hosts.default(:main) }
  route { |r| r.api { "api" }; r.main { "main #{r.api?} #{r.main?}" } }
end

run Rack::URLMap.new(APPS)
