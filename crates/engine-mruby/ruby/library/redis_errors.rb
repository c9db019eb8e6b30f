# What Redis refuses, and what goes wrong on the way to it.

class Redis
  class BaseError < StandardError; end
  class ProtocolError < BaseError; end

  # An error reply of Redis.
  class CommandError < BaseError; end
  class PermissionError < CommandError; end
  class WrongTypeError < CommandError; end
  class OutOfMemoryError < CommandError; end
  class NoScriptError < CommandError; end
  class ReadOnlyError < CommandError; end

  # The connection failed or was lost.
  class BaseConnectionError < BaseError; end
  class CannotConnectError < BaseConnectionError; end
  class ConnectionError < BaseConnectionError; end
  class TimeoutError < BaseConnectionError; end

  ERRORS = { "NOPERM" => PermissionError, "WRONGTYPE" => WrongTypeError, "OOM" => OutOfMemoryError,
             "NOSCRIPT" => NoScriptError, "READONLY" => ReadOnlyError }.freeze

  # Returns a reply, or raises the exception of an error reply.
  def self.checked(reply)
    return reply unless reply.is_a?(Symbol)
    text = reply.to_s
    raise (ERRORS[text.split(" ").first] || CommandError).new(text)
  end
end
