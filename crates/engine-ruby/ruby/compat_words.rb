# frozen_string_literal: true

# Methods and constants that configurations of other servers use beside directives.

module FoolsGold
  # Those of Puma: constants, values of options, and `@config`, which stands for Puma's configuration.
  module PumaWords
    # Up to Puma 6 these were constants in a file.
    DefaultRackup = "config.ru"
    DefaultTCPHost = "0.0.0.0"
    DefaultTCPPort = 9292
    DefaultWorkerCheckInterval = 5
    DefaultWorkerTimeout = 60
    DefaultWorkerShutdownTimeout = 30

    # Loads what a file names and nothing has loaded yet: the gem of Puma, the plugins that the file has named so far,
    # the configuration of a Rails application. In Puma's own process, and under `rails server`, they are loaded.
    def self.const_missing_in_file(name)
      require_puma if name == :Puma
      require_plugins
      require_rails unless Object.const_defined?(name)
      Object.const_get(name)
    end

    # Whether there is a Rails application that nothing had loaded yet. Under `rails server` it is loaded before the
    # file is read, so that the file may call methods of Active Support, such as `present?`.
    def self.require_rails
      rails = File.expand_path("config/application.rb")
      return false unless File.file?(rails) && require(rails)

      # An application that picks its railties has not all of Active Support at once: what is missing comes with the
      # first of them that needs it, and in Puma's process before the file is read.
      require_active_support
      true
    end

    def self.require_active_support
      require "active_support/all"
    rescue LoadError
      nil # It is no application of Rails, although it has such a file.
    end
    private_class_method :require_active_support

    # Loads the gem of Puma if it is in the application's bundle, before the application: where that finds Puma loaded,
    # it may size its pools by Puma.cli_config, which is always there in Puma's process.
    def self.advertise(said)
      require_puma(said) if Gem.loaded_specs.key?("puma")
    rescue LoadError
      nil # The application cannot load it either.
    end

    # Where `Puma` responds to cli_config, applications call methods of its value, as in Puma's process, which sets it.
    def self.require_puma(said = Directives.current)
      %w[puma puma/cli].each { |library| require library }
      ::Puma.cli_config ||= PumaConfig.new(PumaOptions.new(said)) if said
    end
    private_class_method :require_puma

    # Loads the plugins that the file has named so far. Those that are not installed are named with all other plugins.
    def self.require_plugins
      (Directives.current&.calls || []).each do |call|
        name = call.args.first.to_s
        next if call.name != "plugin" || Directives::PLUGINS.key?(name)

        %W[puma puma/plugin puma/plugin/#{name}].each { |library| require library }
      rescue LoadError
        next
      end
    end

    # Loads the plugin at once if Puma is loaded: the file may name its constants then.
    def plugin(name)
      @_said.record("plugin", [name], nil)
      PumaWords.require_plugins if defined?(::Puma::Plugin)
    end

    def get(key, default = nil)
      @options.file_options[key.to_sym] || default
    end

    def default_host
      get(:default_host, DefaultTCPHost)
    end

    def inject(&block)
      instance_eval(&block)
    end

    # Reads another file at once, as Puma reads one; its `load` is for files that are read later.
    def _load_from(path)
      instance_eval(File.read(path, encoding: "UTF-8"), path.to_s, 1) if path
    end
  end

  # Finds Unicorn for the libraries that its file requires, which ask for it as in its own process.
  module UnicornForLibraries
    OWN_FILE = %r{/(?:unicorn|pitchfork)/\w+\.rb\z}.freeze

    # A file of the gem itself finds the gem, others what the configuration finds under this name.
    def const_missing(name)
      return super unless UnicornWords.lends && %i[Unicorn Pitchfork].include?(name)

      path = caller_locations(1, 1).first&.path.to_s
      # As bytes: the name of a folder need not be valid in the encoding of the locale, and a match would raise then.
      return UnicornWords::Unicorn if path == Directives.current&.path || !OWN_FILE.match?(path.b)

      require name.to_s.downcase
      const_get(name)
    rescue LoadError
      super
    end
  end

  # Those of Unicorn and Pitchfork.
  module UnicornWords
    class << self
      # Whether libraries find Unicorn, too.
      attr_reader :lends

      # Evaluates the file, and meanwhile lends Unicorn to libraries.
      def lend
        Object.singleton_class.prepend(UnicornForLibraries)
        @lends = true
        yield
      ensure
        @lends = false
      end
    end

    def self.const_missing_in_file(name)
      Object.const_get(name)
    end

    # Sets what the file at `path` finds as the start of its server: as if by `unicorn -c PATH` in this folder, whose
    # path goes by a symlink such as `current` if that of PWD does. `flags` are those beside it: `:daemonize`
    # is whether there was a `-D`, `:host` and `:port` are the values of `-o` and `-p`.
    def self.start(path, flags)
      name = ENV.fetch("PWD", "")
      folder = File.identical?(name, ".") ? name : Dir.pwd
      Unicorn::HttpServer::START_CTX.replace(argv: ["-c", path], 0 => $PROGRAM_NAME.dup, cwd: folder)
      Unicorn::Configurator::RACKUP.update(flags)
      Unicorn::Configurator::RACKUP[:set_listener] = true if flags.key?(:host) || flags.key?(:port)
    end

    # Returns methods of Unicorn's server that code has replaced, each with file and line: in the class here, or by the
    # file at `path` in that of the gem.
    def self.replaced(path)
      gem = ::Unicorn::HttpServer if defined?(::Unicorn::HttpServer)
      places = Unicorn::HttpServer::METHODS.to_h do |name|
        own, its = [Unicorn::HttpServer, gem].map { |server| place(server, name) }
        [name, own&.first == __FILE__ ? (its if its&.first == path) : own]
      end
      places.compact
    end

    def self.place(server, name)
      server&.instance_method(name)&.source_location
    rescue NameError
      nil # It is undefined by now.
    end
    private_class_method :place

    # In a hook `::Unicorn` is looked up from the top. For code of the file at `path`, and no other, it is what the file
    # finds under that name.
    def self.known_to(path)
      words = Module.new do
        define_method(:const_missing) do |name|
          is_ours = %i[Unicorn Pitchfork].include?(name) && caller_locations(1, 1).first&.path == path
          is_ours ? UnicornWords::Unicorn : super(name)
        end
      end
      Object.singleton_class.prepend(words)
    end

    # Runs the block of Rainbows!, whose files are Unicorn's but for the directives in it.
    def Rainbows!(&block)
      raise ArgumentError, "Rainbows! needs a block with its directives: Rainbows! do ... end" unless block

      @_said.record("Rainbows!", [], nil)
      instance_eval(&block)
    end

    # The directives so far with their defaults, as a Hash through which more can be given.
    def set
      Configured.new(@_said)
    end

    # Changes the directory at once, as Unicorn does: paths that follow may be relative to it, and code finds it in PWD.
    # A path is recorded as it is, since it may go by a symlink such as `current`, but for `~`, the user's home.
    def working_directory(path)
      folder = File.expand_path(path)
      @_said.record("working_directory", [path.to_s.start_with?("~") ? folder : path], nil)
      Dir.chdir(folder)
      ENV["PWD"] = folder
    rescue SystemCallError
      nil # The error is reported with all others.
    end

    # The directives of a file with their values or defaults.
    class Configured < Hash
      TIMEOUTS = { "unicorn" => 60, "pitchfork" => 20 }.freeze

      def initialize(said)
        super()
        @said = said
        kind = File.basename($PROGRAM_NAME)
        update(timeout: TIMEOUTS.fetch(kind, 60), worker_processes: 1, preload_app: kind == "pitchfork", pid: nil,
               logger: Configurator::DEFAULTS[:logger])
        update(said.values)
        # The number of workers in the settings, which counts more than the file's: hooks recognize the last worker by
        # it, to end the old master then.
        workers = FoolsGold.workers if FoolsGold.respond_to?(:workers)
        store(:worker_processes, workers) if workers
        listeners = said.calls.select { |call| call.name == "listen" }.map { |call| call.args.first }
        store(:listeners, listeners.map { |address| self.class.expand(address) })
      end

      # A value that is set here counts as a directive.
      def []=(name, value)
        @said.record(name.to_s, [value], nil)
        super
      end

      # Expands an address as Unicorn does.
      def self.expand(address)
        text = address.to_s
        case text
        when /\A\d+\z/ then "0.0.0.0:#{text}"
        when /\A\*:(\d+)\z/ then "0.0.0.0:#{$1}"
        when %r{\Aunix:(?://)?(.*)\z}m, /\A([~\/.].*)\z/m then File.expand_path($1)
        when /:\d+\z/, /\A\[/, /\A(?:\d+\.){3}\d+\z/ then text.delete_prefix("tcp://")
        else File.expand_path(text)
        end
      end
    end

    # Constants that files change. They are visible in the file only: an application would take this for Unicorn.
    module Unicorn
      # What is not here is that of the gem, where it is installed.
      def self.const_missing(name)
        gem = File.basename($PROGRAM_NAME) == "pitchfork" ? "pitchfork" : "unicorn"
        require gem
        Object.const_get(gem.capitalize).const_get(name)
      rescue LoadError
        super
      end

      # A change is recorded like a directive.
      class Defaults < Hash
        def initialize(name)
          super()
          @name = name
        end

        def []=(key, value)
          Directives.current&.record(@name, [key, value], nil)
          super
        end
      end

      class HttpServer
        # How the server was started; a file may change it for an upgrade. `start` sets it.
        START_CTX = {}
        # Methods that code replaces, and calls by their former names. Nothing calls them here.
        METHODS = %i[start join stop master_sleep awaken_master reap_all_workers reexec worker_spawn
                     murder_lazy_workers after_fork_internal spawn_missing_workers maintain_worker_count handle_error
                     process_client http_response_write init_worker_process reopen_worker_logs worker_loop kill_worker
                     kill_each_worker soft_kill_each_worker load_config! build_app! proc_name redirect_io].freeze
        METHODS.each { |name| define_method(name) { |*| nil } }
      end

      class HttpRequest
        DEFAULTS = Defaults.new("HttpRequest::DEFAULTS")
      end
      HttpParser = HttpRequest # Its name from Unicorn 4 on, and in Pitchfork.

      class Configurator
        # What the command line said, for files that ask; `start` sets it.
        RACKUP = { daemonize: false, host: "0.0.0.0", port: 8080, set_listener: false, options: { listeners: [] } }
        DEFAULTS = Hash.new do |defaults, key|
          defaults[key] = key == :logger ? logger : { timeout: 60, worker_processes: 1 }[key]
        end

        # Ruby's Logger. From Ruby 4.0 on it is a gem: where the bundle does not have it, the server's log.
        def self.logger
          defined?(::Logger) ? ::Logger.new($stderr) : (Log if defined?(Log))
        end
      end

      module Const
        DEFAULT_HOST = "0.0.0.0"
        DEFAULT_PORT = 8080
        DEFAULT_LISTEN = "0.0.0.0:8080"
        UNICORN_VERSION = "6.1.0"
      end
    end
    Pitchfork = Unicorn
    HttpServer = Unicorn::HttpServer
    HttpRequest = Unicorn::HttpRequest
    HttpParser = Unicorn::HttpParser
    Configurator = Unicorn::Configurator
    Const = Unicorn::Const
    # In Unicorn a file is evaluated in a Configurator.
    RACKUP = Configurator::RACKUP
    DEFAULTS = Configurator::DEFAULTS
  end
end
