# Rack::URLMap: several applications, told apart by the beginning of the path or by the host.

module Rack
  # Sends a request to the application with the longest matching prefix, which sees the rest as its PATH_INFO.
  class URLMap
    NOT_FOUND = [404, { "content-type" => "text/plain", "x-cascade" => "pass" }].freeze

    def initialize(map = {})
      remap(map)
    end

    def remap(map)
      @mapping = map.map { |location, app| entry(location, app) }
      @mapping = @mapping.sort_by { |host, path, _| [host ? -host.size : 0, -path.size] }
    end

    def call(env)
      path = env["PATH_INFO"]
      script = env["SCRIPT_NAME"]
      host = env["HTTP_HOST"] || env["SERVER_NAME"]
      name = env["SERVER_NAME"]
      @mapping.each do |wanted, prefix, app|
        next if wanted && wanted != host && wanted != name
        next unless prefix.empty? || path.start_with?(prefix)
        rest = path[prefix.size..-1]
        next unless rest.empty? || rest.start_with?("/")
        return dispatch(app, env, script, path, prefix, rest)
      end
      [NOT_FOUND[0], NOT_FOUND[1].dup, ["Not Found: #{path}"]]
    end

    private

    def dispatch(app, env, script, path, prefix, rest)
      env["SCRIPT_NAME"] = script + prefix
      env["PATH_INFO"] = rest
      app.call(env)
    ensure
      env["SCRIPT_NAME"] = script
      env["PATH_INFO"] = path
    end

    def entry(location, app)
      host = nil
      location.start_with?("http://", "https://") and
        (host, location = location.split("://", 2).last.split("/", 2)) and location = "/#{location}"
      raise ArgumentError, "paths need to start with /, but one is #{location.inspect}" unless location.start_with?("/")
      location = location[0...-1] while location.end_with?("/")
      [host, location, app]
    end
  end
end
