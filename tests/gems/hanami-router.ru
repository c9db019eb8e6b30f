# gems: hanami-router mustermann/mustermann mustermann/mustermann-contrib hansi rack
# ask: / /books/7 /books/x /old /api/users/3/edit POST:/books /nothing /files/a/b.txt
require "hanami/router"

ROUTES = Hanami::Router.new do
  show = ->(env) { [200, { "content-type" => "text/plain" }, [env["router.params"].inspect]] }
  root { "home" }
  get "/books/:id", to: show, id: /\d+/, as: :book
  post "/books", to: ->(_) { [201, {}, ["made"]] }
  redirect "/old", to: "/", code: 301
  scope("api") { get "/users/:id/edit", to: show, as: :edit }
  get "/files/*path", to: show
end

run ROUTES
