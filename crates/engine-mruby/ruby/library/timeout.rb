# Timeout: a block that takes longer than it may is ended between two steps of Ruby, or in what waits (sleep, SQLite,
# HTTP, Redis). What a single long piece of C takes, such as sorting millions of numbers, comes on top.

module Timeout
  # Ends the block. No StandardError: a plain rescue in the block must not swallow it.
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
        # Perhaps it was meant for a block around this one.
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
