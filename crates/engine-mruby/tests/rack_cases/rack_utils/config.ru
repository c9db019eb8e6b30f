# Rack::Utils and its kin, one function for each path; what they are given comes in the query.

require "rack"

U = Rack::Utils

def pairs(env) = U.parse_query(env["QUERY_STRING"])

# Nested parameters, as in parameters of `build_nested_query`.
NESTED = { "a" => %w[1 2], "b" => { "c" => ["d", { "e" => "f g" }], "h" => nil }, "i" => "ä&" }.freeze
FLAT = { "a" => %w[1 2], "b" => "c d", "e" => nil, "f" => "&=" }.freeze
TYPES = [["text/html", "text/plain"], ["application/json", "text/html"], ["image/png"], ["text/*", "*/*"]].freeze

PATHS = {
  "/parse_query" => ->(env) { U.parse_query(env["QUERY_STRING"]) },
  "/parse_nested" => ->(env) { U.parse_nested_query(env["QUERY_STRING"]) },
  "/semicolons" => ->(env) { U.parse_query(env["QUERY_STRING"], ";,") },
  "/build" => ->(_) { [U.build_query(FLAT), U.build_nested_query(NESTED), U.build_nested_query({ "a" => [] })] },
  "/escape" => lambda do |env|
    text = pairs(env)["t"]
    [U.escape(text), U.escape_path(text), U.escape_html(text), U.unescape(text), U.unescape_path(text),
     U.escape(:symbol), U.escape_html(1)]
  end,
  "/q_values" => ->(env) { U.q_values(pairs(env)["t"]) },
  "/best" => ->(env) { TYPES.map { |types| U.best_q_match(pairs(env)["t"], types) } },
  "/encoding" => lambda do |env|
    header = pairs(env)["t"].to_s
    accepted = header.split(/\s*,\s*/).map { |part| name, q = part.split(";q="); [name, (q || 1).to_f] }
    U.select_best_encoding(%w[gzip deflate identity], accepted)
  end,
  "/ranges" => lambda do |env|
    [10, 0, 500, 100_000].map { |size| U.get_byte_ranges(pairs(env)["t"], size) }
  end,
  "/status" => lambda do |env|
    words = pairs(env)["t"]
    code = words.to_i.to_s == words ? words.to_i : words.to_sym
    U.status_code(code)
  rescue ArgumentError => error
    error.class
  end,
  "/codes" => ->(_) { [U::HTTP_STATUS_CODES.size, U::HTTP_STATUS_CODES[418], U::STATUS_WITH_NO_ENTITY_BODY.keys.size] },
  "/clean" => lambda do |env|
    path = pairs(env)["t"]
    [U.clean_path_info(path), U.valid_path?(path), U.valid_path?("a\0b")]
  end,
  "/secure" => ->(_) { [U.secure_compare("abc", "abc"), U.secure_compare("abc", "abd"), U.secure_compare("a", "ab")] },
  "/cookies" => lambda do |env|
    [U.parse_cookies(env), U.parse_cookies_header(env["HTTP_COOKIE"]),
     U.set_cookie_header("k", { value: "v w", path: "/", domain: "example.org", secure: true, httponly: true,
                                max_age: 60, same_site: :lax, expires: Time.at(0) }),
     U.set_cookie_header("k", { value: %w[a b], same_site: "None", partitioned: true }),
     U.set_cookie_header("plain", "x=y;z"),
     U.delete_set_cookie_header("gone", path: "/x"), U.set_cookie_header("raw", { value: "a b", escape_key: false })]
  rescue StandardError => error
    error.class
  end,
  "/bad_cookie" => lambda do |env|
    U.set_cookie_header(pairs(env)["t"], "v")
  rescue ArgumentError => error
    error.message
  end,
  "/add_cookie" => lambda do |_|
    headers = {}
    U.set_cookie_header!(headers, "a", "1")
    U.set_cookie_header!(headers, "b", { value: "2", same_site: :strict })
    U.delete_cookie_header!(headers, "a")
    headers
  end,
  "/dates" => ->(_) { [U.rfc2822(Time.at(1_700_000_000).utc)] },
  "/media" => lambda do |env|
    type = pairs(env)["t"]
    [Rack::MediaType.type(type), Rack::MediaType.params(type)]
  end,
  "/mime" => lambda do |env|
    type = pairs(env)["t"]
    [Rack::Mime.mime_type(File.extname(type)), Rack::Mime.mime_type(".none", nil),
        Rack::Mime.match?("text/html", "text/*"),
     Rack::Mime.match?("text/html", "image/*"), Rack::Mime::MIME_TYPES.size > 600]
  end,
  "/headers" => lambda do |_|
    headers = Rack::Headers["Content-Type" => "text/html", "X" => "1"]
    headers["SET-Cookie"] = "a"
    [headers, headers["content-TYPE"], headers.key?("x"), headers.delete("X"), headers.fetch("Set-Cookie"),
     headers.merge("SET-COOKIE" => "b"), headers.to_a, headers.values_at("content-type"), headers.dup.class,
     headers.select { |name, _| name == "set-cookie" }.class, headers.reject { true }, headers.compact, headers.invert,
     headers.dig("Content-Type"), headers.slice("Content-Type"), headers.except("Content-Type"),
         headers.assoc("set-cookie"),
     headers.transform_values(&:upcase), headers.update("New" => "n").keys]
  end,
  "/context" => lambda do |env|
    app = ->(inner) { [200, {}, [inner["PATH_INFO"]]] }
    U::Context.new(app, app).call(env)
  end,
  "/forwarded" => ->(env) { U.forwarded_values(pairs(env)["t"]) },
  "/release" => ->(_) { [Rack::RELEASE.to_i, Rack.release.to_i, Rack::Request.name, Rack::VERSION.class] }
}.freeze

run lambda { |env|
  part = PATHS.fetch(env["PATH_INFO"]) { ->(_) { :none } }
  said = begin
    part.call(env)
  rescue StandardError => error
    "#{error.class}: #{error.message}"
  end
  said = [said] unless said.instance_of?(Array)
  [200, { "content-type" => "text/plain" }, said.map { |value| "#{value.inspect}\n" }]
}
