# gems: hobbit rack rack-session
# ask: / /hello/ann%20b /halt POST:/made?a=1 /none
require "hobbit"

class Hello < Hobbit::Base
  use Rack::Head
  get("/") { "home" }
  get("/hello/:name") { "Hello #{request.params[:name]}" }
  get("/halt") { response.status = 402; response.headers["x-why"] = "stop"; halt response.finish }
  post("/made") { response.status = 201; "made #{request.params.inspect}" }
end

run Hello.new
