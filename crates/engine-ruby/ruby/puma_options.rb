# frozen_string_literal: true

# `@config` and `@options` in a configuration of Puma, for files that read earlier directives.

module FoolsGold
  # The part of Puma::Configuration that files use.
  class PumaConfig
    attr_reader :options
    alias_method :_options, :options

    def initialize(options)
      @options = options
    end

    def events
      options.events
    end

    def final_options
      options.default_options.merge(options.file_options)
    end

    %i[environment rackup].each { |name| define_method(name) { options[name] } }
  end

  # The part of Puma::Events to which files and plugins give hooks.
  class PumaEvents
    HOOKS = %i[after_booted on_booted before_restart on_restart after_stopped on_stopped].freeze

    def initialize(said)
      @said = said
    end

    HOOKS.each { |name| define_method(name) { |&block| register(name, &block) } }

    # Other events of Puma are its own, and do not happen here.
    def register(name, object = nil, &block)
      @said.record(name.to_s, [], block || object.method(:call)) if HOOKS.include?(name.to_sym)
      object || block
    end

    def fire(*); end
  end

  # Stands for Puma::UserFileDefaultOptions: the directives so far, by the names of Puma's options.
  class PumaOptions
    # Directives whose option has another name.
    NAMES = { preload_app!: :preload_app, set_default_host: :default_host, state_path: :state,
              restart_command: :restart_cmd, daemonize: :daemon }.freeze
    # Hooks that gems give to Puma.cli_config.options while the application is loaded. Each is a list.
    LISTS = %i[before_worker_boot before_worker_shutdown].freeze
    # Directives whose option is true if they are given without an argument.
    BARE = %i[preload_app! debug prune_bundler log_requests early_hints drain_on_shutdown daemonize].freeze

    # Directives whose option is a number, even if the file gives a String.
    COUNTS = %w[workers threads].freeze

    # A number of workers: `auto` is one for each processor.
    def self.count(value)
      value.to_s.b.strip == "auto" ? Etc.nprocessors : value.to_i
    end

    # What a directive returns in Puma: the new value of its option; of `threads`, the largest number.
    def self.result(name, args)
      return true if args.empty?

      value = name == "threads" ? args.last : args.first
      COUNTS.include?(name) && value.respond_to?(:to_i) ? count(value) : value
    end

    # `daemon`: whether the command line sends the server to the background.
    def initialize(said, daemon: false)
      @said = said
      @daemon = daemon
    end

    # As if the file had the directive of this name. A list stays the object that was given: more may be added to it.
    def []=(key, value)
      return @said.added[key.to_sym] = value if value.is_a?(Array) && LISTS.include?(key.to_sym)

      @said.record((NAMES.key(key.to_sym) || key).to_s, [value], nil)
    end

    def fetch(key, default = nil)
      key = key.to_sym
      @said.added[key] ||= [] if LISTS.include?(key)
      [file_options, default_options].each { |options| return options[key] if options.key?(key) }
      default
    end
    alias_method :[], :fetch

    def key?(key)
      file_options.key?(key.to_sym) || default_options.key?(key.to_sym)
    end

    def all_of(key)
      [file_options[key], default_options[key]].flat_map { |value| Array(value) }
    end

    # Those of the command line: the number of workers and, once they are known, of threads, and whether the application
    # is loaded before the fork: gems start their threads at once if not, and else in a hook. Also the lists of the
    # application, as in Puma.
    def user_options
      options = @said.added.dup
      options[:daemon] = true if @daemon
      options[:workers] = PumaOptions.count(@said.workers) if @said.instance_variable_get(:@workers)
      threads = FoolsGold.threads if FoolsGold.respond_to?(:threads)
      threads ? options.merge(max_threads: threads, preload_app: FoolsGold.preloads) : options
    end

    # The value of `options[:events]`, to which hooks can be given too.
    def events
      @events ||= PumaEvents.new(@said)
    end

    def file_options
      options = @said.calls.each_with_object({}) do |call, all|
        name = call.name.to_sym
        all[NAMES.fetch(name, name)] = call.args.empty? && BARE.include?(name) ? true : call.args.first
      end
      options[:workers] = PumaOptions.count(options[:workers]) if options.key?(:workers)
      add_threads(options)
      add_binds(options)
      options.merge(user_options)
    end

    def default_options
      least = variable("PUMA_MIN_THREADS", "MIN_THREADS") || 0
      most = variable("PUMA_MAX_THREADS", "MAX_THREADS") || (RUBY_ENGINE == "ruby" ? 5 : 16)
      environment = variable("APP_ENV", "RACK_ENV", "RAILS_ENV") || "development"
      { workers: PumaOptions.count(ENV["WEB_CONCURRENCY"]), min_threads: least.to_i, max_threads: most.to_i,
        environment: environment, rackup: PumaWords::DefaultRackup, tag: File.basename(Dir.getwd),
        binds: ["tcp://0.0.0.0:9292"], events: events,
        worker_timeout: 60, worker_boot_timeout: 60, worker_shutdown_timeout: 30 }
    end

    private

    # The value of the first of these environment variables that is not blank.
    def variable(*names)
      ENV.values_at(*names).find { |value| !value.to_s.b.strip.empty? }
    end

    def add_threads(options)
      least, most = options.delete(:threads) && @said.args("threads")
      options[:min_threads] = least.to_i if least
      options[:max_threads] = (most || least).to_i if least
    end

    def add_binds(options)
      binds = []
      @said.calls.each do |call|
        case call.name
        when "bind" then binds << call.args.first
        when "port" then binds << "tcp://#{call.args[1] || options[:default_host] || '0.0.0.0'}:#{call.args.first}"
        when "clear_binds!" then binds.clear
        end
      end
      options[:binds] = binds unless binds.empty?
    end
  end
end
