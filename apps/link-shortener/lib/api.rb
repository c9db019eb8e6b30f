# The JSON API: POST /api/links, GET and DELETE /api/links/CODE.

require "json"
require "openssl"

class Api
  JSON_TYPE = "application/json".freeze

  def initialize(links, base, own)
    @links = links
    @base = base
    @own = own
  end

  # [status, object]
  def call(verb, code, env, body)
    case [verb, code.nil?]
    when ["POST", true] then make(env, body)
    when ["GET", false] then with(code) { |link| [200, shown(link)] }
    when ["DELETE", false] then with(code) { |link| retire(link, env) }
    else refuse(405, "POST to /api/links, GET and DELETE of /api/links/CODE are there.")
    end
  end

  private

  def make(env, body)
    type = env["CONTENT_TYPE"].to_s.split(";").first
    return refuse(415, "Send JSON, with content-type: #{JSON_TYPE}.") unless type == JSON_TYPE
    given = JSON.parse(body)
    return refuse(422, "Send an object, such as {\"url\": \"https://example.com\"}.") unless given.is_a?(Hash)
    wish = Wish.new(given, @own)
    link = @links.make(wish.url, code: wish.code, days: wish.days)
    [201, shown(link).merge("token" => token(link))]
  rescue JSON::ParserError => error
    refuse(400, "This is no JSON: #{error.message}")
  rescue Address::Bad, Wish::Bad => error
    refuse(422, error.message)
  rescue Links::Taken
    refuse(409, "This code is taken.")
  rescue Links::ReadOnly
    refuse(503, "No links can be made now; those that are there can be followed.")
  end

  def retire(link, env)
    given = env["HTTP_AUTHORIZATION"].to_s.delete_prefix("Bearer ")
    return refuse(403, "Say the token that the link was made with.") unless OpenSSL.secure_compare(token(link), given)
    @links.retire(link["code"])
    [200, shown(@links.find(link["code"]))]
  rescue Links::ReadOnly
    refuse(503, "No links can be retired now.")
  end

  def with(code)
    link = @links.find(code)
    link ? yield(link) : refuse(404, "There is no link of this code.")
  end

  # Only who has made the link was told it.
  def token(link)
    OpenSSL::HMAC.hexdigest("SHA256", @links.secret, "retire #{link['code']} #{link['made']}")
  end

  def shown(link)
    { "code" => link["code"], "short_url" => "#{@base}/#{link['code']}", "url" => link["url"],
      "visits" => link["visits"], "live" => @links.live?(link), "made" => time(link["made"]),
      "ends" => time(link["ends"]), "visited" => time(link["visited"]) }
  end

  def time(seconds)
    seconds && Time.at(seconds).getutc.strftime("%Y-%m-%dT%H:%M:%SZ")
  end

  def refuse(status, message)
    [status, { "error" => message }]
  end
end
