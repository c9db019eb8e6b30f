# What Redis refuses, and what goes wrong on the way to it.

class Redis
  class BaseError < StandardError; end
  class ProtocolError < BaseError; end

  # What Redis refused.
  class CommandError < BaseError; end
  class PermissionError < CommandError; end
  class WrongTypeError < CommandError; end
  class OutOfMemoryError < CommandError; end
  class NoScriptError < CommandError; end
  class ReadOnlyError < CommandError; end

  # There is no connection, or no longer.
  class BaseConnectionError < BaseError; end
  class CannotConnectError < BaseConnectionError; end
  class ConnectionError < BaseConnectionError; end
  class TimeoutError < BaseConnectionError; end

  ERRORS = { "NOPERM" => PermissionError, "WRONGTYPE" => WrongTypeError, "OOM" => OutOfMemoryError,
             "NOSCRIPT" => NoScriptError, "READONLY" => ReadOnlyError }.freeze

  # An answer, or the exception that it is.
  def self.checked(reply)
    return reply unless reply.is_a?(Symbol)
    text = reply.to_s
    raise (ERRORS[text.split(" ").first] || CommandError).new(text)
  end
end
