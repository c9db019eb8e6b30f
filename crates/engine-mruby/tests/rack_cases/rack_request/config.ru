# Rack::Request: what it says of a request, one path for each group of its methods.

require "rack"

ADDRESS = %i[scheme host port hostname authority host_authority server_authority host_with_port url base_url
             fullpath path
             ssl? forwarded_for forwarded_port forwarded_authority ip server_name server_port
             forwarded_priority].freeze
KIND = %i[media_type media_type_params content_charset content_type content_length form_data? parseable_data?].freeze
VERB = %i[request_method get? post? put? patch? delete? head? options? link? unlink? trace?].freeze

def told(request, names)
  names.map do |name|
    value = begin
      name == :forwarded_priority ? request.class.forwarded_priority : request.__send__(name)
    rescue StandardError => error
      error.class
    end
    "#{name}: #{value.inspect}\n"
  end
end

def guarded
  yield
rescue StandardError => error
  ["#{error.class}\n"]
end

def parameters(request)
  guarded do
    ["GET: #{request.GET.inspect}\n", "POST: #{request.POST.inspect}\n", "params: #{request.params.inspect}\n"]
  end
end

PATHS = {
  "/address" => ->(request) { told(request, ADDRESS) },
  "/kind" => ->(request) { told(request, KIND) },
  "/verb" => ->(request) { told(request, VERB) },
  "/params" => ->(request) { parameters(request) },
  "/cookies" => ->(request) { ["#{request.cookies.inspect}\n"] },
  "/accept" => lambda do |request|
    ["#{request.accept_encoding.inspect}\n", "#{request.accept_language.inspect}\n",
     "#{request.preferred_locales.inspect}\n"].compact
  rescue NoMethodError
    ["#{request.accept_encoding.inspect}\n", "#{request.accept_language.inspect}\n"]
  end,
  "/headers" => lambda do |request|
    request.set_header("x.y", 1)
    request.add_header("HTTP_X_MANY", "two")
    request.delete_header("HTTP_X_REQUEST_ID") # The server's own.
    names = []
    request.each_header { |name, _| names << name if name.start_with?("HTTP_", "x.") }
    [request.get_header("HTTP_X_ONE"), request.has_header?("HTTP_X_NONE"), request.fetch_header("no") { |k| "no #{k}" },
     request.get_header("HTTP_X_MANY"), request.delete_header("HTTP_X_ONE"), request.get_header("HTTP_X_ONE"),
     names.sort].map { |value| "#{value.inspect}\n" }
  end,
  "/more" => lambda do |request|
    request.update_param("a", "new")
    request.update_param("added", "1")
    ["#{request.params.inspect}\n", "#{request.delete_param('a').inspect}\n", "#{request.params.inspect}\n",
     "#{request['added'].inspect}\n", "#{request.values_at('added', 'no').inspect}\n"]
  rescue NoMethodError => error
    ["#{error.name}\n"]
  end,
  "/about" => lambda do |request|
    [request.xhr?, request.referer, request.referrer, request.user_agent, request.script_name, request.path_info,
     request.query_string, request.session.class, request.session_options.class, request.logger,
     request.trusted_proxy?("127.0.0.1"), request.trusted_proxy?("8.8.8.8"), request.trusted_proxy?("10.1.2.3"),
     request.trusted_proxy?("192.168.0.1"), request.trusted_proxy?("fd00::1"), request.trusted_proxy?("unix")]
      .map { |value| "#{value.inspect}\n" }
  end,
  "/body" => ->(request) { [request.body.read.bytes.last(4).inspect, request.env["rack.input"].class.nil?.inspect] }
}.freeze

run lambda { |env|
  request = Rack::Request.new(env)
  part = PATHS.fetch(request.path_info) { ->(_) { ["no such path"] } }
  [200, { "content-type" => "text/plain" }, part.call(request)]
}
