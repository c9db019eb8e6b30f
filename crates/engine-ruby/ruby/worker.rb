# frozen_string_literal: true

# A worker process: one thread for each of its slots, and one that reads orders of the front.

module FoolsGold
  class << self
    # The worker that this process is.
    attr_accessor :worker
  end

  class Worker
    attr_reader :number, :runners

    def initialize(number, wire, application, setup)
      @number = number
      @wire = wire
      @application = application
      @setup = setup
      @environment = @claims = nil
      @runners = []
      @threads = []
      @lock = Mutex.new
      @stopping = @exiting = false
      @end_lock = Mutex.new
      @has_told_end = @has_told_databases = false
    end

    # Serves until the front sends STOP; then exits as Ruby would, with its at_exit blocks. The block sends a report
    # (Children#report) to the process that has forked this one.
    def run(&reporter)
      @reporter = reporter
      serve_requests
    rescue ThreadError => error
      raise unless error.backtrace_locations&.first&.path&.start_with?(__dir__) # It is the application's own.

      Log.error("worker #{@number} could not start a thread: #{Limits.explain(error)}")
      exit!(1)
    end

    # Shows the worker, and a request that takes long, in the process title.
    def title(request = "")
      Title.show("worker #{@number}", @setup["tag"], request)
    end

    # Ends the slots after the requests that are on their way to them. Runs in a signal handler too.
    def stop
      @stopping = true
      @runners.each { |runner| runner.slot.close_read }
    end

    # Opens further slots, up to this number in all, each with a thread of its own. Called by Control.
    def grow(number)
      return if @stopping || @runners.size >= number || spares_databases?

      open_further until @runners.size >= number || @stopping
      Log.info("worker #{@number} has #{threads_in_words} now: requests waited, and all of its threads waited " \
               "for something other than a processor")
    rescue ThreadError, SystemCallError, SocketError, IOError => error
      Log.warn("worker #{@number} stays with #{threads_in_words}: #{Limits.explain(error)}")
    end

    # Reports that this worker has booted, and its figures if Puma is loaded, which may show them. Without Puma, later
    # calls do nothing.
    def report
      return unless @reporter

      figures = PumaStats.new(self).figures if PumaStats.asked?
      @reporter.call(figures)
      @reporter = nil unless figures
    end

    # Whether this worker ends after its last requests: the server shuts down, other code takes over, or it is being
    # replaced.
    def ending?
      @stopping || @has_told_end
    end

    # Whether the process exits, and Ruby ends all of its threads.
    def exiting?
      @exiting
    end

    # Runs the hooks for the end of the server, once: when that begins or this worker is being replaced, at the latest
    # when this worker ends.
    def tell_end
      @end_lock.synchronize do
        next if @has_told_end

        @has_told_end = true
        FoolsGold.hooks.run(:server_end, @number)
      end
    end

    private

    def serve_requests
      Signals.quieten(["TERM"]) # Often sent to all processes of a service; the front decides.
      trap("CHLD", "DEFAULT")
      @application.loaded? ? OomScore.worker : OomScore.loading
      Title.begin(@setup["hooks_kind"], FoolsGold.indexes[@number])
      title
      connect
      boot or exit!(1)
      serve
      finish_cable
      tell_end
      FoolsGold.hooks.run(:on_worker_shutdown, @number)
      # JRuby closes connections as it exits, which must not look like the end of the front.
      @control.kill unless Process.respond_to?(:fork)
      exit
    end

    def connect
      io = @wire.open(Frames::CONTROL_ROLE, @number)
      Log.after_fork(io)
      @control = Control.new(io, self).start
      @claims = Claims.fetch(@wire, @number) if Control::TAKES_TURNS
    rescue SystemCallError, SocketError, IOError => error
      Log.error("worker #{@number} cannot connect to the server: #{Limits.explain(error)}")
      exit!(1)
    end

    def boot
      own = Process.pid
      FoolsGold.worker = self
      FoolsGold.hooks.run(:after_fork, @number)
      load unless @application.loaded?
      PumaStats.offer(self)
      PumaErrors.offer
      PitchforkInfo.offer
      FoolsGold.hooks.run(:on_worker_boot, @number)
      OutOfBand.start unless @setup["oob_gc"].empty?
      @runners = open_slots
      Signals.ask_the_front # Before the hooks of other threads run.
      # A worker that cannot start all its threads is not ready. The first slot has the main thread.
      @runners.drop(1).each { |runner| start(runner) }
      report
      errands = FoolsGold.hooks.any?(:out_of_band) ? "yes" : "no"
      Log.frame(Frames::READY, Frames.list(["pid", Process.pid.to_s, "out_of_band", errands]))
      true
    rescue HookFailed => failure
      Log.frame(Frames::HOOK_FAILED, Frames.list([failure.hook, failure.place]) + Frames.error(failure.error))
      false
    rescue Exception => error # Also `exit` in config.ru: the front must know why there is no worker.
      raise unless Process.pid == own # In a child that the application has forked.

      Log.frame(Frames::FAILED, Frames.error(error.is_a?(ThreadError) ? Limits.explained(error) : error))
      false
    end

    # Loads the application. Hooks for after the fork that it registers run now, because the fork is over.
    def load
      run = FoolsGold.hooks.count(:after_fork)
      @application.load
      @application.tell_keepers if @number == 1
      OomScore.worker
      FoolsGold.hooks.run(:after_fork, @number, but: run)
    end

    def open_slots
      @environment = Environment.new(@setup)
      Array.new([@setup["threads"].to_i, 1].max) { |number| open_slot(number) }
    end

    def open_slot(number)
      own = @wire.same_user?
      slot = (@application.native? ? NativeSlot : Slot).new(@wire, @number, number, @environment)
      slot.names_files = own && !@setup["files"].empty?
      slot.lends_memory = own && !@setup["memory"].empty? && Channel::HAS_ADDRESSES
      slot.writes_directly = !@setup["direct"].empty?
      slot.claims = @claims
      Runner.new(@application.app, slot)
    end

    # Opens the next slot. Its thread is started before, since that can fail: the front sends requests as soon as the
    # connection is there.
    def open_further
      opened = Thread::Queue.new
      number = @runners.size
      thread = Thread.new { (one = opened.pop) && guard(one) }
      runner = open_slot(number)
      # Replaced, not changed: other threads may be going through it.
      @runners += [runner]
      keep(thread, number)
      # A stop that came meanwhile did not find it.
      runner.slot.close_read if @stopping
    ensure
      opened << runner # Without a slot the thread ends.
    end

    def threads_in_words
      @runners.size == 1 ? "1 thread" : "#{@runners.size} threads"
    end

    # Whether there are no further threads: the application has loaded a client of a database, and each thread might
    # open a connection. The log says so once, since the front asks again.
    def spares_databases?
      return false unless @setup["spares_databases"] == "yes"

      libraries = DatabaseClients.new.libraries
      return false if libraries.empty?
      return true if @has_told_databases

      @has_told_databases = true
      Log.info("worker #{@number} stays with #{threads_in_words}, although requests wait and all of its threads wait " \
               "for something other than a processor: each further one could need a connection to a database " \
               "(#{libraries.join(', ')} is loaded); --max-threads sets how many there may be")
      true
    end

    # The first slot has the main thread, as applications expect when there is only one.
    def serve
      stop if @stopping # It came before the slots were open.
      Thread.current.name = "slot 0"
      guard(@runners.first)
      # Those of upgraded connections as well; the front limits the time.
      while (thread = @lock.synchronize { @threads.shift })
        thread.join
      end
    ensure
      @exiting = true
    end

    # The most seconds that Action Cable gets for its work after WebSockets were closed: less than the least time that a
    # shutdown leaves to a worker which has finished its requests.
    CABLE_SECONDS = 8
    private_constant :CABLE_SECONDS

    # Lets Action Cable finish what it does for WebSockets that are closed, such as `unsubscribed`. It runs that in
    # threads of its own, which would end with the process.
    def finish_cable
      cable = ::ActionCable.instance_variable_get(:@server) if defined?(::ActionCable)
      pool = cable&.instance_variable_get(:@worker_pool)
      return unless pool.respond_to?(:executor) # Not used, or that of a later version.

      pool.executor.shutdown
      return if pool.executor.wait_for_termination(CABLE_SECONDS)

      Log.warn("worker #{@number} exits while Action Cable is at work for closed WebSockets (`unsubscribed`): that " \
               "has taken #{CABLE_SECONDS} s")
    rescue StandardError => error
      Log.exception(error, "the work of Action Cable could not be waited for")
    end

    # A thread inherits the masks of the one that starts it.
    def start(runner)
      thread = Thread.new { Thread.handle_interrupt(Object => :immediate) { guard(runner) } }
      keep(thread, runner.slot.number)
    end

    # Names the thread of a slot, and notes it as one that ends before this worker.
    def keep(thread, number)
      thread.name = "slot #{number}"
      @lock.synchronize { (@threads = @threads.select(&:alive?)) << thread }
    end

    # The most threads of one slot in a row that end before they have served a request.
    UNUSED = 10
    private_constant :UNUSED

    # Ends the worker when a slot ends, because the front counts on all of them. If the application has ended a slot's
    # thread, or keeps it for an upgraded connection, the slot gets another; not in a child that it has forked, which
    # ends, and not while Ruby ends all threads because the process exits.
    def guard(runner)
      has_slot = true
      before = runner.slot.consumed
      NativeSlot.batch if @setup["batch"] == "yes" && @application.native?
      PumaStats.show(self)
      FoolsGold.hooks.run(:before_thread_start)
      runner.run do
        # Both, or neither: if this thread were ended in between, two would read from one slot.
        Thread.handle_interrupt(Output::WHOLLY) do
          start(runner)
          has_slot = false
        end
      end
    rescue SystemExit, SignalException
      raise
    rescue Exception => error # Also a ScriptError: without its slots, the worker would take requests and answer none.
      fail_with(error, runner)
    ensure
      FoolsGold.hooks.run(:before_thread_exit)
      go_on(runner, before, ended: runner.ended? || $! || @exiting) if has_slot && runner.slot.own_process?
    end

    # Logs why a slot cannot go on, and ends the worker.
    def fail_with(error, runner)
      Log.exception(error, "thread #{runner.slot.number} failed")
    ensure
      exit!(1)
    end

    # Starts the next thread of a slot, or ends all slots.
    def go_on(runner, before, ended:)
      return stop if ended
      return start(runner) if runner.begin_again(before) <= UNUSED

      Log.error("#{UNUSED} threads in a row of slot #{runner.slot.number} have ended before they had served a " \
                "request; the application, or a hook such as before_thread_start, ends them")
      exit!(1)
    end
  end
end
