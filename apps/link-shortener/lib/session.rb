# Sessions in a signed cookie: a small Hash with text keys in env["session"]. It is sent back only when it has changed.

require "json"
require "openssl"
require "securerandom"

class Session
  NAME = "links".freeze
  LASTS = 365 * 86_400
  BYTES_MAX = 3000

  def initialize(app, secret)
    @app = app
    @secret = secret
  end

  def call(env)
    before = read(env["HTTP_COOKIE"])
    session = env["session"] = before.dup
    status, headers, body = @app.call(env)
    headers["set-cookie"] = cookie(session, env) unless session == before
    [status, headers, body]
  end

  private

  # An empty Hash for a cookie that somebody else has made.
  def read(cookies)
    pair = cookies.to_s.split(/; */).find { |cookie| cookie.start_with?("#{NAME}=") }
    data, signature = pair.to_s.delete_prefix("#{NAME}=").split(".", 2)
    return {} if signature.nil? || !OpenSSL.secure_compare(sign(data), signature)
    JSON.parse(data.tr("-_", "+/").unpack1("m"))
  rescue JSON::ParserError
    {}
  end

  def cookie(session, env)
    data = [JSON.generate(session)].pack("m0").tr("+/", "-_").delete("=")
    raise "the session is too large for a cookie" if data.size > BYTES_MAX
    text = "#{NAME}=#{data}.#{sign(data)}; path=/; max-age=#{LASTS}; httponly; samesite=lax"
    env["rack.url_scheme"] == "https" ? "#{text}; secure" : text
  end

  def sign(data)
    OpenSSL::HMAC.hexdigest("SHA256", @secret, data)
  end
end
