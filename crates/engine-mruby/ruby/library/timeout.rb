# Timeout: a block that takes too long is ended between two instructions of Ruby, or while it waits (sleep, SQLite,
# HTTP, Redis). A long function in C, such as sorting millions of numbers, is not interrupted.

module Timeout
  # Raised by c/guard.c to end the block. No StandardError, so that a plain rescue in the block does not swallow it.
  class ExitException < Exception; end

  class Error < RuntimeError
    def self.handle_timeout(message)
      raise self, message
    end
  end

  class << self
    def timeout(seconds, error = nil, message = nil)
      return yield(seconds) if seconds.nil? || seconds == 0
      timer = nil
      begin
        begin
          timer = FoolsGold::Native.timer_start(seconds)
          yield(seconds)
        ensure
          FoolsGold::Native.timer_stop(timer) if timer
        end
      rescue ExitException => ended
        # Here and not within: the limit may have expired in the ensure. Or that of a block around it has.
        raise ended unless timer && FoolsGold::Native.timer_stop(timer)
        raise error || Error, message || "execution expired"
      end
    end
  end

  private

  def timeout(*args, &block) = Timeout.timeout(*args, &block)
end
