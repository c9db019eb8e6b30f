# Timeout. A block cannot be interrupted from here: it runs to its end, or until --request-time, and one that took
# longer than it may raises then.

module Timeout
  class ExitException < Exception; end

  class Error < RuntimeError
    def self.handle_timeout(message)
      raise self, message
    end
  end

  def self.timeout(seconds, error = nil, message = nil)
    return yield(seconds) if seconds.nil? || seconds == 0
    ends = FoolsGold::Native.monotonic + seconds
    result = yield(seconds)
    raise(error || Error, message || "execution expired") if FoolsGold::Native.monotonic > ends
    result
  end

  private

  def timeout(*args, &block) = Timeout.timeout(*args, &block)
end
