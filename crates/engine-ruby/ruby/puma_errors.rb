# frozen_string_literal: true

# Exceptions of requests, for libraries that look for them in Puma's server.

module FoolsGold
  # Monitoring agents (Sentry's, AppSignal's) put a module before Puma::Server#lowlevel_error, by which they report what
  # no middleware has caught. No server of Puma runs here, so theirs is called on one that never serves.
  module PumaErrors
    # Options with which Puma's own method, which theirs calls, gives an answer that nobody uses.
    OPTIONS = { lowlevel_error_handler: ->(*) { [500, {}, []] } }.freeze

    class << self
      # Tells such libraries the exception that has ended the request with this environment.
      def tell(error, env)
        return unless asked?

        server = ::Puma::Server.allocate
        server.instance_variable_set(:@options, OPTIONS)
        method = server.method(:lowlevel_error)
        method.call(*[error, env, 500].first(method.arity.negative? ? 3 : method.arity))
      rescue Exception => second # The request has failed already, whatever a library does.
        Log.exception(second, "a library could not report an exception by Puma::Server#lowlevel_error")
      end

      private

      # Whether Puma's server is loaded, and there is a module before its method.
      def asked?
        return false if !defined?(::Puma::Server) || ::Puma.autoload?(:Server)

        ::Puma::Server.instance_method(:lowlevel_error).owner != ::Puma::Server
      rescue NameError
        false # It is another class of this name.
      end
    end
  end
end
