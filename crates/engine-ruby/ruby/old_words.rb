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

    def set
      @_said.values
    end

    # Unicorn goes there at once: paths that follow may begin there.
    def working_directory(path)
      @_said.record("working_directory", [path], nil)
      Dir.chdir(path)
    rescue SystemCallError
      nil # What is wrong with it is told with everything else.
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
        START_CTX = {} # rubocop:disable Style/MutableConstant
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
