# gems: rack-test rack
# ask: / /cookies /upload
require "rack/test"

class Session
  include Rack::Test::Methods
  def app
    lambda do |env|
      request = Rack::Request.new(env)
      upload = request.params["file"]
      said = upload.is_a?(Hash) ? [upload[:filename], upload[:type], upload[:tempfile].read] : request.params
      [200, { "set-cookie" => "n=#{request.cookies["n"].to_i + 1}; path=/" }, [[request.request_method, said].inspect]]
    end
  end
end

run(lambda do |env|
  session = Session.new
  text =
    case env["PATH_INFO"]
    when "/cookies" then 3.times { session.get "/" }; session.rack_mock_session.cookie_jar["n"]
    when "/upload"
      file = Rack::Test::UploadedFile.new(StringIO.new("a,b"), "text/csv", original_filename: "x.csv")
      session.post("/up", "file" => file, "a" => { "b" => "1" })
      session.last_response.body
    else
      session.header "X-A", "b"
      session.put "/x?y=1", z: [1, 2]
      session.last_response.body + session.last_request.env["HTTP_X_A"]
    end
  [200, {}, [text]]
end)
