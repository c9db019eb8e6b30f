# The builder that runs config.ru. Also Rack::Builder, unless the application loads the gem rack.

module Rack
  # Loads the gem rack for any other constant: with other servers it is loaded before the rackup file.
  def self.const_missing(name)
    FoolsGold::Loader.require("rack") unless FoolsGold::Loader::LIBRARIES["rack"]
    const_defined?(name) ? const_get(name) : super
  rescue LoadError
    super
  end

  RELEASE = "3.2".freeze

  def self.release
    RELEASE
  end

  FoolsGold.wait_for(self, :Builder, "rack/builder")
  FoolsGold.wait_for(self, :URLMap, "rack/urlmap")
end

module FoolsGold
  class Builder
    # Returns the application of a rackup file.
    def self.parse_file(path)
      load_file(path)
    end

    def self.load_file(path)
      new_from_string(FoolsGold::Native.source_read(path), path)
    end

    def self.new_from_string(code, path = "(rackup)", **)
      builder = new
      FoolsGold.run_source(code, path, builder)
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

    # Adds a middleware in front of what follows; arguments and block are for its `new`. Mappings before it are reached
    # without it, as in Rack.
    def use(middleware, *args, **options, &block)
      @use << __mapped(@map) if @map
      @map = nil
      @use << lambda do |app|
        # Empty keywords would become an argument of an `initialize` that is written in C or has a Hash at the end.
        options.empty? ? middleware.new(app, *args, &block) : middleware.new(app, *args, **options, &block)
      end
    end

    # Sets the application at the end: an object with the method call, or a block.
    def run(app = nil, &block)
      raise ArgumentError, "Both app and block given!" if app && block
      raise ArgumentError, "run needs an application or a block" unless app || block
      @run = app || block
    end

    # Sets an application for all paths below a prefix, or for a host ("http://host/prefix").
    def map(path, &block)
      @map ||= {}
      @map[path] = block || raise(ArgumentError, "map #{path.inspect} needs a block")
    end

    # Sets a callable that is called once with the whole application.
    def warmup(callable = nil, &block)
      @warmup = callable || block
    end

    # Makes to_app freeze the application and each middleware.
    def freeze_app
      @freeze = true
    end

    def to_app
      app = @map ? __mapped(@map).call(@run) : @run
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

    # Calls a method of a module that a library has included in Rack's own builder: a rackup file expects it here, such
    # as Sinatra's `get`.
    def method_missing(name, *args, **options, &block)
      theirs = Rack::Builder
      given = theirs != Builder && (theirs.method_defined?(name) || theirs.private_method_defined?(name))
      owner = given && theirs.instance_method(name).owner
      return super unless owner && !owner.is_a?(Class)
      owner.instance_method(name).bind(self).call(*args, **options, &block)
    end

    # A function from the application for all other paths to a URLMap with these blocks.
    def __mapped(blocks)
      lambda do |default|
        apps = default ? { "/" => default } : {}
        blocks.each { |path, block| apps[path] = Builder.new(default, &block).to_app }
        URLMap.new(apps)
      end
    end
  end
end
