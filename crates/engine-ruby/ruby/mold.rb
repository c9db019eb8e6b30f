# frozen_string_literal: true

# The mold: the process that the front starts. It loads the application once and forks workers, or forks workers that
# load it themselves, or, in a Ruby that cannot fork, becomes one. It reports everything to the front on one connection,
# and exits when that ends.

# No gem may be activated before Bundler is set up. `rbconfig` is none; `socket` itself is none, but it loads io-wait,
# which is.
require "rbconfig"
begin
  require "socket.so"
rescue LoadError
  require "socket"
end

%w[errors frames wire log title limits heaps slices oom_score forking signals hooks progress database_clients
   application shapes environment input headers hints hijack stream output rest direct claims channel slot delivery
   answer puma_errors dead_thread runner control out_of_band puma_stats pitchfork_info worker children
   exec_hooks].each do |name|
  require_relative name
end

module FoolsGold
  class Mold
    # The seconds that a worker has to exit when the front is gone, and the interval of the check for that.
    GRACE_SECONDS = 1
    # The interval of checks for exited workers: the application may have a SIGCHLD handler of its own.
    LOOK_SECONDS = 1

    def initialize(wire)
      @wire = wire
      @workers = Children.new
      @pid = Process.pid
      @stopping = @has_forked = @has_refused = @serves = @has_told_begin = false
    end

    def run
      [$stdout, $stderr].each { |stream| write_at_once(stream) }
      OomScore.loading
      limit_files
      Heaps.forget_limit
      Slices.shorten
      Signals.quieten(Signals::QUIET)
      Signals.are_for(Process.ppid) if Process.respond_to?(:fork)
      @io = @wire.open(Frames::MOLD_ROLE)
      Log.io = @io
      hang_bell
      watch_front
      load ? serve : exit!(1)
    end

    private

    # A configuration that was read in this process may have put an object of its own in the place of a stream, or may
    # have closed it.
    def write_at_once(stream)
      stream.sync = true if stream.respond_to?(:sync=)
    rescue IOError, FrozenError
      nil
    end

    # Opens the pipe to which the SIGCHLD handler writes: a handler may interrupt anything, for instance the writing of
    # a frame. It is opened before the application is loaded, as is the pipe for the reports of workers: if that chooses
    # an encoding that is no superset of ASCII, Ruby opens no pipe.
    def hang_bell
      @bell, @ring = IO.pipe
      [@bell, @ring].each(&:binmode)
      @workers.listen
    end

    # Sets the limit of open files with which the server was started; the server raises its own. Some programs close, or
    # look at, every possible descriptor. A Java machine raises the limit by itself.
    def limit_files
      number = ENV.delete("FOOLS_GOLD_OPEN_FILES")
      return if number.nil? || RUBY_ENGINE == "jruby"

      Process.setrlimit(:NOFILE, number.to_i, Process.getrlimit(:NOFILE).last)
    rescue NotImplementedError, SystemCallError => error
      Log.warn("the limit of open files stays as it is: #{error.message}")
    end

    def load
      kind, payload = Frames.read(@io)
      exit!(1) unless kind == Frames::SETUP
      @setup = Hash.new("").merge!(Frames.strings(payload).each_slice(2).to_h)
      @setup.each_value { |value| value.force_encoding(Encoding.default_external) }
      @natives = natives
      return tell_no_native if @natives.empty? && @setup["needs_native"] == "yes"

      Title.begin(@setup["hooks_kind"])
      Title.show("mold", @setup["tag"])
      @application = Application.new(@setup)
      @application.prepare
      # Puma may be loaded by now, or by the application.
      stats = PumaClusterStats.new(@workers)
      stats.offer
      @application.load if @application.preload?
      stats.offer
      load_native
      @application.tell_keepers
      @application.warm_up
      OomScore.mold
      Log.frame(Frames::READY, Frames.list(@application.description.to_a.flatten))
    rescue Exception => error # An `exit` or a syntax error in config.ru is a failure to load like any other.
      raise unless Process.pid == @pid # In a child that the application has forked.

      Log.frame(Frames::FAILED, Frames.error(error))
      false
    end

    # The paths of the native workers that were built for this Ruby: the names of their folders say for which they were
    # built (native/build.rb).
    def natives
      mine = [RUBY_ENGINE, RbConfig::CONFIG["ruby_version"], RUBY_PLATFORM].join("-")
      @setup["native"].split("\n").select { |path| File.basename(File.dirname(path)).rpartition("-").first == mine }
    end

    # The front builds one, and starts another mold.
    def tell_no_native
      Log.frame(Frames::NO_NATIVE, "")
      false
    end

    # Loads a native worker, if there is one; without it everything works, but slower.
    def load_native
      errors = @natives.filter_map do |path|
        return Kernel.require(path) # An application may define a method of this name for all objects.
      rescue LoadError => error # The next one is of another folder, and may be loaded.
        error
      end
      return if errors.empty?

      Log.warn("worker: plain Ruby, because the native one cannot be used: #{errors.last.message}")
    end

    # The main loop.
    def serve
      Signals.quieten(["TERM"]) # If all processes get it, the front still needs workers for queued requests.
      return serve_once unless Process.respond_to?(:fork)

      trap("CHLD") { @ring.write_nonblock(".", exception: false) }
      loop do
        ready, = IO.select([@io, @bell], nil, nil, @workers.empty? ? nil : LOOK_SECONDS)
        reap if ready.nil? || ready.include?(@bell)
        take if ready&.include?(@io)
        next unless @stopping && @workers.empty?

        FoolsGold.hooks.run(:mold_end) if @has_forked || !@has_refused
        exit
      end
    rescue Errno::EPIPE
      raise unless Process.pid == @pid # In a child that a hook has forked.

      abandon # The front is gone.
    end

    def take
      kind, payload = Frames.read(@io)
      case kind
      when Frames::FORK then fork_worker(*payload.unpack("NN")) unless @stopping
      when Frames::SERVING
        @serves = true
        tell_begin
      when Frames::BEFORE_EXEC then run_exec_hooks(payload.unpack1("N"))
      when Frames::STOP then @stopping = true # The front stops workers itself.
      when nil then abandon
      end
    end

    def run_exec_hooks(seconds)
      ExecHooks.run(seconds, [@io, @bell]) { |report| Log.frame(Frames::BEFORE_EXEC, report) }
    rescue SystemCallError => error
      Log.frame(Frames::BEFORE_EXEC, Frames.list(["no process could be forked for them: #{error.message}"]))
    end

    def fork_worker(number, index)
      give_up unless @wire.there?
      FoolsGold.indexes[number] = index
      reap(ending: true) # Hooks see the exit of a worker before the start of its successor.
      @application.before_fork(number)
      shared = @application.shared_connections
      return refuse_to_fork(shared) unless shared.empty?

      pid = Forking.fork do
        Signals.claim
        [@io, @bell].each(&:close)
        Worker.new(number, @wire, @application, @setup).run { |figures| @workers.report(figures) }
      end
      @workers.add(pid, number)
      Log.frame(Frames::FORKED, [number, pid].pack("NN"))
      FoolsGold.hooks.run(:after_worker_fork, number)
      @has_forked = true
      tell_begin
    rescue SystemCallError => error # Out of memory or processes: the front retries.
      raise unless Process.pid == @pid # In a child that a hook has forked.

      Log.error("worker #{number} could not be forked: #{Limits.explain(error)}")
      Log.frame(Frames::EXITED, [number, 0, 1].pack("NNl>"))
    end

    # Runs the hooks for the beginning of the server, once: when it serves, and this mold has forked a worker.
    def tell_begin
      return if !@serves || !@has_forked || @has_told_begin

      @has_told_begin = true
      FoolsGold.hooks.run(:mold_begin)
    end

    # Refuses to fork, because workers on one connection would get each other's answers. The front starts a mold that
    # does not load the application; this one exits with the last worker that it has forked before.
    def refuse_to_fork(shared)
      Log.frame(Frames::SHARED, Frames.list(shared))
      @stopping = @has_refused = true
    end

    # Exits, because a forked worker could not connect. The front starts another mold, with a new folder.
    def give_up
      Log.warn("the socket of the server is gone, with its folder")
      exit!(1)
    end

    def reap(ending: false)
      @bell.read_nonblock(4096, exception: false)
      @workers.reap(ending: ending) do |number, pid, status, since, booted|
        code = status.nil? ? Frames::UNKNOWN_EXIT : status.exitstatus || -status.termsig
        Log.frame(Frames::EXITED, [number, pid, code].pack("NNl>"))
        FoolsGold.hooks.run(:after_worker_exit, number, pid, status, since, booted)
        FoolsGold.indexes.delete(number)
      end
    end

    # Watches for the end of the front in a thread: code of the application that hangs during loading or before a fork
    # keeps the main thread from reading the end of the connection. A process whose parent has ended gets another
    # parent.
    def watch_front
      front = Process.ppid
      Thread.new do
        sleep GRACE_SECONDS while Process.ppid == front
        abandon
      end
    end

    # Kills workers that have not exited after the end of the front because they are too busy to notice it.
    def abandon
      sleep GRACE_SECONDS unless @workers.empty?
      @workers.kill
      @wire.remove
      exit!(1)
    end

    def serve_once
      loop do
        kind, payload = Frames.read(@io)
        next if kind == Frames::SERVING
        exit if kind != Frames::FORK

        number, index = payload.unpack("NN")
        FoolsGold.indexes[number] = index
        Log.frame(Frames::FORKED, [number, Process.pid].pack("NN"))
        Worker.new(number, @wire, @application, @setup).run
      end
    end
  end
end

if $PROGRAM_NAME == __FILE__
  wire = FoolsGold::Wire.new(ENV.delete("FOOLS_GOLD_WIRE"), ENV.delete("FOOLS_GOLD_TOKEN"))
  FoolsGold::Mold.new(wire).run
end
