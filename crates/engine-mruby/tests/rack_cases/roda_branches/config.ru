# Roda's plugins that spread a routing tree: branches, named routes, mounted applications, hooks.

require "roda"

APPS = {}

# A plugin that does not load says so in its own answers alone.
def tree(path, *plugins, &block)
  made = Class.new(Roda) do
    plugins.each { |name, *args| plugin(name, *args) }
    class_exec(&block)
  end
  APPS[path] = made.freeze.app
rescue StandardError, ScriptError => error
  APPS[path] = ->(_) { [500, {}, ["does not load: #{error.class} #{error.message}"]] }
end

tree("/hash_branches", :hash_branches) do
  hash_branch("users") { |r| r.hash_branches; r.is(Integer) { |id| "user #{id}" }; "users" }
  hash_branch("/users", "new") { |r| "new user #{r.remaining_path}" }
  hash_branch(:admin, "users") { |r| "admin users" }
  route { |r| r.hash_branches; r.on("admin") { r.hash_branches(:admin) }; r.root { "root" } }
end

tree("/hash_paths", :hash_paths) do
  hash_path("/a") { |r| r.get { "a" } }
  hash_path(:deep, "/b") { |_| "deep b" }
  route { |r| r.hash_paths; r.on("deep") { r.hash_paths(:deep) }; "none" }
end

tree("/hash_routes", :hash_routes) do
  hash_routes("") do
    on("on") { |r| "on #{r.remaining_path}" }
    is("is") { |_| "is" }
    get("get") { |_| "get" }
    post("get") { |_| "post" }
    is(true) { |_| "true" }
    dispatch_from("from") { |_| @from = "from" }
  end
  hash_routes("/from") { is("x") { |_| "x of #{@from}" } }
  hash_routes(:named) { is("y") { |_| "y" } }
  route { |r| r.hash_routes(""); r.on("named") { r.hash_routes(:named) }; r.hash_routes }
end

tree("/named", :named_routes) do
  route("one") { |r| "one #{r.remaining_path}" }
  route("two", "space") { |_| "two in space" }
  route do |r|
    r.on("1") { r.route("one") }
    r.on("2") { r.route("two", "space") }
    self.class.named_routes.inspect
  end
end

tree("/multi_route", :multi_route) do
  route("first") { |r| r.is("x") { "first x" }; "first" }
  route("second") { |r| r.multi_route("inner"); "second" }
  route("third", "inner") { |_| "third" }
  route { |r| r.multi_route { "after #{r.remaining_path}" }; "none" }
end

tree("/multi_run", :multi_run) do
  run("one", ->(env) { [200, {}, ["run one ", env["SCRIPT_NAME"], " ", env["PATH_INFO"]]] })
  run("later") { ->(_) { [200, {}, ["run later"]] } }
  route { |r| r.multi_run { |prefix| response["x-prefix"] = prefix }; "none" }
end

tree("/class_level", :all_verbs, :class_level_routing) do
  root { "root" }
  get("get", String) { |text| "get #{text}" }
  post("get") { "posted" }
  on("on") { request.get("in") { "on in" }; "on" }
  is("is", Integer) { |number| "is #{number}" }
  delete("gone") { "deleted" }
  route { |r| @before = 1; nil }
end

tree("/run_append", :run_append_slash) { route { |r| r.on("in") { r.run(->(env) { [200, {}, [env["PATH_INFO"]]] }) } } }
tree("/run_require", :run_require_slash) do
  route { |r| r.on("in") { r.run(->(env) { [200, {}, [env["PATH_INFO"]]] }) }; "no" }
end

tree("/run_handler", :run_handler) do
  inner = ->(env) { [env["PATH_INFO"].delete("/").to_i, { "x-inner" => "1" }, ["inner"]] }
  route do |r|
    r.on("pass") { r.run(inner, not_found: :pass); "passed" }
    r.on("block") { r.run(inner) { |answer| answer[1]["x-block"] = answer[0].to_s } }
  end
end

tree("/type", [:type_routing, { types: { csv: "text/csv" }, default_type: :json }]) do
  route do |r|
    r.is("data") do
      r.html { "<p>html</p>" }
      r.json { "{}" }
      r.csv { "a,b" }
      r.on_type(:xml) { "<x/>" }
    end
    r.get("type") { r.requested_type.inspect }
  end
end

tree("/hooks", :hooks) do
  before { (@log ||= []) << "before" }
  before { (@log ||= []) << "again"; response["x-before"] = "1" }
  after { |answer| answer[1]["x-after"] = "#{answer[0]} #{@log.join(',')}" if answer }
  route { |r| r.get("a") { "hooked" } }
end

tree("/match_hook", :match_hook) do
  match_hook { response["x-matched"] = [request.matched_path, request.remaining_path].inspect }
  route { |r| r.on("a") { r.is("b") { "b" }; "a" } }
end

tree("/match_hook_args", :match_hook_args) do
  add_match_hook { |matchers, values| (response["x-hook"] ||= +"") << "#{matchers.inspect} #{values.inspect};" }
  route { |r| r.on("a", Integer) { |n| r.is(String) { |s| "#{n} #{s}" } } }
end

tree("/middleware_stack", :middleware_stack) do
  mark = Class.new do
    def initialize(app, word) = (@app, @word = app, word)
    def call(env) = @app.call(env).tap { |answer| answer[1]["x-mark"] = "#{answer[1]['x-mark']}#{@word}" }
  end
  use mark, "a"
  use mark, "c"
  middleware_stack.before { |klass, *args| klass == mark && args == ["c"] }.use(mark, "b")
  middleware_stack.after { |_, *args| args == ["c"] }.use(mark, "d")
  middleware_stack.remove { |_, *args| args == ["a"] }
  route { |_| "stacked" }
end

tree("/middleware", :hooks) do
  inner = Class.new(Roda) do
    plugin(:middleware, env_var: "inner.app") { |middleware, word| middleware.opts[:word] = word }
    route { |r| r.is("inner") { "inner #{opts[:word]}" }; r.env["inner.seen"] = "seen" }
  end
  use inner, "configured"
  route { |r| "outer #{r.env['inner.seen']}" }
end

tree("/module_include", :module_include) do
  request_module { def doubled = remaining_path * 2 }
  response_module(Module.new { def shout(text) = write(text.upcase) })
  route { |r| response.shout(r.doubled); nil }
end

tree("/delegate", :delegate) do
  request_delegate :root, :on, :is, :get, :remaining_path
  response_delegate :write
  class_delegate :name_of
  def self.name_of = "class method"
  route { |_| root { "root" }; get("a") { write("delegated"); nil }; is("c") { name_of }; remaining_path }
end

tree("/shared_vars", :shared_vars) do
  plugin :middleware
  route { |r| shared[:a] = 1; shared(b: 2); shared(c: 3) { r.get("in") { shared.inspect } }; shared.inspect }
end

tree("/args", :hooks) do
  plugin(:route_block_args) { [request.remaining_path, response] }
  route { |path, response| response["x-path"] = path; "args" }
end

tree("/autoload", [:autoload_hash_branches]) do
  LAZY_APP = self
  autoload_hash_branch("lazy", File.expand_path("lazy.rb", __dir__))
  route { |r| r.hash_branches; "not lazy" }
end

tree("/autoload_named", [:autoload_named_routes]) do
  LAZY_NAMED = self
  autoload_named_route("late", File.expand_path("late.rb", __dir__))
  route { |r| r.on("late") { r.route("late") }; "early" }
end

tree("/build", :delay_build) do
  use(Class.new { def initialize(app) = (@app = app); def call(env) = @app.call(env).tap { |a| a[1]["x-late"] = "1" } })
  route { |_| "built" }
  build!
end

tree("/direct", :direct_call) { route { |r| "direct #{r.remaining_path}" } }

# Not a URLMap, whose SCRIPT_NAME would be part of the paths that have matched.
run lambda { |env|
  name = env["PATH_INFO"].split("/", 3)[1]
  env["PATH_INFO"] = env["PATH_INFO"].delete_prefix("/#{name}")
  APPS.fetch("/#{name}").call(env)
}
