# frozen_string_literal: true

# What the files of other servers may ask and name beside directives.

module FoolsGold
  # Puma's: constants, values of options, and `@config`, which stands for Puma's configuration.
  module PumaWords
    # Up to Puma 6 these were constants in a file.
    DefaultRackup = "config.ru"
    DefaultTCPHost = "0.0.0.0"
    DefaultTCPPort = 9292
    DefaultWorkerCheckInterval = 5
    DefaultWorkerTimeout = 60
    DefaultWorkerShutdownTimeout = 30

    # In Puma's own process Puma is there; here its gem is loaded for a file that names it.
    def self.const_missing_in_file(name)
      require "puma" if name == :Puma
      Object.const_get(name)
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
  end

  # Unicorn's, and Pitchfork's.
  module UnicornWords
    def self.const_missing_in_file(name)
      Object.const_get(name)
    end

    # What the file has said so far, with the defaults, and a way to say more.
    def set
      Configured.new(@_said)
    end

    # Unicorn goes there at once: paths that follow may begin there.
    def working_directory(path)
      @_said.record("working_directory", [path], nil)
      Dir.chdir(path)
    rescue SystemCallError
      nil # What is wrong with it is told with everything else.
    end

    # The directives of a file with what they were given, and what counts without them.
    class Configured < Hash
      TIMEOUTS = { "unicorn" => 60, "pitchfork" => 20 }.freeze

      def initialize(said)
        super()
        @said = said
        kind = File.basename($PROGRAM_NAME)
        update(timeout: TIMEOUTS.fetch(kind, 60), worker_processes: 1, preload_app: kind == "pitchfork", pid: nil,
               logger: Configurator::DEFAULTS[:logger])
        update(said.values)
        listeners = said.calls.select { |call| call.name == "listen" }.map { |call| call.args.first }
        store(:listeners, listeners.map { |address| self.class.expand(address) })
      end

      # What is changed here counts as a directive.
      def []=(name, value)
        @said.record(name.to_s, [value], nil)
        super
      end

      # An address as Unicorn names it.
      def self.expand(address)
        text = address.to_s
        case text
        when /\A\d+\z/ then "0.0.0.0:#{text}"
        when /\A\*:(\d+)\z/ then "0.0.0.0:#{$1}"
        when %r{\Aunix:(?://)?(.*)\z}m, /\A([~\/.].*)\z/m then File.expand_path($1)
        else text.delete_prefix("tcp://")
        end
      end
    end

    # Constants that files change. They are seen in the file only: by them, applications would take this for Unicorn.
    module Unicorn
      # A change is written down like a directive.
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
        START_CTX = {}
      end

      class HttpRequest
        DEFAULTS = Defaults.new("HttpRequest::DEFAULTS")
      end

      class Configurator
        DEFAULTS = Hash.new do |defaults, key|
          defaults[key] = key == :logger ? Logger.new($stderr) : { timeout: 60, worker_processes: 1 }[key]
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
    HttpParser = Unicorn::HttpRequest
    Configurator = Unicorn::Configurator
    Const = Unicorn::Const
  end
end
