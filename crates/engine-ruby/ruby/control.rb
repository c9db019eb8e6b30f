# frozen_string_literal: true

# The thread of a worker that reads orders of the front while the others serve.

module FoolsGold
  class Control
    # Whether threads run one at a time (the GVL). Where they run in parallel, only a slot's own thread may use its
    # buffer.
    TAKES_TURNS = RUBY_ENGINE == "ruby"

    def initialize(io, worker)
      @io = io
      @worker = worker
    end

    def start
      thread = Thread.new { run }
      thread.name = "control"
      thread
    end

    private

    def run
      loop do
        kind, payload = Frames.read(@io)
        # Without the front there is no client for the work of the other threads.
        exit!(1) if kind.nil?
        take(kind, payload)
      end
    rescue StandardError => error
      Log.exception(error, "the control connection failed")
      exit!(1)
    end

    def take(kind, payload)
      case kind
      when Frames::STOP then @worker.stop
      when Frames::PING then pong
      when Frames::TITLE then @worker.title(payload.force_encoding(Encoding::UTF_8))
      when Frames::THREADS then Log.frame(Frames::THREADS, payload + threads.b.byteslice(0, 1_000_000))
      when Frames::OUT_OF_BAND then go_out
      when Frames::SERVING then aside("after_booted") { FoolsGold.hooks.run(:server_begin) }
      when Frames::CLOSING then aside("after_stopped") { @worker.tell_end }
      when Frames::GROW then @worker.grow(payload.unpack1("N"))
      when Frames::RELEASE then release(*payload.unpack("NQ>"))
      else about(kind, *payload.unpack("NN"))
      end
    end

    def pong
      @worker.report
      Log.frame(Frames::PING, "")
      OutOfBand.look
    end

    def release(slot, taken)
      runner = @worker.runners[slot] or return
      runner.slot.release(taken)
    end

    # Handles an order about one request.
    def about(kind, slot, seq)
      runner = @worker.runners[slot] or return
      case kind
      when Frames::CANCEL then cancel(runner, seq)
      when Frames::FLUSH then flush_behind(runner, seq)
      when Frames::DUMP then dump(runner, seq)
      when Frames::INTERRUPT then runner.interrupt(seq)
      end
    end

    # Notes that the client of a request has gone. If that request runs already, sends the answers before it, which
    # would otherwise wait for its end. In a thread of its own: while the client of one of them is slow, the front may
    # read no more of this slot, and a worker that answers no PING meanwhile is killed.
    def cancel(runner, seq)
      runner.slot.cancel(seq)
      aside("answers") { send_answers(runner.slot) } if TAKES_TURNS && runner.running == seq
    end

    # The front waits for the answer to this request. If the slot has come to a later one, the answer is ready, and
    # would wait for its end.
    def flush_behind(runner, seq)
      aside("answers") { send_answers(runner.slot) } if TAKES_TURNS && runner.running != seq
    end

    def send_answers(slot)
      slot.flush
    rescue SystemCallError, IOError
      nil # The front has closed the connection, and knows.
    end

    def go_out
      aside("out of band") do
        FoolsGold.hooks.run(:out_of_band)
      ensure
        Log.frame(Frames::OUT_OF_BAND, "")
      end
    end

    # Runs hooks in a thread of their own, so that orders are still read. What ends it, also `exit`, ends nothing else.
    def aside(name)
      own = Process.pid
      work = lambda do
        yield
      rescue Exception => error
        raise unless Process.pid == own # In a child that a hook has forked: it ends with this thread.

        Log.exception(error, "the hook #{name} failed")
      end
      Thread.new(&work).name = name
    rescue ThreadError # There is none; the hooks are run all the same.
      work.call
    end

    # Logs the backtraces of all threads, in one entry.
    def dump(runner, seq)
      return unless runner.running == seq

      env = runner.slot.environment
      trace = Frames.backtrace(runner.thread)
      Log.frame(Frames::TRACE, Frames.list([env["HTTP_X_REQUEST_ID"], *trace]))
      Log.warn(Frames.join([headline(runner.slot, env), "\n", threads]))
      aside("on_request_timeout") { FoolsGold.hooks.run(:on_request_timeout, @worker.number, env) }
    end

    def threads
      Frames.join(Thread.list.flat_map { |thread| ["\n", *backtrace(thread)] }.drop(1))
    end

    def headline(slot, env)
      age = (Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - slot.started) / 1_000_000_000.0
      format("request %<id>s, %<method>s %<path>s has been running for %<age>.1f s",
             id: env["HTTP_X_REQUEST_ID"], method: env["REQUEST_METHOD"], path: env["PATH_INFO"], age: age)
    end

    def backtrace(thread)
      ["thread ", thread.name || thread.inspect, ":", *Array(thread.backtrace).flat_map { |line| ["\n  ", line] }]
    end
  end
end
