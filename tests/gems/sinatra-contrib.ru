# gems: sinatra/sinatra-contrib sinatra sinatra/rack-protection mustermann/mustermann rack rack-session tilt multi_json
# ask: / /admin/users /data /respond@accept=application/json /respond@accept=text/html /cookie /stream /caught /v?a=1
# ask: /none
require "sinatra/base"
%w[json namespace respond_with cookies streaming link_header content_for required_params].each do |part|
  require "sinatra/#{part}"
end

class Contrib < Sinatra::Base
  helpers Sinatra::JSON, Sinatra::Cookies, Sinatra::Streaming, Sinatra::LinkHeader, Sinatra::RequiredParams
  register Sinatra::Namespace, Sinatra::RespondWith
  set :host_authorization, permitted_hosts: []
  set :json_encoder, :to_json
  get("/") { prefetch "/x"; "home" }
  get("/data") { json({ a: [1, nil, "é"] }) }
  get("/cookie") { cookies[:a] = "b"; cookies.keys.inspect }
  get("/stream") { stream { |out| out.puts "one"; out.printf("%03d", 2) } }
  get("/caught") { halt 418, "teapot" }
  get("/v") { required_params :a; "given" }
  get("/respond") { respond_to { |f| f.html { "<p>" }; f.json { '{"x":1}' } } }
  namespace("/admin") { before { @who = "admin" }; get("/users") { "#{@who}s" } }
end

run Contrib
