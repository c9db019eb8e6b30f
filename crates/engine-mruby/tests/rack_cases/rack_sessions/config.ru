# Rack::Session::Cookie and Rack::Session::Pool, from rack-session.

require "rack"
require "rack/session"

SECRET = "0123456789abcdef" * 8

APP = lambda do |env|
  session = env["rack.session"]
  request = Rack::Request.new(env)
  said = case request.path_info
         when "/count" then session["count"] = session.fetch("count", 0) + 1
         when "/set"
           request.params.each { |name, value| session[name] = value }
           session.to_hash
         when "/symbol"
           session[:sym] = { "deep" => [1, nil, true, 1.5] }
           session["sym"]
         when "/show" then session.to_hash
         when "/delete" then [session.delete("count"), session.key?("count")]
         when "/clear" then session.clear
         when "/empty" then [session.empty?, session.loaded?, session.exists?]
         when "/renew" then session.options[:renew] = true
         when "/drop" then session.options[:drop] = true
         when "/skip"
           session["skipped"] = 1
           session.options[:skip] = true
         when "/expire"
           session["e"] = 1
           session.options[:expire_after] = 60
         when "/secure"
           session["s"] = 1
           session.options[:secure] = true
         when "/class" then [session.class, session.id.class, session.dig("count"), session.keys]
         when "/untouched" then "nothing"
         end
  [200, { "content-type" => "text/plain" }, [said.inspect]]
end

map "/cookie" do
  use Rack::Session::Cookie, key: "cookie.session", secrets: SECRET, same_site: :lax
  run APP
end

map "/json" do
  use Rack::Session::Cookie, key: "json.session", secrets: [SECRET, "old" * 40], path: "/", httponly: false,
                             serialize_json: true
  run APP
end

map "/pool" do
  use Rack::Session::Pool, key: "pool.session", expire_after: 100
  run APP
end

map "/pool_many" do
  use Rack::Session::Pool, key: "many.session", domain: "example.org", sidbits: 256
  run APP
end
