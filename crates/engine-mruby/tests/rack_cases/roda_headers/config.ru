# Roda's plugins for headers, cookies, paths and logs.

require "roda"
require "stringio"

APPS = {}

# A plugin that does not load says so in its own answers alone.
def headed(path, *plugins, &block)
  made = Class.new(Roda) do
    plugins.each { |name, *args| plugin(name, *args) }
    class_exec(&block)
  end
  APPS[path] = made.freeze.app
rescue StandardError, ScriptError => error
  APPS[path] = ->(_) { [500, {}, ["does not load: #{error.class} #{error.message}"]] }
end

headed("/default", [:default_headers, { "x-default" => "1", "content-type" => "text/plain" }]) do
  route { |r| r.get("own") { response["x-default"] = "own"; "own" }; "default" }
end

headed("/plain", :plain_hash_response_headers) { route { |_| response["X-Upper"] = "1"; response.headers.class.name } }
headed("/delete_empty", :delete_empty_headers) { route { |_| response["x-empty"] = ""; response["x-nil"] = "1"; "" } }
headed("/content_type", [:response_content_type, { mime_types: { exotic: "x/exotic", json: "application/json" } }]) do
  route do |r|
    r.get("json") { response.content_type = :json; "{}" }
    r.get("ex") { response.content_type = :exotic; response.content_type }
  end
end
headed("/attachment", :response_attachment) do
  route { |r| response.attachment(r.params["f"] || "notes.txt", "inline"); "a" }
end
headed("/attach_bare", :response_attachment) { route { |_| response.attachment; "a" } }

headed("/cookies", [:cookies, { path: "/c", same_site: :lax }]) do
  route do |r|
    r.get("set") { response.set_cookie("a", "1"); response.set_cookie("b", value: "2", path: "/b"); "set" }
    r.get("delete") { response.delete_cookie("a"); "deleted" }
    r.cookies.inspect
  end
end

headed("/cookie_flags", [:cookie_flags, { action: :modify }]) do
  plugin :cookies
  route { |_| response.set_cookie("a", "1"); response.set_cookie("b", value: "2", httponly: true); "flags" }
end

headed("/hsts", [:hsts, { subdomains: false, preload: true }]) { route { |_| "hsts" } }
headed("/csp", :hooks) do
  plugin(:content_security_policy) do |csp|
    csp.default_src(:none)
    csp.script_src(:self, "https://cdn.example")
    csp.upgrade_insecure_requests
  end
  route do |r|
    r.get("add") { content_security_policy.add_script_src([:nonce, "abc"]); content_security_policy.report_only; "a" }
    r.get("set") { content_security_policy { |csp| csp.img_src(:self) }; "s" }
    "csp"
  end
end
headed("/permissions", :hooks) do
  plugin(:permissions_policy, default: :none) { |pp| pp.fullscreen(:self); pp.geolocation(:self, "https://m.example") }
  route { |r| r.get("add") { permissions_policy.add_fullscreen("https://v.example"); "a" }; "pp" }
end

headed("/https", :redirect_http_to_https) { route { |r| r.redirect_http_to_https; "secure" } }
headed("/https_own", [:redirect_http_to_https, { status_map: Hash.new(308), port: 8443, headers: { "x-h" => "1" } }]) do
  route { |r| r.redirect_http_to_https; "secure" }
end
headed("/assume", :assume_ssl) { route { |r| [r.ssl?, r.scheme].inspect } }
headed("/ip", [:ip_from_header, "X-Real-Ip"]) { route { |r| r.ip.inspect } }
headed("/hosts", [:host_authorization, ["good.example", /\A\w+\.ok\.example\z/]]) do
  route { |_| check_host_authorization!; "allowed" }
end
headed("/bearer", :bearer_token) { route { |r| r.bearer_token.inspect } }

headed("/redirect_path", :redirect_path) do
  plugin :path
  thing = Class.new { def id = 5 }
  path(thing) { |one| "/things/#{one.id}" }
  route do |r|
    r.get("a") { r.redirect(thing.new) }
    r.get("b") { r.redirect(thing.new, "/edit") }
    r.redirect("/plain")
  end
end

headed("/path", :path) do
  item = Struct.new(:id)
  path(:root, "/")
  path(:item) { |id, *rest| "/items/#{id}#{rest.join}" }
  path(:full, "/full", url: true, add_script_name: true)
  path(:only, "/only", url_only: true)
  path(item) { |one, extra = nil| "/struct/#{one.id}/#{extra}" }
  route do |_|
    [root_path, item_path(1, "x"), full_path, full_url, only_url, path(item.new(2)), url(item.new(3), "e")].inspect
  end
end

headed("/relative", :relative_path) do
  route { |r| r.on("a") { [relative_path("/x/y"), relative_prefix, relative_path("/")].inspect } }
end
headed("/link_to", :link_to) do
  plugin :path
  path(:home, "/home")
  route { |_| [link_to("Home", :home), link_to("A & B", "/a?b=1&c=2", class: "x"), link_to(nil, "/bare")].join("\n") }
end
headed("/url_escape", :url_escape) { route { |_| [url_escape("a b&ä/"), url_unescape("a+b%26")].inspect } }
headed("/h", :h) { route { |_| h("<a href='x'>\"&</a>") } }

LOG = StringIO.new
headed("/common", [:common_logger, LOG, { method: :write }]) { route { |r| r.get("a") { "logged" } } }
headed("/filtered", [:common_logger, LOG, { method: :write }]) do
  plugin(:filter_common_logger) { |answer| answer[0] != 200 }
  route { |r| r.get("a") { "not logged" } }
end
headed("/log", :hooks) { route { |_| LOG.string.gsub(/\[[^\]]+\]/, "[date]").gsub(/\d\.\d{4,}/, "0.0") } }
headed("/hints", :early_hints) { route { |_| send_early_hints("link" => "</a.css>; rel=preload"); "hinted" } }
headed("/shape", :shape_friendly) { route { |r| "shape #{r.remaining_path} #{response.status.inspect}" } }
headed("/sec_fetch", :sec_fetch_site_csrf) { route { |_| check_sec_fetch_site!; "fetched" } }

run lambda { |env|
  name = env["PATH_INFO"].split("/", 3)[1]
  env["PATH_INFO"] = env["PATH_INFO"].delete_prefix("/#{name}")
  env["SCRIPT_NAME"] = env["HTTP_X_SCRIPT"] if env["HTTP_X_SCRIPT"]
  APPS.fetch("/#{name}").call(env)
}
