# frozen_string_literal: true

# The user's hooks around forks and requests: from the hooks file, or from application code with `FoolsGold.after_fork {
# |worker| ... }` and so on.

module FoolsGold
  # The registered hooks. If one raises, that is logged, and the next one runs.
  class Hooks
    NAMES = %i[before_fork after_worker_fork after_fork on_worker_boot on_worker_shutdown on_request_timeout
               out_of_band].freeze

    # Hooks in which an exception, or `exit`, keeps the worker from starting.
    AT_BOOT = %i[after_fork on_worker_boot].freeze

    def initialize
      @blocks = Hash.new([].freeze)
    end

    def add(name, &block)
      raise ArgumentError, "#{name} needs a block: #{name} { ... }" unless block

      @blocks[name] += [block]
    end

    def any?(name)
      @blocks.key?(name)
    end

    def count(name)
      @blocks[name].size
    end

    # Runs the hooks of a name in the order of registration, without the first `but`. A child that a hook has forked
    # without a block ends with it: it would go on as a second mold or worker, on the connections of the first.
    def run(name, *arguments, but: 0)
      own = Process.pid
      @blocks[name].drop(but).each do |block|
        call(name, block, arguments)
        exit unless Process.pid == own
      rescue SystemExit, SignalException, HookFailed # They end more than the hook.
        raise
      rescue Exception => error # Also one that is no StandardError, such as a SystemStackError.
        raise if name == :before_exec # There will be no new program.
        raise unless Process.pid == own

        Log.exception(error, "the hook #{name} failed")
      end
    end

    # The last block of a name, if there is any.
    def last(name)
      @blocks[name].last
    end

    # Reads a hooks file, or another server's configuration; `setup` has the settings for that.
    def load(path, kind, setup)
      return CompatHooks.new(self, kind).load(path, setup) unless kind.empty?

      HooksFile.new(self)._evaluate(path)
    end

    private

    def call(name, block, arguments)
      return block.call(*arguments) unless AT_BOOT.include?(name)

      HookFailed.guard(name, block) { block.call(*arguments) }
    end
  end

  # The `self` of a hooks file. Defined without a module around it, so that constants are looked up from the top: an
  # application may have a Channel or a Worker of its own.
  class HooksFile; end

  @hooks = Hooks.new
  @indexes = {}

  class << self
    # The hooks, and the index of each worker, by its number.
    attr_reader :hooks, :indexes

    Hooks::NAMES.each do |name|
      define_method(name) { |&block| @hooks.add(name, &block) }
    end
  end
end

class FoolsGold::HooksFile
  def initialize(hooks)
    @hooks = hooks
  end

  FoolsGold::Hooks::NAMES.each do |name|
    define_method(name) { |&block| @hooks.add(name, &block) }
  end

  # Evaluates the file. It is read as Ruby reads its files, and not as the locale says, which a service often has not
  # set.
  def _evaluate(path)
    instance_eval(File.read(path, encoding: "UTF-8"), path, 1)
  end

  private

  def method_missing(name, *)
    known = FoolsGold::Hooks::NAMES.join(", ")
    error = NoMethodError.new("#{name} is not known in a hooks file; known are #{known}", name)
    error.set_backtrace(caller)
    raise error
  end
end
