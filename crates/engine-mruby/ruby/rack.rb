# Rack::Builder, in which config.ru runs, and Rack::URLMap behind its `map`.

module Rack
  RELEASE = "3.2".freeze

  def self.release
    RELEASE
  end

  class Builder
    # The application of a rackup file.
    def self.parse_file(path)
      load_file(path)
    end

    def self.load_file(path)
      builder = new
      FoolsGold.run_source(File.read(path), path, builder)
      builder.to_app
    end

    def self.app(default = nil, &block)
      new(default, &block).to_app
    end

    def initialize(default = nil, &block)
      @run = default
      @use = []
      @map = nil
      @warmup = nil
      @freeze = false
      instance_eval(&block) if block
    end

    # Puts a middleware before what follows; arguments and block go to its `new`.
    def use(middleware, *args, **options, &block)
      mapped = @map && take_map
      @use << ->(app) { middleware.new(mapped.call(app), *args, **options, &block) } if mapped
      return if mapped
      @use << ->(app) { options.empty? ? middleware.new(app, *args, &block) : middleware.new(app, *args, **options, &block) }
    end

    # The application at the end: an object that answers call, or a block.
    def run(app = nil, &block)
      raise ArgumentError, "Both app and block given!" if app && block
      raise ArgumentError, "run needs an application or a block" unless app || block
      @run = app || block
    end

    # An application for all paths below a prefix, or for a host ("http://host/prefix").
    def map(path, &block)
      @map ||= {}
      @map[path] = block || raise(ArgumentError, "map #{path.inspect} needs a block")
    end

    # Called once with the whole application, when it is ready.
    def warmup(callable = nil, &block)
      @warmup = callable || block
    end

    # Freezes the application and each middleware.
    def freeze_app
      @freeze = true
    end

    def to_app
      app = @map ? take_map.call(@run) : @run
      raise "missing run or map statement: the rackup file must say which application to run" unless app
      app.freeze if @freeze
      app = @use.reverse.inject(app) do |inner, wrap|
        wrapped = wrap.call(inner)
        @freeze ? wrapped.freeze : wrapped
      end
      @warmup.call(app) if @warmup
      app
    end

    def call(env)
      to_app.call(env)
    end

    private

    # What was mapped so far, as a function from the application for all other paths to the map.
    def take_map
      mapped = @map
      @map = nil
      lambda do |default|
        urls = default ? { "/" => default } : {}
        mapped.each { |path, block| urls[path] = Builder.new(default, &block).to_app }
        URLMap.new(urls)
      end
    end
  end

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
