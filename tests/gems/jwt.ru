# gems: ruby-jwt base64
# ask: / /expired /wrong
require "jwt"

SECRET = "secret" * 10
run(lambda do |env|
  found =
    case env["PATH_INFO"]
    when "/expired" then (JWT.decode(JWT.encode({ exp: 1 }, SECRET), SECRET, true,
      algorithm: "HS256") rescue [$!.class, $!.message])
    when "/wrong"
      [(JWT.decode(JWT.encode({ a: 1 }, SECRET), "other", true, algorithm: "HS256") rescue $!.class),
       (JWT.decode("x.y", SECRET) rescue $!.message),
         (JWT.decode(JWT.encode({ a: 1 }, nil, "none"), SECRET, true, algorithm: "HS512") rescue $!.class)]
    else
      token = JWT.encode({ sub: "ann", admin: true }, SECRET, "HS512", kid: "k")
      [token, JWT.decode(token, SECRET, true, algorithm: "HS512"), JWT.decode(token, nil, false).last]
    end
  [200, {}, [found.inspect]]
end)
