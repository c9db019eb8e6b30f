# frozen_string_literal: true

# Hooks of another server's configuration: the file is evaluated in full, and its hooks are registered with the
# arguments that they expect.

%w[directives puma_options compat_words compat_server].each { |name| require_relative name }

module FoolsGold
  # Maps the hooks of other servers to those of this one.
  class CompatHooks
    # Hooks of Puma, which get the number of the worker and a Hash that the hooks of one worker share.
    PUMA = {
      before_worker_fork: %i[before_worker_fork on_worker_fork],
      after_worker_fork: %i[after_worker_fork after_worker_boot],
      after_fork: %i[before_worker_boot on_worker_boot], # Before the application is loaded, where the worker does that.
      on_worker_shutdown: %i[before_worker_shutdown on_worker_shutdown],
      before_thread_start: %i[before_thread_start on_thread_start],
      before_thread_exit: %i[before_thread_exit on_thread_exit],
      out_of_band: %i[out_of_band], mold_begin: %i[after_booted on_booted], mold_end: %i[after_stopped on_stopped]
    }.freeze

    # Hooks of Unicorn and Pitchfork, which get the server and the worker.
    UNICORN = {
      before_worker_fork: %i[before_fork], after_fork: %i[after_fork after_worker_fork],
      on_worker_boot: %i[after_worker_ready], on_worker_shutdown: %i[before_worker_exit],
      mold_begin: %i[after_monitor_ready]
    }.freeze

    # Hooks of Unicorn and Pitchfork in which an exception ends the worker, or the restart.
    FATAL = [*UNICORN.values_at(*Hooks::AT_BOOT).flatten, :before_exec].freeze

    # Hooks of Puma's cluster mode, which do not run in its single mode.
    OF_WORKERS = %i[before_fork before_worker_fork on_worker_fork after_worker_fork after_worker_boot before_worker_boot
                    on_worker_boot before_worker_shutdown on_worker_shutdown after_worker_shutdown].freeze
    # In Puma's single mode, these hooks run in the process of the application. In a Ruby that cannot fork, so do those
    # of a cluster: there is no other process than the workers.
    OF_SINGLE = { mold_begin: :server_begin, mold_end: :server_end }.freeze
    # The kind of a Puma configuration for its single mode.
    SINGLE = "puma, single"

    def initialize(hooks, kind)
      @hooks = hooks
      @is_single = kind == SINGLE
      @kind = @is_single ? "puma" : kind
      @is_puma = @kind == "puma"
      @data = Hash.new { |data, key| data[key] = {} }
      @front = Process.ppid
    end

    def load(path, setup)
      # A process that became the mold after it had evaluated this file has run its code already.
      file = FoolsGold.evaluated[path] if FoolsGold.respond_to?(:evaluated)
      # The mode may come from elsewhere, such as the command line.
      mode = @is_single ? "single" : "cluster"
      file ||= again(path, setup)._evaluate(mode)
      @said = file._said
      hand_on(file) if @is_single
      register_lists if @is_puma && !@is_single
      UnicornWords.known_to(@said.path) unless @is_puma
      @replaced = UnicornWords.replaced(@said.path).keys
      wanted.each { |name, key, block| register(name, key, block) }
      PumaWords.advertise(@said) if @is_puma
    end

    private

    # The file for a mold that has not evaluated it, with the same settings as in the process that read it first
    # (reader.rb).
    def again(path, setup)
      texts = setup.values_at("hooks_names", "hooks_workers", "hooks_daemonizes", "hooks_host", "hooks_port")
      CompatFile.from_texts(path, @kind, *texts)
    end

    # In Puma's single mode the process that reads the file is that which serves. Files keep its id in a constant, and
    # compare it in an at_exit block, as GoodJob's documentation advises: so it becomes that of the worker there. A mold
    # that has not loaded the application has nothing to do for it at its end.
    def hand_on(file)
      own = Process.pid
      @hooks.add(:after_fork) { file._replace(own, Process.pid) }
      @hooks.add(:mold_end) { file._replace(own, nil) unless FoolsGold.application }
    end

    # The hooks to register: Puma runs all blocks of a hook, Unicorn the last one.
    def wanted
      return @said.hooks.reverse.uniq(&:first).reverse unless @is_puma

      @said.hooks.reject { |name,| @is_single && OF_WORKERS.include?(name) }
    end

    # The index of a worker: the lowest that no other one had, which is how these servers count.
    def place(number)
      FoolsGold.indexes[number]
    end

    def register(name, key, block)
      return register_once(name, block) if ONCE.include?([@is_puma, name])
      return register_exec(name, block) if EXEC.include?(name)
      return register_error_handler(block) if name == :lowlevel_error_handler
      return register_after_request(name, block) if name == :after_request_complete
      return register_exit(name, block) if name == (@is_puma ? :after_worker_shutdown : :after_worker_exit)

      event, = (@is_puma ? PUMA : UNICORN).find { |_, names| names.include?(name) }
      return unless event

      is_moved = (@is_single || !Process.respond_to?(:fork)) && OF_SINGLE.key?(event)
      event = OF_SINGLE[event] if is_moved
      @hooks.add(event) do |number = nil, *|
        number = FoolsGold.worker.number if is_moved
        next if is_moved && !@is_single && place(number) != 0 # They run once in a cluster.

        arguments = @is_puma ? puma((number unless is_moved), key) : unicorn(number)
        arguments.pop if gets_server_alone?(name)
        arguments = [CompatThreadPool.new] if event == :before_thread_start && @is_puma && takes_any?(block)
        next call(name, block, arguments) unless Hooks::AT_BOOT.include?(event)

        HookFailed.guard(name, block) { call(name, block, arguments) }
      end
    end

    # Registers what will be in the lists of Puma.cli_config.options by the time of each hook, before the file's own, as
    # in Puma. From Puma 6 on an element may be a Hash.
    def register_lists
      PumaOptions::LISTS.each do |name|
        all = lambda do |*arguments|
          @said.added[name]&.each { |one| call(name, one.is_a?(Hash) ? one[:block] : one, arguments) }
        end
        register(name, nil, all)
      end
    end

    # Whether Pitchfork gives a hook no worker.
    def gets_server_alone?(name)
      name == :after_monitor_ready || (name == :before_fork && @kind == "pitchfork")
    end

    # Registers Pitchfork's hook after each request. If it exits, the front replaces this worker, as Pitchfork would.
    def register_after_request(name, block)
      @hooks.add(name) do |env|
        own = Process.pid
        begin
          block.call(*unicorn(FoolsGold.worker.number), env)
        rescue SystemExit
          raise unless Process.pid == own # In a child that the hook has forked.

          Signals.leave
        end
      end
    end

    # [whether of Puma, name]
    ONCE = [[true, :before_fork], [false, :after_mold_fork]].freeze

    # Puma calls its hook with nil, since it is of no worker.
    def register_once(name, block)
      @hooks.add(:before_fork) do
        call(name, block, @is_puma ? accepted(block, [nil]) : [server, CompatWorker.new(0, Process.pid)]) if block
        block = nil
      end
    end

    # Whether a hook accepts an argument: a lambda or a method without parameters does not.
    def takes_any?(block)
      !block.respond_to?(:arity) || block.arity != 0
    end

    # The arguments of a hook, or none if it accepts none.
    def accepted(block, arguments)
      takes_any?(block) ? arguments : []
    end

    # Registers the error handler. Its arguments depend on how many it takes: Proc#call would accept any number.
    def register_error_handler(handler)
      @hooks.add(:error_response, &(handler.respond_to?(:to_proc) ? handler : handler.method(:call)))
    end

    # Hooks that run before the server executes itself anew.
    EXEC = %i[before_exec before_restart on_restart].freeze

    # Puma gives its launcher to those of the file, and nothing to those of its events.
    def register_exec(name, block)
      launcher = CompatLauncher.new(PumaConfig.new(PumaOptions.new(@said)))
      @hooks.add(:before_exec) { call(name, block, @is_puma ? accepted(block, [launcher]) : [server]) }
    end

    def register_exit(name, block)
      @hooks.add(:after_worker_exit) do |number, pid, status, since, booted|
        place = place(number)
        arguments = [server, CompatWorker.new(place, pid), status]
        call(name, block, @is_puma ? [CompatHandle.new(place, pid, status, since, booted)] : arguments)
      end
    end

    def puma(number, key)
      return [] unless number

      key ? [place(number), @data[key.to_sym]] : [place(number)]
    end

    def unicorn(number)
      [server, worker(place(number))]
    end

    # The same object for all hooks of a worker, which may keep something in it.
    def worker(index)
      @worker = CompatWorker.new(index, Process.pid) unless @worker && @worker.to_a == [index, Process.pid]
      @worker
    end

    def server
      @server ||= CompatServer.new(UnicornWords::Configured.new(@said), listener_opts)
      @server.pid = pid
      @server
    end

    def listener_opts
      calls = @said.calls.select { |call| call.name == "listen" }
      calls.to_h { |call| [UnicornWords::Configured.expand(call.args.first), call.args[1] || {}] }
    end

    # The pid file: if a successor is being started, the file beside it, as in Unicorn, so that a hook does not end its
    # own server.
    def pid
      path = @said.values[:pid]
      aside = "#{path}.oldbin"
      path && File.file?(aside) && File.binread(aside).to_i == @front ? aside : path
    end

    # Calls a hook. It may trap signals to end its own server; here the front decides, so its trap for TERM is undone.
    # A hook that fails is logged in Puma, and ends the worker in Unicorn.
    def call(name, block, arguments)
      own = Process.pid
      block.call(*arguments)
    rescue SystemExit => error
      if Process.pid == own
        Log.error("the hook #{name} (#{HookFailed.place(block)}) ends this process: exit #{error.status}")
      end
      raise
    rescue StandardError => error
      raise if Process.pid != own || (FATAL.include?(name) && !@is_puma)

      Log.exception(error, "the hook #{name} failed#{'; as in Puma, the process goes on' if @is_puma}")
    ensure
      Signals.renew("TERM")
      tell_replaced unless @is_puma
    end

    # Logs which methods of Unicorn's server a hook has replaced. Those that the file has are among its directives.
    def tell_replaced
      replaced = UnicornWords.replaced(@said.path).reject { |method, _| @replaced.include?(method) }
      @replaced += replaced.keys
      replaced.each do |method, place|
        Log.warn("#{place.join(':')}: Unicorn::HttpServer##{method} is never called here: what is to run at " \
                 "intervals belongs in a thread that before_fork starts, in each worker in after_fork, after each " \
                 "request in a middleware")
      end
    end
  end
end
