# Roda's plugins for what is answered: bodies, statuses, errors, parameters.

require "roda"
require "json"

APPS = {}

# A plugin that does not load says so in its own answers alone.
def answers(path, *plugins, &block)
  made = Class.new(Roda) do
    plugins.each { |name, *args| plugin(name, *args) }
    class_exec(&block)
  end
  APPS[path] = made.freeze.app
rescue StandardError, ScriptError => error
  APPS[path] = ->(_) { [500, {}, ["does not load: #{error.class} #{error.message}"]] }
end

answers("/json", :json) do
  route do |r|
    r.get("hash") { { "a" => [1, 2.5, nil, true], b: "ä\"\n" } }
    r.get("array") { [1, { "x" => [] }] }
    "text"
  end
end

answers("/json_own",
    [:json, { classes: [Array, Struct], serializer: ->(o) { o.to_a.inspect }, content_type: "x/y" }]) do
  pair = Struct.new(:left, :right)
  route { |r| r.get("struct") { pair.new(1, 2) }; r.get("hash") { [[1]] } }
end

answers("/json_parser", :json_parser) { route { |r| r.params.inspect } }
answers("/json_parser_wrap",
    [:json_parser, { wrap: :unless_hash, error_handler: ->(r) { r.halt [422, {}, ["bad json"]] } }]) do
  route { |r| r.POST.inspect }
end

answers("/halt", :halt) do
  route do |r|
    r.get("number") { r.halt 403 }
    r.get("text") { r.halt "stopped" }
    r.get("two") { r.halt 409, "conflict" }
    r.get("three") { r.halt 201, { "x-three" => "3" }, "made" }
    r.get("array") { r.halt [202, { "x-array" => "1" }, ["accepted"]] }
    r.get("bad") { r.halt Object.new }
  end
end

answers("/verbs", :all_verbs) do
  route do |r|
    r.is("x") { %i[delete head options link patch put trace unlink].each { |verb| r.send(verb) { "#{verb}!" } }; "get" }
  end
end

answers("/head", :head) { route { |r| r.get("a") { "body" }; r.post("b") { "no" } } }
answers("/not_found", :not_found) do
  not_found { |r| response["x-nf"] = "1"; "no #{r.path}" }
  route { |r| r.get("a") { "a" } }
end
answers("/not_allowed", :not_allowed) { route { |r| r.get("a") { "a" }; r.is("b") { r.get { "b" }; r.post { "p" } } } }

answers("/error_handler", [:error_handler, {}]) do
  error(ArgumentError) { |error| "argument #{error.message}" } if false
  error { |error| response.status = 503 if error.is_a?(IOError); "#{error.class} #{error.message} #{env['PATH_INFO']}" }
  route { |r| r.get("a") { raise ArgumentError, "wrong" }; r.get("io") { raise IOError, "io" }; "fine" }
end

answers("/status_handler", :status_handler) do
  status_handler(403) { "forbidden" }
  status_handler(404, keep_headers: ["x-kept"]) { |r| "gone #{r.path}" }
  route do |r|
    response["x-kept"] = "1"
    response["x-lost"] = "1"
    r.get("403") { response.status = 403; "" }
    r.get("ok") { "ok" }
  end
end

answers("/symbol_status", :symbol_status) { route { |_| response.status = :not_acceptable; "s" } }
answers("/status_303", :status_303) { route { |r| r.redirect("/to") } }
answers("/default_status", :hooks) do
  plugin(:default_status) { @late ? 202 : 201 }
  route { |_| @late = true; "status" }
end

answers("/custom_results", :custom_block_results) do
  handle_block_result(Integer) { |number| "number #{number}" }
  handle_block_result(Symbol) { |symbol| response.status = 202; symbol.to_s }
  route { |r| r.get("n") { 5 }; r.get("s") { :sym } }
end

answers("/drop_body", :drop_body) { route { |r| response.status = r.remaining_path.delete("/").to_i; "body" } }
answers("/caching", :caching) do
  route do |r|
    response.cache_control(public: true, max_age: 60) if r.params["cc"]
    response.expires(0, private: true) if r.params["exp"]
    r.etag("tag") if r.params["etag"]
    r.etag("weak", weak: true) if r.params["weak"]
    r.last_modified(Time.at(1_704_164_645)) if r.params["lm"]
    "cached"
  end
end

answers("/params", :indifferent_params) do
  route { |_| [params[:a], params["a"], params[:h] && params[:h][:x]].inspect }
end

answers("/streaming", :streaming) do
  route do |r|
    r.get("out") { stream { |out| out << "a"; out.write("b"); 2.times { |at| out << at.to_s } } }
    r.get("callback") { stream(callback: proc {}) { |out| out << "called" } }
    r.get("loop") { stream(loop: true) { |out| out << "x"; @n = @n.to_i + 1; out.close if @n == 3 } }
  end
end

answers("/heartbeat", :heartbeat) { route { |_| "beat" } }
answers("/heart", [:heartbeat, { path: "/alive" }]) { route { |_| "beat" } }
answers("/response_request", :response_request) { route { |_| response.request.path.to_s } }
answers("/request_headers", :request_headers) do
  route { |r| [r.headers["X-One"], r.headers["none"], r.headers["content-type"]].inspect }
end
answers("/environments", :environments) do
  self.environment = :staging
  configure(:staging) { opts[:conf] = "staged" }
  configure { opts[:all] = "all" }
  route do |_|
    [self.class.environment, self.class.production?, self.class.development?, opts[:conf], opts[:all]].inspect
  end
end

answers("/sinatra", :sinatra_helpers) do
  route do |r|
    r.get("redirect") { redirect "/there" }
    r.get("error") { error 502, "bad gateway" }
    r.get("nf") { not_found "nothing" }
    r.get("headers") { headers("x-h" => "1"); status 203; body("b"); content_type(:json, charset: "utf-8"); nil }
    r.get("mime") { [mime_type(:html), mime_type("x/y"), uri("a"), url("/b", false)].inspect }
    r.get("attachment") { attachment("f.txt"); "file" }
    r.get("stream") { body { |*| "lazy" }; nil }
    r.get("ask") { status(404); [not_found?, success?, client_error?, response.redirect?].inspect }
  end
end

answers("/typecast", :all_verbs) do
  plugin(:typecast_params) { handle_type(:even) { |value| (number = value.to_i).even? ? number : nil } }
  route do |r|
    tp = typecast_params
    r.get("ints") { [tp.int("i"), tp.int("j", 7), tp.array(:int, "a")].inspect }
    r.get("must") { tp.int!("i").inspect }
    r.get("kinds") do
      [tp.str("s"), tp.nonempty_str("n"), tp.bool("b"), tp.float("f"), tp.pos_int("p"), tp.even("e")].inspect
    end
    r.get("dates") { [tp.date("d"), tp.time("t")].map(&:to_s).inspect }
    r.get("nested") { tp.convert! { |t| t.int("i"); t["h"].str!("x") }.inspect }
    r.get("each") { tp.array!(:pos_int, "a").sum.to_s }
  rescue Roda::RodaPlugins::TypecastParams::Error => error
    "#{error.class.name.split('::').last} #{error.param_name} #{error.reason}"
  end
end

answers("/sized", :all_verbs) do
  plugin :typecast_params
  plugin :typecast_params_sized_integers, sizes: [8, 16]
  route do |r|
    tp = typecast_params
    r.get("one") { [tp.int8("a"), tp.uint8("a"), tp.int16("a", 5), tp.pos_int8("a")].inspect }
    tp.int8!("a").inspect
  rescue Roda::RodaPlugins::TypecastParams::Error => error
    "#{error.param_name} #{error.reason}"
  end
end

answers("/invalid_body", [:invalid_request_body, :empty_400]) { route { |r| r.POST.inspect } }
answers("/uploads", :disallow_file_uploads) { route { |r| r.POST.inspect rescue $!.class.name } }

run lambda { |env|
  name = env["PATH_INFO"].split("/", 3)[1]
  env["PATH_INFO"] = env["PATH_INFO"].delete_prefix("/#{name}")
  APPS.fetch("/#{name}").call(env)
}
