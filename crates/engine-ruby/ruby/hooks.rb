# frozen_string_literal: true

# What the user wants to happen around forks and requests: from the hooks file, or from application code with
# `FoolsGold.after_fork { |worker| ... }` and so on.

module FoolsGold
  # The registered blocks. One that raises is logged, and the next one runs.
  class Hooks
    NAMES = %i[before_fork after_fork on_worker_boot on_worker_shutdown on_request_timeout
               out_of_band].freeze

    # In these an error means that the worker is not fit to serve, or that there will be no new program.
    FATAL = %i[after_fork on_worker_boot before_exec].freeze

    def initialize
      @blocks = Hash.new { |blocks, name| blocks[name] = [] }
    end

    def add(name, &block)
      raise ArgumentError, "#{name} needs a block: #{name} { ... }" unless block

      @blocks[name] << block
    end

    def any?(name)
      @blocks.key?(name)
    end

    def count(name)
      @blocks.key?(name) ? @blocks[name].size : 0
    end

    # Runs the hooks of a name in the order in which they were given, but for the first ones.
    def run(name, *arguments, but: 0)
      return unless @blocks.key?(name)

      @blocks[name].drop(but).each do |block|
        block.call(*arguments)
      rescue StandardError, ScriptError => error
        raise if FATAL.include?(name)

        Log.exception(error, "the hook #{name} failed")
      end
    end

    # The last block of a name, if there is any.
    def last(name)
      @blocks[name].last if @blocks.key?(name)
    end

    # Reads a hooks file, or another server's configuration.
    def load(path, kind = "")
      return OldHooks.load(self, path, kind) unless kind.empty?

      HooksFile.new(self).instance_eval(File.read(path), path, 1)
    end
  end

  # What `self` is in a hooks file.
  class HooksFile
    def initialize(hooks)
      @hooks = hooks
    end

    Hooks::NAMES.each do |name|
      define_method(name) { |&block| @hooks.add(name, &block) }
    end

    private

    def method_missing(name, *)
      known = Hooks::NAMES.join(", ")
      error = NoMethodError.new("#{name} is not known in a hooks file; known are #{known}", name)
      error.set_backtrace(caller)
      raise error
    end

    def respond_to_missing?(*)
      false
    end
  end

  @hooks = Hooks.new

  class << self
    attr_reader :hooks

    Hooks::NAMES.each do |name|
      define_method(name) { |&block| @hooks.add(name, &block) }
    end
  end
end
