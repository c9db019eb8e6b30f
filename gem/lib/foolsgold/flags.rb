# frozen_string_literal: true

# What rackup, Rails and Sinatra call their options, as arguments of the program.

require "rbconfig"

module FoolsGold
  class Flags
    def initialize(app, options)
      @app = app
      @options = options
    end

    def to_a
      ruby + address + environment + size + hints + log
    end

    # Variables for the program: the address of Rails that nobody has asked for. As in Puma, that of config/puma.rb, or
    # of a variable, counts more.
    def variables
      host, port = @options.values_at(:Host, :Port) if address_is_default?
      { DEFAULT_HOST => host&.to_s, DEFAULT_PORT => port&.to_s }
    end

    DEFAULT_HOST = "FOOLSGOLD_DEFAULT_HOST"
    DEFAULT_PORT = "FOOLSGOLD_DEFAULT_PORT"
    private_constant :DEFAULT_HOST, :DEFAULT_PORT

    private

    # The Ruby that runs this is the one that the application wants; unless somebody said another.
    def ruby
      flags = []
      flags += ["--engine", "ruby"] unless said?("FOOLS_GOLD_ENGINE")
      flags += ["--ruby", RbConfig.ruby] unless said?("FOOLS_GOLD_RUBY") || said?("FOOLS_GOLD_ENGINE")
      flags
    end

    def address
      return [] if address_is_default?

      host, port = @options.values_at(:Host, :Port).map(&:to_s)
      return ["--bind", host] if host.include?("://")
      return ["--bind", "unix://#{File.expand_path(host)}"] if host.start_with?("/", ".")
      return ["--bind", "unix://#{host}"] if host.start_with?("@") # An abstract one.

      flag("--host", host) + flag("--port", port)
    end

    # Rails tells which options the user gave; rackup does not.
    def address_is_default?
      supplied = @options[:user_supplied_options]
      supplied && (supplied & %i[Host Port]).empty?
    end

    # The application has been loaded here, in an environment that others than rackup may have chosen.
    def environment
      name = ::Rails.env if defined?(::Rails) && ::Rails.respond_to?(:env)
      name ||= @app.environment if tells_environment?
      name ||= ENV["APP_ENV"] if said?("APP_ENV")
      name ||= of_hanami || @options[:environment]
      chosen_by_nobody?(name) ? [] : flag("--environment", name)
    end

    # Whether it is the default of Sinatra, and of the server: the flag would say it in APP_ENV and RAILS_ENV, too. Puma
    # sets RACK_ENV alone, and an application may take a missing RAILS_ENV for another environment.
    def chosen_by_nobody?(name)
      name.to_s == "development" && !@options[:environment] && ENVIRONMENTS.none? { |variable| said?(variable) }
    end

    ENVIRONMENTS = %w[FOOLS_GOLD_ENVIRONMENT APP_ENV RACK_ENV RAILS_ENV HANAMI_ENV].freeze
    private_constant :ENVIRONMENTS

    # HANAMI_ENV, unless the user has named an environment other than rackup's default.
    def of_hanami
      ENV["HANAMI_ENV"] if said?("HANAMI_ENV") && [nil, "development"].include?(@options[:environment]&.to_s)
    end

    # As in Sinatra. In Hanami, a method of this name takes the settings of an environment.
    def tells_environment?
      @app.respond_to?(:environment) && @app.method(:environment).arity.between?(-1, 0)
    end

    def size
      flag("--threads", option(:Threads)) + flag("--workers", option(:Workers))
    end

    # `rails server --early-hints`.
    def hints
      on?(:early_hints) ? ["--early-hints"] : []
    end

    def log
      return ["--log", "warn", "--access-log", "off"] if on?(:Silent)
      return ["--access-log", "off"] if on?(:quiet)

      on?(:Verbose) ? ["--log", "debug"] : []
    end

    def option(name)
      @options[name] || @options[name.to_s.downcase.to_sym]
    end

    def flag(name, value)
      value = value.to_s.strip
      value.empty? ? [] : [name, value]
    end

    def on?(name)
      value = @options[name]
      value && !%w[false no 0].include?(value.to_s)
    end

    def said?(name)
      !ENV[name].to_s.empty?
    end
  end
end
