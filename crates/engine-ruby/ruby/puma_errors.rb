# frozen_string_literal: true

# Exceptions of Puma's server, for libraries and applications that expect them where they find Puma loaded.

module FoolsGold
  # Calls Puma::Server#lowlevel_error. Monitoring agents (Sentry's, AppSignal's) prepend a module with this method to
  # Puma's class, to report exceptions that no middleware has caught. No server of Puma runs here, so the method is
  # called on an object that never serves.
  module PumaErrors
    # Options with which Puma's own method, which the agent's calls, returns an answer. It is dropped.
    OPTIONS = { lowlevel_error_handler: ->(*) { [500, {}, []] } }.freeze

    # Makes `rescue Puma::ConnectionError` also rescue the exception by which a body learns that its client has gone. In
    # Puma that is of this class.
    module ClientGone
      def ===(error)
        super || (Errno::EPIPE === error && error.message.end_with?("the client has gone"))
      end
    end

    class << self
      # Extends Puma::ConnectionError, if Puma is loaded. The gem defines this class only with its server, which an
      # application under Puma always finds. Without that it is defined here, and the gem reopens it if the server is
      # loaded later.
      def offer
        is_missing = PumaStats.asked? && !defined?(::Puma::ConnectionError)
        ::Puma.const_set(:ConnectionError, Class.new(RuntimeError)) if is_missing
        ::Puma::ConnectionError.singleton_class.prepend(ClientGone) if defined?(::Puma::ConnectionError)
      end

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
