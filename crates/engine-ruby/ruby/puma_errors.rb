# frozen_string_literal: true

# Reports exceptions of requests to libraries that expect them from Puma's server.

module FoolsGold
  # Calls Puma::Server#lowlevel_error. Monitoring agents (Sentry's, AppSignal's) prepend a module with this method to
  # Puma's class, to report exceptions that no middleware has caught. No server of Puma runs here, so the method is
  # called on an object that never serves.
  module PumaErrors
    # Options with which Puma's own method, which the agent's calls, returns an answer. It is dropped.
    OPTIONS = { lowlevel_error_handler: ->(*) { [500, {}, []] } }.freeze

    class << self
      # Reports the exception that has ended the request with this environment.
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

      # Whether Puma's server is loaded, and a module with the method is prepended to it.
      def asked?
        return false if !defined?(::Puma::Server) || ::Puma.autoload?(:Server)

        ::Puma::Server.instance_method(:lowlevel_error).owner != ::Puma::Server
      rescue NameError
        false # It is another class of this name.
      end
    end
  end
end
