# gems: cuba rack rack-session
# ask: / /hello/world /search?q=a+b POST:/items?name=pen /none
require "cuba"

Cuba.define do
  on get do
    on(root) { res.write "home" }
    on("hello/:name") { |name| res.write "Hello, #{name}" }
    on("search", param("q")) { |q| res.headers["x-query"] = q; res.write "searched #{q.inspect}" }
  end
  on post do
    on("items") { res.status = 201; res.redirect "/items/1", 303 }
  end
end

run Cuba
