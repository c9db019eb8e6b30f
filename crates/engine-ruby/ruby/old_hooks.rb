# frozen_string_literal: true

# The hooks of another server's configuration: the file is evaluated with all that is in it, and its hooks are
# registered as ours, with the arguments that they expect.

%w[directives puma_options old_words old_server].each { |name| require_relative name }

module FoolsGold
  # Knows when each hook runs here.
  class OldHooks
    # Of Puma: the number of the worker, and what hooks of one worker share.
    PUMA = {
      before_worker_fork: %i[before_worker_fork on_worker_fork], after_worker_fork: %i[after_worker_fork],
      after_fork: %i[before_worker_boot on_worker_boot], # Before the application is loaded, where the worker does that.
      on_worker_shutdown: %i[before_worker_shutdown on_worker_shutdown],
      before_thread_start: %i[before_thread_start on_thread_start],
      before_thread_exit: %i[before_thread_exit on_thread_exit],
      out_of_band: %i[out_of_band], after_first_fork: %i[after_booted on_booted], mold_end: %i[after_stopped on_stopped]
    }.freeze

    # Of Unicorn and Pitchfork: the server and the worker.
    UNICORN = {
      before_worker_fork: %i[before_fork], after_fork: %i[after_fork after_worker_fork],
      on_worker_boot: %i[after_worker_ready], on_worker_shutdown: %i[before_worker_exit]
    }.freeze

    # Of Puma where it has workers; in its single mode they do not run.
    OF_WORKERS = %i[before_fork before_worker_fork on_worker_fork after_worker_fork before_worker_boot on_worker_boot
                    before_worker_shutdown on_worker_shutdown after_worker_shutdown].freeze
    # The kind of a file of Puma with which that would run in its single mode.
    SINGLE = "puma, single"

    def self.load(hooks, path, kind)
      new(hooks, kind).load(path)
    end

    def initialize(hooks, kind)
      @hooks = hooks
      @is_single = kind == SINGLE
      @kind = @is_single ? "puma" : kind
      @is_puma = @kind == "puma"
      @places = {} # A worker's number to the lowest that no other one has: that is how these servers count.
      @data = Hash.new { |data, key| data[key] = {} }
      @front = Process.ppid
    end

    def load(path)
      %w[etc socket tmpdir logger].each { |name| require name }
      # In a process that went on after it had read the file for the server, its code has run.
      file = FoolsGold.evaluated[path] if FoolsGold.respond_to?(:evaluated)
      @said = (file || OldFile.new(path, @kind)._evaluate)._said
      # First, so that each hook finds the worker's place.
      @hooks.add(:before_worker_fork) { |number| place(number) }
      wanted.each { |name, key, block| register(name, key, block) }
      @hooks.add(:after_worker_exit) { |number, *| @places.delete(number) }
    end

    private

    # Puma runs all blocks of a hook, Unicorn the last one.
    def wanted
      return @said.hooks.reverse.uniq(&:first).reverse unless @is_puma

      @said.hooks.reject { |name,| @is_single && OF_WORKERS.include?(name) }
    end

    def place(number)
      @places[number] ||= (0..).find { |place| !@places.value?(place) }
    end

    def register(name, key, block)
      return register_once(name, block) if ONCE.include?([@is_puma, name])
      return register_exec(name, block) if EXEC.include?(name)
      return register_error_handler(block) if name == :lowlevel_error_handler
      return register_exit(name, block) if name == (@is_puma ? :after_worker_shutdown : :after_worker_exit)

      event, = (@is_puma ? PUMA : UNICORN).find { |_, names| names.include?(name) }
      return unless event

      @hooks.add(event) { |number = nil, *| call(name, block, @is_puma ? puma(number, key) : unicorn(number)) }
    end

    # [whether of Puma, name]
    ONCE = [[true, :before_fork], [false, :after_mold_fork]].freeze

    def register_once(name, block)
      @hooks.add(:before_fork) do
        call(name, block, @is_puma ? [] : [server, OldWorker.new(0, Process.pid)]) if block
        block = nil
      end
    end

    # What it is called with depends on how many arguments it takes: Proc#call would take any.
    def register_error_handler(handler)
      @hooks.add(:error_response, &(handler.respond_to?(:to_proc) ? handler : handler.method(:call)))
    end

    # Before the program is started anew.
    EXEC = %i[before_exec before_restart on_restart].freeze

    def register_exec(name, block)
      @hooks.add(:before_exec) { call(name, block, @is_puma ? [] : [server]) }
    end

    def register_exit(name, block)
      @hooks.add(:after_worker_exit) do |number, pid, status|
        place = place(number)
        arguments = [server, OldWorker.new(place, pid), status]
        call(name, block, @is_puma ? [OldHandle.new(place, pid, status)] : arguments)
      end
    end

    def puma(number, key)
      return [] unless number

      key ? [place(number), @data[key]] : [place(number)]
    end

    def unicorn(number)
      [server, OldWorker.new(place(number), Process.pid)]
    end

    def server
      config = @said.values
      @server ||= OldServer.new(config, config[:pid], logger, config[:worker_processes],
                                config[:timeout])
      @server.pid = pid
      @server
    end

    def logger
      @said.values[:logger] || UnicornWords::Configurator::DEFAULTS[:logger]
    end

    # Of a process whose successor is on its way, the file beside it, as in Unicorn: so a hook does not end its own.
    def pid
      path = @said.values[:pid]
      aside = "#{path}.oldbin"
      path && File.file?(aside) && File.read(aside).to_i == @front ? aside : path
    end

    # A hook may set traps for signals with which its own server would be ended; here the front decides. In Puma a hook
    # that fails costs a line in the log, in Unicorn the worker.
    def call(name, block, arguments)
      block.call(*arguments)
    rescue StandardError => error
      raise unless @is_puma

      Log.exception(error, "the hook #{name} failed; as in Puma, that is all")
    ensure
      Signals.quieten(["TERM"])
    end
  end
end
