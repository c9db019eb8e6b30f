# gems: omniauth hashie rack sinatra/rack-protection
# ask: / /auth/developer POST:/auth/developer POST:/auth/developer/callback?name=Ann&email=a@b.c /auth/failure?message=x
require "logger"
require "omniauth"

OmniAuth.config.logger = Logger.new(IO::NULL)
OmniAuth.config.request_validation_phase = nil
use(Class.new { def initialize(app) = @app = app; def call(env) = @app.call(env.merge("rack.session" => {})) })
use OmniAuth::Builder do
  provider :developer
end

run(lambda do |env|
  auth = env["omniauth.auth"]
  [200, { "content-type" => "text/plain" },
    [auth ? [auth.provider, auth.uid, auth.info.to_hash].inspect : "nobody at #{env["PATH_INFO"]}"]]
end)
