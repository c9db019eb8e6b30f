# frozen_string_literal: true

# Exceptions of the server's Ruby code.

module FoolsGold
  # The two sides disagree about the protocol: a bug in FoolsGold.
  class ProtocolError < StandardError; end

  # The application cannot be loaded; the message says how to remedy that.
  class LoadFailed < StandardError; end

  # This Ruby lacks the gem rack. The front knows the class by its name.
  class NoRack < LoadFailed; end

  # The application's answer is not valid Rack; the message says what would be.
  class BadAnswer < StandardError; end

  # The application has ended its thread (Thread.exit) before there was an answer.
  class ThreadEnded < StandardError; end

  # A hook has raised, or called `exit`, and its worker cannot start. Not a StandardError, so that no hook rescues it.
  class HookFailed < Exception
    attr_reader :hook, :place, :error

    # Runs the given block, which calls `block` of the hook `hook`, and turns its exceptions into HookFailed. In a child
    # that the hook has forked, exceptions stay as they are.
    def self.guard(hook, block)
      own = Process.pid
      yield
    rescue HookFailed
      raise
    rescue Exception => error
      raise unless Process.pid == own

      raise new(hook, block, error)
    end

    # File and line of a block, or an empty string.
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

  # Raised in the thread of a request that has timed out. Not a StandardError, so that no `rescue => error` of an
  # application takes it for an error of its own and goes on.
  class RequestTimeout < Exception; end
end
