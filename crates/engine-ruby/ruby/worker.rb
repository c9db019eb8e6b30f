# frozen_string_literal: true

# A process that serves: one thread for each of its slots, and one that listens to the front.

module FoolsGold
  class Worker
    attr_reader :number, :runners

    # What `ps` shows.
    def self.title(what, setup, request = "")
      tag = setup["tag"]
      Process.setproctitle("foolsgold: #{what}#{" [#{tag}]" unless tag.empty?}#{" #{request}" unless request.empty?}")
    rescue NotImplementedError
      nil
    end

    def initialize(number, wire, application, setup)
      @number = number
      @wire = wire
      @application = application
      @setup = setup
      @runners = []
      @threads = []
      @stopping = false
    end

    # Serves until the front says stop; then ends the process as Ruby would, with its at_exit blocks.
    def run
      Signals.quieten(["TERM"]) # Who stops a service often sends it to all its processes; the front decides here.
      trap("CHLD", "DEFAULT")
      @application.loaded? ? LastResort.worker : LastResort.loading
      title
      connect
      boot or exit!(1)
      Signals.ask_the_front
      serve
      FoolsGold.hooks.run(:on_worker_shutdown, @number)
      # JRuby closes connections as it ends, which must not look like the end of the front.
      @control.kill unless Process.respond_to?(:fork)
      exit
    end

    # The same with a request that takes long.
    def title(request = "")
      Worker.title("worker #{@number}", @setup, request)
    end

    # Slots get what is on its way to them, then their end. Runs in a signal handler too.
    def stop
      @stopping = true
      @runners.each { |runner| runner.slot.close_read }
    end

    private

    def connect
      io = @wire.open(Frames::CONTROL_ROLE, @number)
      Log.after_fork(io)
      @control = Control.new(io, self).start
    end

    def boot
      own = Process.pid
      FoolsGold.hooks.run(:after_fork, @number)
      load unless @application.loaded?
      FoolsGold.hooks.run(:on_worker_boot, @number)
      OutOfBand.start unless @setup["oob_gc"].empty?
      @runners = open_slots
      errands = FoolsGold.hooks.any?(:out_of_band) ? "yes" : "no"
      Log.frame(Frames::READY, Frames.list(["pid", Process.pid.to_s, "out_of_band", errands]))
      true
    rescue Exception => error # Also `exit` in a hook: the front must know why there is no worker.
      raise unless Process.pid == own # In a child that the application has forked.

      Log.frame(Frames::FAILED, Frames.error(error))
      false
    end

    # Hooks that the application itself gives for after the fork run now: they came too late for it.
    def load
      run = FoolsGold.hooks.count(:after_fork)
      @application.load
      @application.tell_keepers if @number == 1
      LastResort.worker
      FoolsGold.hooks.run(:after_fork, @number, but: run)
    end

    def open_slots
      environment = Environment.new(@setup)
      slot_class = @application.native? ? NativeSlot : Slot
      Array.new([@setup["threads"].to_i, 1].max) do |number|
        slot = slot_class.new(@wire, @number, number, environment)
        slot.names_files = !@setup["files"].empty?
        Runner.new(@application.app, slot)
      end
    end

    # The first slot has the main thread, as applications expect when there is only one.
    def serve
      stop if @stopping # It came before the slots were open.
      Thread.current.name = "slot 0"
      @runners.drop(1).each { |runner| start(runner) }
      guard(@runners.first)
      @threads.shift.join until @threads.empty?
      Upgrade.join
    end

    def start(runner)
      @threads << Thread.new { guard(runner) }.tap { |thread| thread.name = "slot #{runner.slot.number}" }
    end

    # A slot that ends takes the worker with it: the front counts on all of them. One whose thread the application has
    # ended gets another.
    def guard(runner)
      FoolsGold.hooks.run(:before_thread_start)
      runner.run
    rescue StandardError => error
      Log.exception(error, "thread #{runner.slot.number} failed")
      exit!(1)
    ensure
      FoolsGold.hooks.run(:before_thread_exit)
      runner.ended? || $! ? stop : start(runner)
    end
  end
end
