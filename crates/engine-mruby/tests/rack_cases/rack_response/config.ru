# Rack::Response: one path for each way to make an answer.

require "rack"

PATHS = {
  "/plain" => -> { Rack::Response.new("hello", 201, "X-Custom" => "1").finish },
  "/empty" => -> { Rack::Response.new.finish },
  "/parts" => lambda do
    response = Rack::Response.new(%w[one two])
    response.write("three")
    response.write(4)
    response.finish
  end,
  "/bracket" => lambda do
    headers = { "content-type" => "text/plain" }
    Rack::Response[202, headers, ["made"]].finish
  end,
  "/block" => lambda do
    Rack::Response.new { |response| response.write("in a block") }.finish
  end,
  "/finish_block" => lambda do
    response = Rack::Response.new
    response.finish { |inner| inner.write("late") }
  end,
  "/cookies" => lambda do
    response = Rack::Response.new
    response.set_cookie("a", "1 2")
    response.set_cookie("b", value: "x", path: "/p", max_age: 10, httponly: true, same_site: :strict, secure: true)
    response.set_cookie("c", value: %w[x y], expires: Time.at(1_700_000_000))
    response.delete_cookie("d")
    response.delete_cookie("e", domain: "example.org", path: "/")
    response.finish
  end,
  "/redirect" => lambda do
    response = Rack::Response.new
    response.redirect("/elsewhere?x=1")
    response.finish
  end,
  "/permanent" => lambda do
    response = Rack::Response.new
    response.redirect("http://example.org/", 301)
    response.location << "more"
    response.finish
  end,
  "/headers" => lambda do
    response = Rack::Response.new
    response["X-One"] = "1"
    response.set_header("x-two", "2")
    response.add_header("x-two", "22")
    response.add_header("X-Three", "3")
    response.set_header("x-gone", "g")
    said = [response["x-one"], response.get_header("X-Two"), response.has_header?("x-gone"),
            response.delete_header("X-Gone"), response.has_header?("x-gone"), response.headers.class,
            response.include?("x-three"), response.get_header("none")]
    response.write(said.inspect)
    response.finish
  end,
  "/types" => lambda do
    response = Rack::Response.new
    response.content_type = "text/html; charset=utf-8"
    response.etag = "\"abc\""
    response.cache!(60)
    response.delete_header("expires")
    response.write([response.content_type, response.media_type, response.media_type_params, response.etag,
                    response.cache_control, response.content_length].inspect)
    response.finish
  end,
  "/no_cache" => lambda do
    response = Rack::Response.new
    response.do_not_cache!
    response.set_header("expires", response.get_header("expires").size.to_s)
    response.finish
  end,
  "/status" => lambda do
    codes = [200, 204, 301, 304, 400, 401, 403, 404, 405, 406, 408, 412, 422, 429, 500, 502, 99]
    names = %i[ok? no_content? moved_permanently? redirect? redirection? bad_request? unauthorized? forbidden?
               not_found? method_not_allowed? not_acceptable? request_timeout? precondition_failed? unprocessable?
               too_many_requests? client_error? server_error? successful? informational? invalid? accepted? created?]
    lines = codes.map do |code|
      response = Rack::Response.new([], code)
      "#{code}: #{names.select { |name| response.respond_to?(name) && response.__send__(name) }.join(' ')}\n"
    end
    Rack::Response.new(lines).finish
  end,
  "/no_content" => -> { Rack::Response.new("dropped", 204, "content-type" => "x/y").finish },
  "/not_modified" => -> { Rack::Response.new(["a"], 304, "content-length" => "1").finish },
  "/to_a" => lambda do
    response = Rack::Response.new("x" * 10, 200)
    status, headers, body = *response
    [status, headers, [body.to_a.join, response.length.to_s, response.empty?.inspect, response.body.class.to_s]]
  end,
  "/each" => lambda do
    body = Enumerator.new { |out| 3.times { |at| out << "part #{at}\n" } }
    Rack::Response.new(body).finish
  end,
  "/buffer" => lambda do
    body = ["a", "b"].each
    response = Rack::Response.new(body, 200, { "content-length" => "99" })
    response.write("c")
    response.finish
  end,
  "/stream" => lambda do
    Rack::Response.new(->(stream) { stream << "streamed"; stream.close }).finish
  end,
  "/raw" => lambda do
    raw = Rack::Response::Raw.new(200, { "content-type" => "text/plain" })
    raw.set_header("x-raw", "1")
    raw.redirect("/raw/target", 307) if raw.respond_to?(:redirect)
    [raw.status, raw.headers, [raw.successful?.inspect, raw.redirect?.inspect]]
  end,
  "/mock" => lambda do
    inner = ->(env) do
      [200, { "content-type" => "text/plain", "set-cookie" => "k=v" }, [env["PATH_INFO"], env["rack.input"].read]]
    end
    asked = Rack::MockRequest.new(inner)
    got = asked.post("/mocked?x=1", input: "posted", "HTTP_X" => "y")
    form = asked.post("/form", params: { "a" => ["1", { "b" => "c" }] })
    [200, {}, [got.status.to_s, got.body, got["Content-Type"], got.cookie("k").class.to_s, got.ok?.inspect, form.body,
               Rack::MockRequest.env_for("http://e.org:81/p?q")["SERVER_PORT"]].map { |one| "#{one}\n" }]
  end
}.freeze

run ->(env) { PATHS.fetch(env["PATH_INFO"], -> { [404, {}, []] }).call }
