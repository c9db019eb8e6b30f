# gems: rack-contrib rack
# ask: / /?callback=f POST:/json /favicon.ico /cookies /missing
require "rack/contrib"

use Rack::BounceFavicon
use Rack::JSONP
use Rack::ResponseHeaders do |headers|
  headers["x-added"] = "yes"
end
use Rack::Cookies
use Rack::JSONBodyParser
use Rack::NestedParams

map("/missing") { run Rack::NotFound.new(nil) }
run(lambda do |env|
  jar = env["rack.cookies"]
  jar["seen"] = "1" if env["PATH_INFO"] == "/cookies"
  request = Rack::Request.new(env)
  [200, { "content-type" => "application/json" }, ["[#{request.params.size},#{request.path.inspect}]"]]
end)
