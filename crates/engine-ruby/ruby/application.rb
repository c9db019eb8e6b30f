# frozen_string_literal: true

# Loads the application, once, before there is any worker.

module FoolsGold
  # The application and what was needed to load it.
  class Application
    attr_reader :app

    def initialize(setup)
      @setup = setup
    end

    # Bundler first, then Rack, then the application: the order in which the user's versions win.
    def load
      began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      # By this Rails makes its pool of database connections as large as there are threads.
      ENV["RAILS_MAX_THREADS"] ||= @setup["threads"]
      set_up_bundler unless @setup["gemfile"].empty?
      require "socket"
      require "stringio"
      require "uri" # Rack 2's Lint, and applications, count on the server having loaded it.
      require_rack
      FoolsGold.hooks.load(@setup["hooks"], @setup["hooks_kind"]) unless @setup["hooks"].empty?
      @app = build
      @seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
    end

    # What READY says.
    def description
      {
        "ruby" => RUBY_DESCRIPTION,
        "rack" => Rack.release,
        "bundler" => @setup["gemfile"].empty? ? "no" : "yes",
        "fork" => Process.respond_to?(:fork) ? "yes" : "no",
        "native" => native? ? "yes" : "no",
        "load_ms" => (@seconds * 1000).round.to_s
      }
    end

    # Frees what loading has left over and puts the rest where workers can share it for long.
    def warm_up
      return Process.warmup if Process.respond_to?(:warmup)

      GC.start
      GC.compact if GC.respond_to?(:compact)
    rescue NotImplementedError
      nil # Compaction is not for every machine.
    end

    # Connections must not be shared by two processes.
    def before_fork(number)
      FoolsGold.hooks.run(:before_fork)
      FoolsGold.hooks.run(:before_worker_fork, number)
      return unless defined?(ActiveRecord::Base) && ActiveRecord::Base.respond_to?(:connection_handler)

      handler = ActiveRecord::Base.connection_handler
      # From Rails 7.1 on, the role must be said.
      handler.method(:clear_all_connections!).arity.zero? || ActiveRecord.version < Gem::Version.new("7.1") ?
        handler.clear_all_connections! : handler.clear_all_connections!(:all)
    rescue StandardError => error
      Log.exception(error, "database connections could not be closed before the fork")
    end

    # Whether the accelerator is loaded. It defines FoolsGold::NativeSlot (see slot.rb).
    def native?
      defined?(FoolsGold::NativeSlot) ? true : false
    end

    private

    # Not `bundler/setup`: that prints and exits where Bundler.setup raises.
    def set_up_bundler
      ENV["BUNDLE_GEMFILE"] = @setup["gemfile"]
      require "bundler"
      Bundler.setup
    rescue LoadError => error
      raise LoadFailed, "there is a Gemfile, but no Bundler: gem install bundler (#{error.message})"
    end

    def require_rack
      require "rack"
      require "rack/builder"
    rescue LoadError => error
      raise unless error.path.to_s.start_with?("rack")

      remedy = @setup["gemfile"].empty? ? "gem install rack" : "add `gem \"rack\"` to #{@setup['gemfile']}"
      raise LoadFailed, "#{RUBY_ENGINE} #{RUBY_VERSION} has no Rack: #{remedy}"
    end

    # Rack 2 gives the application and options, Rack 3 the application.
    def build
      app, = Rack::Builder.parse_file(@setup["rackup"])
      return app if app.respond_to?(:call)

      raise LoadFailed, "#{@setup['rackup']} gives #{app.class}, which has no method `call`"
    end
  end
end
