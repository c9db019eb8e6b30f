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
      timer = FoolsGold::Native.timer_start(seconds)
      begin
        result = yield(seconds)
        timer = over(timer)
        result
      rescue ExitException => ended
        # The limit of a block around this one may have expired instead.
        raise ended unless timer.nil? || FoolsGold::Native.timer_stop(timer)
        timer = nil
        raise error || Error, message || "execution expired"
      end
    ensure
      FoolsGold::Native.timer_stop(timer) if timer
    end

    private

    def over(timer)
      FoolsGold::Native.timer_stop(timer)
      nil
    end
  end

  private

  def timeout(*args, &block) = Timeout.timeout(*args, &block)
end
