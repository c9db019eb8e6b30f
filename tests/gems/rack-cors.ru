# gems: rack-cors rack
# ask: / /@origin=http://a.example /api/x@origin=http://b.example
# ask: OPTIONS:/api/x@origin=http://b.example@access-control-request-method=PUT
require "rack/cors"

use Rack::Cors do
  allow do
    origins "http://a.example", /\Ahttp:\/\/c\d+\.example\z/
    resource "*", headers: :any, methods: %i[get post]
  end
  allow do
    origins "*"
    resource "/api/*", headers: %w[x-token], expose: ["x-more"], methods: %i[get put], max_age: 60, credentials: false
  end
end

run ->(_) { [200, { "content-type" => "text/plain", "vary" => "accept" }, ["ok"]] }
