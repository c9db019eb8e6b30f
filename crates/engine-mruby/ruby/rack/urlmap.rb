# FoolsGold::URLMap: several applications, chosen by path prefix or host. Also Rack::URLMap, unless the application
# loads the gem rack.

module FoolsGold
  # Passes a request to the application with the longest matching prefix, which gets the rest of the path as PATH_INFO.
  class URLMap
    NOT_FOUND = [404, { "content-type" => "text/plain", "x-cascade" => "pass" }].freeze

    def initialize(map = {})
      remap(map)
    end

    def remap(map)
      @mapping = map.map { |location, app| entry(location, app) }
      # Longest host and longest prefix first, so that the first match is the best one.
      @mapping = @mapping.sort_by { |host, path, _| [host ? -host.size : 0, -path.size] }
    end

    def call(env)
      path = env["PATH_INFO"]
      script = env["SCRIPT_NAME"]
      host = env["HTTP_HOST"] || env["SERVER_NAME"]
      name = env["SERVER_NAME"]
      @mapping.each do |wanted, prefix, app|
        next if wanted && !wanted.casecmp?(host.to_s) && !wanted.casecmp?(name.to_s)
        rest = below(prefix, path)
        next unless rest
        return dispatch(app, env, script, path, prefix, rest)
      end
      [NOT_FOUND[0], NOT_FOUND[1].dup, ["Not Found: #{path}"]]
    end

    private

    # The rest of a path below a prefix, in which several slashes in a row count as one; nil where the path is
    # elsewhere.
    def below(prefix, path)
      return path if prefix.empty?
      if path.start_with?(prefix)
        rest = path[prefix.size..-1]
      else
        # A pattern only where it is needed: most paths have no double slash.
        found = path.include?("//") && /\A#{Regexp.escape(prefix).gsub("/", "/+")}/.match(path)
        return nil unless found
        rest = found.post_match
      end
      rest.empty? || rest.start_with?("/") ? rest : nil
    end

    def dispatch(app, env, script, path, prefix, rest)
      env["SCRIPT_NAME"] = script + prefix
      env["PATH_INFO"] = rest
      app.call(env)
    # Restored also after an exception: a middleware outside of the map may read the paths.
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
