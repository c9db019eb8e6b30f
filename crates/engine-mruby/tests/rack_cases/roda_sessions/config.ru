# Roda's plugins that keep something between requests: sessions, flash, CSRF tokens, signed paths.

require "roda"

APPS = {}
SECRET = "0123456789abcdef" * 4

# A plugin that does not load says so in its own answers alone.
def kept(path, *plugins, &block)
  made = Class.new(Roda) do
    plugins.each { |name, *args| plugin(name, *args) }
    class_exec(&block)
  end
  APPS[path] = made.freeze.app
rescue StandardError, ScriptError => error
  APPS[path] = ->(_) { [500, {}, ["does not load: #{error.class} #{error.message}"]] }
end

SESSION_ROUTES = lambda do |r, session|
  r.get("count") { (session["count"] = session["count"].to_i + 1).to_s }
  r.get("set") { session.merge!(r.params); session.to_hash.inspect }
  r.get("show") { session.to_hash.inspect }
  r.get("clear") { session.clear; "cleared" }
  r.get("large") { session["large"] = "x" * 3000; "large" }
  nil
end

kept("/sessions", [:sessions, { secret: SECRET, key: "s.session" }]) do
  route { |r| SESSION_ROUTES.call(r, session) || r.get("gone") { clear_session; "gone" } }
end

kept("/sessions_own",
    [:sessions,
        { secret: SECRET, key: "o.session", gzip_over: 100, cookie_options: { path: "/", same_site: "Strict" },
            max_seconds: 1000, max_idle_seconds: 100, pad_size: nil }]) do
  route { |r| SESSION_ROUTES.call(r, session) }
end

kept("/middleware", :hooks) do
  require "roda/session_middleware"
  use RodaSessionMiddleware, secret: SECRET, key: "m.session"
  route { |r| SESSION_ROUTES.call(r, session) }
end

kept("/flash", [:sessions, { secret: SECRET, key: "f.session" }], :flash) do
  route do |r|
    r.get("set") { flash["notice"] = "for later"; flash.now["now"] = "at once"; flash["now"].to_s }
    r.get("keep") { flash.keep; flash["notice"].to_s }
    r.get("discard") { flash.discard; "discarded" }
    [flash["notice"], flash.next].inspect
  end
end

kept("/csrf", [:sessions, { secret: SECRET, key: "c.session" }], [:route_csrf, { csrf_failure: :empty_403 }]) do
  route do |r|
    r.get("token") { csrf_token("/csrf/post") }
    r.get("token_any") { plain = csrf_token; valid_csrf?(token: plain).inspect }
    r.get("tag") do
      [csrf_field, csrf_header,
          csrf_metatag[/\A<meta name="_csrf" content="/], csrf_tag[/\A<input type="hidden" name="_csrf" value="/],
              csrf_formaction_tag("/x")[/name="[^"]*"/], csrf_path("x")].inspect
    end
    check_csrf!
    r.post("post") { "posted" }
    "other"
  end
end

kept("/csrf_raise", [:sessions, { secret: SECRET, key: "r.session" }], :route_csrf) do
  route { |r| check_csrf!; "checked" }
end

kept("/conditional", :hooks) do
  plugin(:conditional_sessions, secret: SECRET, key: "n.session") { path_info != "/off" }
  route { |r| r.get("off") { (session.to_hash.inspect rescue $!.class.name) }; SESSION_ROUTES.call(r, session) }
end

kept("/hmac", [:hmac_paths, { secret: "0123456789abcdef" * 4 }]) do
  route do |r|
    r.get("paths") do
      [hmac_path("/w/1"), hmac_path("/w/1", root: "/in"), hmac_path("/w/2", method: :get),
          hmac_path("/w/3", params: { "a" => "b" }), hmac_path("/w/1", seconds: 1).size.to_s].join("\n")
    end
    r.hmac_path { r.get("w", Integer) { |id| "widget #{id}" } }
    r.on("in") { r.hmac_path { "in #{r.remaining_path}" } }
    "not signed"
  end
end

run lambda { |env|
  name = env["PATH_INFO"].split("/", 3)[1]
  env["PATH_INFO"] = env["PATH_INFO"].delete_prefix("/#{name}") unless name == "csrf"
  env["PATH_INFO"] = env["PATH_INFO"].delete_prefix("/csrf") if name == "csrf"
  APPS.fetch("/#{name}").call(env)
}
