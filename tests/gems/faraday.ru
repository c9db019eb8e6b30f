# gems: faraday faraday-net_http
# ask: / /post /error /middleware
require "faraday"

STUBS = Faraday::Adapter::Test::Stubs.new do |stub|
  stub.get("/hello?a=b+c") do |env|
    [200, { "Content-Type" => "application/json" }, "{\"x\": [1, \"#{env.request_headers["X-Who"]}\"]}"]
  end
  stub.post("/made") { |env| [201, { "X-Got" => env.body }, "made"] }
  stub.get("/gone") { [404, {}, "gone"] }
end

run(lambda do |env|
  client = Faraday.new(url: "http://x.example", headers: { "X-Who" => "me" }) do |build|
    build.request :json if env["PATH_INFO"] == "/post"
    build.request :url_encoded
    build.response :json
    build.response :raise_error
    build.adapter :test, STUBS
  end
  found =
    case env["PATH_INFO"]
    when "/post"
      answer = client.post("/made", { a: [1, nil] })
      [answer.status, answer.headers["x-got"], answer.body]
    when "/error" then (client.get("/gone") rescue [$!.class, $!.message, $!.response[:status]])
    when "/middleware" then [client.builder.handlers.map(&:name), client.build_url("/p", a: [1, 2], b: { c: 1 }).to_s]
    else client.get("/hello", a: "b c").then { |answer| [answer.success?, answer.body, answer.env.url.to_s] }
    end
  [200, {}, [found.inspect]]
end)
