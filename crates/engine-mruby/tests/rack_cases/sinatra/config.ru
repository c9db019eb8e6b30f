# Sinatra: routes, helpers, templates, sessions, errors, in the modular form.

require "sinatra/base"

class Shop < Sinatra::Base
  set :environment, :production
  set :root, __dir__
  set :show_exceptions, false
  enable :sessions, :method_override, :static
  set :session_secret, "0123456789abcdef" * 8
  set :protection, except: [:remote_token]
  set :greeting, "from settings"
  set(:agent) { |pattern| condition { request.user_agent.to_s.match?(pattern) } }

  class Missing < StandardError; end

  helpers do
    def shout(text) = text.upcase
    def protected! = halt(401, { "www-authenticate" => "Basic" }, "who?")
  end

  before { @before = request.path_info }
  before("/admin/*") { protected! unless params["key"] == "k" }
  after { headers["x-after"] = response.status.to_s }

  get("/") { "root #{@before} #{settings.greeting}" }
  get("/hello/:name") { |name| "#{shout(name)} #{params[:name]} #{params['name']}" }
  get("/maybe/?:word?") { params["word"].inspect }
  get("/say/*/to/*") { params["splat"].inspect }
  get(/\/number-(\d+)/) { |number| "#{number} #{params['captures'].inspect}" }
  get("/file/:name.:ext") { "#{params['name']} #{params['ext']}" }
  get("/agent", agent: /special/) { "special agent" }
  get("/agent") { "agent" }
  get("/host", host_name: "one.example") { "one" }
  get("/host") { "other" }
  get("/provides", provides: %w[json html]) do
    "#{content_type} #{request.preferred_type(%w[text/html application/json])}"
  end
  get("/pass/:n") { pass if params["n"] == "1"; "first" }
  get("/pass/*") { "second" }
  get("/params") { params.to_h.inspect }
  post("/params") { params.to_h.inspect }
  put("/verb") { "put" }
  delete("/verb") { "delete" }
  patch("/verb") { "patch" }
  options("/verb") { "options" }
  get("/redirect") { redirect to("/hello/x"), 303 }
  get("/back") { redirect back }
  get("/halt") { halt 418, { "x-halt" => "1" }, "halted" }
  get("/status") { status 202; body "b" }
  get("/headers") { headers "x-one" => "1", "x-two" => "2"; content_type :json; "{}" }
  get("/type") { content_type "text/x-own", charset: "utf-8"; mime_type(:css).to_s }
  get("/erb") { @items = %w[a b]; erb :list, locals: { title: "T & T" } }
  get("/erb_layout") { erb "<%= 1 + 1 %>", layout: :other }
  get("/bare") { erb :list, layout: false, locals: { title: "bare" } }
  get("/inline") { erb "<b><%= params['x'] %></b>", layout: false }
  get("/escape") { Rack::Utils.escape_html("<&>") }
  get("/session/set") { session[:n] = session[:n].to_i + 1; session[:n].to_s }
  get("/session/show") { session["n"].inspect }
  get("/session/clear") { session.clear; "cleared" }
  get("/etag") { etag "tag"; "etagged" }
  get("/modified") { last_modified Time.at(1_704_164_645); "modified" }
  get("/cache") { cache_control :public, max_age: 60; expires 0, :public; headers.delete("expires"); "cached" }
  get("/stream") { stream { |out| out << "a"; out << "b" } }
  get("/send") { send_file File.join(settings.public_folder, "page.txt") }
  get("/attach") { attachment "n.txt"; "attached" }
  get("/url") { [url("/x"), url("/x", false), uri("y"), to("/z")].join(" ") }
  get("/request") do
    [request.path, request.secure?, request.accept.map(&:to_s), request.forwarded?, request.ip].inspect
  end
  get("/not_found") { not_found }
  get("/raise") { raise Missing, "gone" }
  get("/raise_other") { raise ArgumentError, "other" }
  get("/admin/panel") { "panel" }
  get("/logger") { logger.info("logged"); "ok" }
  get("/cookies") { response.set_cookie("a", value: "1", path: "/"); response.delete_cookie("b"); "cookies" }
  get("/array") { [201, { "x-array" => "1" }, ["array"]] }
  get("/integer") { 204 }
  get("/nil") { nil }

  error(Missing) { "missing: #{env['sinatra.error'].message}" }
  error(405) { "never" }
  error(403) { "forbidden page" }
  error { "error: #{env['sinatra.error'].class}" }
  not_found { "no page #{request.path_info}" }
end

class Api < Sinatra::Base
  set :environment, :production
  set :default_content_type, "application/json"
  get("/") { "[]" }
  get("/inherited") { settings.default_content_type }
end

map("/api") { run Api }
run Shop
