# Roda's core: the routing tree and its matchers, requests and responses.

require "roda"

APPS = {}

APPS["/tree"] = Class.new(Roda) do
  route do |r|
    r.root { "root" }
    r.is("exact") { "exact" }
    r.on("items") do
      r.is do
        r.get { "all items" }
        r.post { "new item #{r.params['name']}" }
      end
      r.on(Integer) do |id|
        r.is { "item #{id + 1}" }
        r.get("name") { "name of #{id}" }
        r.post("name", String) { |name| "#{id} is now #{name}" }
      end
      r.get("first", "second") { "never without both" }
      "items left: #{r.remaining_path}"
    end
    r.get("hello", String, Integer) { |name, times| "#{name} " * times }
    r.get(/v(\d+)\.(\d+)/) { |major, minor| [major, minor].join(" and ") }
    r.get(%w[one two]) { |which| "array #{which}" }
    r.get([Integer, String]) { |either| either.inspect }
  end
end

APPS["/match"] = Class.new(Roda) do
  route do |r|
    r.is("method", method: :get) { "by method" }
    r.is("methods", method: %w[put patch]) { "one of two" }
    r.on("all", all: [String, Integer]) { |text, number| "#{text.inspect} #{number.inspect}" }
    r.on("nil", nil) { "never" }
    r.on("false", false) { "never" }
    r.on("true", true) { "always" }
    r.on("proc", -> { r.params["x"] == "1" }) { "proc" }
    r.on("case", [["a", :b], nil, "c"]) { "never b" }
    r.on("sym", :name) { |name| "symbol #{name}" }
    r.on("re", /(\w)(\w)?/) { |*parts| parts.inspect }
    r.on("partial") { r.on("a") { r.is("b") { "a b" } } }
    r.on(["x", "y"], String) { |one, two| "#{one} #{two}" }
    r.get("term", true) { "term" }
    r.get("") { "slash" }
  end
end

APPS["/request"] = Class.new(Roda) do
  route do |r|
    said = { path: r.path, remaining: r.remaining_path, matched: r.matched_path, path_info: r.path_info,
             script: r.script_name, get: r.is_get?, captures: r.captures, inspect: r.inspect.sub(/0x\h+/, ""),
             real: r.real_remaining_path, query: r.query_string, ua: r.user_agent, host: r.host }
    r.on("in", String) do |_|
      said = { remaining: r.remaining_path, matched: r.matched_path, captures: r.captures }
      said.inspect
    end
    r.get("env") { [env["REQUEST_METHOD"], request.class.superclass.name, response.class.superclass.name].inspect }
    r.get("params") { r.params.inspect }
    said.inspect
  end
end

APPS["/response"] = Class.new(Roda) do
  route do |r|
    r.get("status") { response.status = 202; "accepted" }
    r.get("header") { response["X-One"] = "1"; response.headers["x-two"] = "2"; response["x-one"] }
    r.get("write") { response.write("written"); response.write(1); nil }
    r.get("both") { response.write("written"); "ignored" }
    r.get("redirect") { r.redirect("/elsewhere") }
    r.get("redirect_303") { r.redirect("/elsewhere", 303) }
    r.post("redirect") { r.redirect }
    r.get("halt") { r.halt([418, { "content-type" => "text/x" }, ["halted"]]) }
    r.get("halt_response") { response.status = 403; response.write("no"); r.halt }
    r.get("finish") { r.halt(response.finish_with_body(%w[a b])) }
    r.get("nil") { nil }
    r.get("false") { false }
    r.get("empty") { "" }
    r.get("number") { 1 }
    r.get("length") { response["content-length"] = "3"; "abc" }
    r.get("inspect") { response.inspect.sub(/0x\h+/, "") }
    r.get("run") { r.run(->(inner) { [200, {}, ["inner ", inner["PATH_INFO"], " ", inner["SCRIPT_NAME"]]] }) }
    r.on("mounted") { r.run(->(inner) { [200, {}, ["inner ", inner["PATH_INFO"], " ", inner["SCRIPT_NAME"]]] }) }
    r.get("cookie") { response.set_cookie("a", "1") if response.respond_to?(:set_cookie); "no cookie" }
  end
end

APPS["/used"] = Class.new(Roda) do
  use(Class.new do
    def initialize(app, word) = (@app, @word = app, word)
    def call(env) = @app.call(env).tap { |answer| answer[1]["x-used"] = @word }
  end, "used")
  opts[:greeting] = "from opts"
  route { |_| "#{self.class.opts[:greeting]} #{opts.frozen?}" }
end

APPS["/child"] = Class.new(APPS["/used"]) do
  route { |r| r.get("own") { "child #{opts[:greeting]}" } }
end

APPS["/raise"] = Class.new(Roda) do
  route { |r| r.get("argument") { raise ArgumentError, "roda" } }
end

APPS["/private"] = Class.new(Roda) do
  def helper(name) = "helped #{name}"
  def self.shared = "class method"
  route { |r| "#{helper(r.remaining_path)} #{self.class.shared} #{instance_variable_get(:@_request).equal?(r)}" }
end

run Rack::URLMap.new(APPS.transform_values { |app| app.freeze.app })
