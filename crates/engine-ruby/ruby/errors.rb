# frozen_string_literal: true

# What can go wrong in this process, by name.

module FoolsGold
  # The two sides do not speak the same language: a mistake in FoolsGold.
  class ProtocolError < StandardError; end

  # The application cannot be loaded; the message says what to do.
  class LoadFailed < StandardError; end

  # The answer of the application is not valid Rack; the message says what would be.
  class BadAnswer < StandardError; end

  # The application has ended its thread (Thread.exit) before there was an answer.
  class ThreadEnded < StandardError; end

  # A hook has raised, or called `exit`, and its worker cannot start. Not a StandardError: no hook is to rescue it.
  class HookFailed < Exception
    attr_reader :hook, :place, :error

    # Runs the block, which calls the hook `hook`, given as `block`. In a child that the hook has forked, its exceptions
    # stay what they are.
    def self.guard(hook, block)
      own = Process.pid
      yield
    rescue HookFailed
      raise
    rescue Exception => error
      raise unless Process.pid == own

      raise new(hook, block, error)
    end

    # File and line of a block, or nothing.
    def self.place(block)
      block.respond_to?(:source_location) ? Array(block.source_location).join(":") : ""
    end

    def initialize(hook, block, error)
      @hook = hook.to_s
      @place = self.class.place(block)
      @error = error
      super("the hook #{hook} failed: #{error.message}")
    end
  end

  # The request was withdrawn before it began.
  class Cancelled < StandardError; end

  # Raised in the thread of a request whose time is over. Not a StandardError, so that no `rescue => error` of an
  # application takes it for a trouble of its own and goes on.
  class RequestTimeout < Exception; end
end
