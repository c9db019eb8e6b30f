# frozen_string_literal: true

# The hooks of another server's configuration: the file is evaluated with all that is in it, and its hooks are
# registered as ours, with the arguments that they expect.

require_relative "directives"
require_relative "puma_options"

module FoolsGold
  # What hooks of Unicorn are given.
  OldServer = Struct.new(:config, :pid, :logger, :worker_processes, :timeout)

  OldWorker = Struct.new(:nr, :pid) do
    # The recipe for workers that give up root.
    def user(user, group = nil)
      uid = Etc.getpwnam(user).uid
      gid = group ? Etc.getgrnam(group).gid : Etc.getpwnam(user).gid
      Process.initgroups(user, gid)
      Process::GID.change_privilege(gid)
      Process::UID.change_privilege(uid)
    end
    alias_method :generation, :nr
  end

  # What hooks of Puma are told of a worker that has ended.
  OldHandle = Struct.new(:index, :pid, :process_status)

  # Knows when each hook runs here.
  class OldHooks
    # Of Puma: the number of the worker, and what hooks of one worker share.
    PUMA = {
      before_worker_fork: %i[before_worker_fork on_worker_fork], after_worker_fork: %i[after_worker_fork],
      on_worker_boot: %i[before_worker_boot on_worker_boot],
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

    def self.load(hooks, path, kind)
      new(hooks, kind).load(path)
    end

    def initialize(hooks, kind)
      @hooks = hooks
      @kind = kind
      @is_puma = kind == "puma"
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
      @said.hooks.each { |call| register(call.name.to_sym, call.args.first, call.block) }
      @hooks.add(:after_worker_exit) { |number, _| @places.delete(number) }
    end

    private

    def place(number)
      @places[number] ||= (0..).find { |place| !@places.value?(place) }
    end

    def register(name, key, block)
      return register_once(name, block) if ONCE.include?([@is_puma, name])
      return register_exit(block) if name == (@is_puma ? :after_worker_shutdown : :after_worker_exit)

      event, = (@is_puma ? PUMA : UNICORN).find { |_, names| names.include?(name) }
      return unless event

      @hooks.add(event) { |number = nil, *| call(block, @is_puma ? puma(number, key) : unicorn(number)) }
    end

    # [whether of Puma, name]
    ONCE = [[true, :before_fork], [false, :after_mold_fork]].freeze

    def register_once(_name, block)
      @hooks.add(:before_fork) do
        call(block, @is_puma ? [] : [server, OldWorker.new(0, Process.pid)]) if block
        block = nil
      end
    end

    def register_exit(block)
      @hooks.add(:after_worker_exit) do |number, status|
        place = place(number)
        arguments = [server, OldWorker.new(place, status.pid), status]
        call(block, @is_puma ? [OldHandle.new(place, status.pid, status)] : arguments)
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
      @server ||= OldServer.new(config, config[:pid], config[:logger] || Logger.new($stderr), config[:worker_processes],
                                config[:timeout])
      @server.pid = pid
      @server
    end

    # Of a process whose successor is on its way, the file beside it, as in Unicorn: so a hook does not end its own.
    def pid
      path = @said.values[:pid]
      aside = "#{path}.oldbin"
      path && File.file?(aside) && File.read(aside).to_i == @front ? aside : path
    end

    # A hook may set traps for signals with which its own server would be ended; here the front decides.
    def call(block, arguments)
      block.call(*arguments)
    ensure
      trap("TERM", "IGNORE")
    end
  end
end
