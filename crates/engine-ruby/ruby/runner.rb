# frozen_string_literal: true

# A thread of a worker: takes a request from its slot, calls the application, gives the answer to the slot.

module FoolsGold
  # The runner of one slot, which Control uses. A request can be interrupted from when `@running` is its number until
  # `leave`, and its work after the answer once more.
  class Runner
    attr_reader :slot, :running, :thread

    def initialize(app, slot)
      @app = app
      @slot = slot
      @answer = Answer.new(slot)
      @lock = Mutex.new
      @running = @interrupted = @handled = nil
      @begun = slot.consumed
      @strays = @unused = 0
      @has_handler = FoolsGold.hooks.any?(:error_response)
      @has_last_hook = FoolsGold.hooks.any?(:after_request_complete)
      @ended = false
    end

    # Serves until the connection ends. If the application ends the thread (Thread.exit), another one continues here. If
    # it keeps the thread, for a partial hijack, the block must start another one.
    def run(&successor)
      @thread = Thread.current
      refuse_consumed(ThreadEnded.new("its thread was ended before it began"))
      while (upgrade = serve_until_upgrade)
        return if upgraded?(upgrade, &successor)
      end
      @ended = true
    end

    # Whether there is nothing more to serve.
    def ended?
      @ended
    end

    # Counts the threads in a row that have ended without a request, and returns the count. `before` is the number of
    # the last request that the slot had consumed when the thread began.
    def begin_again(before)
      @unused = @slot.consumed == before ? @unused + 1 : 0
    end

    # Called by Control. Raises in the application's code if it still runs this request, or its work after the answer.
    def interrupt(seq)
      @lock.synchronize do
        return unless @running == seq && @interrupted != seq

        @interrupted = seq
        @thread.raise(RequestTimeout, "the time for this request is over")
      end
    end

    private

    # The most exceptions in a row between two requests.
    STRAYS = 10

    # Serves requests up to one whose answer is an upgrade, and returns that; nil at the end.
    def serve_until_upgrade
      while (env = next_request)
        serve(env)
        return @answer.take_upgrade if @answer.upgrade
      end
    ensure
      # The thread was ended after the answer. The next one would take it for that of its own request.
      @answer.take_upgrade&.drop
    end

    # Leaves the slot to another thread, and calls the application's code for an upgraded connection in this one.
    # Returns false if there is no other thread.
    def upgraded?(upgrade)
      begin
        yield
      rescue ThreadError => error
        Log.error("an upgraded connection is closed, since there is no thread for it: #{Limits.explain(error)}")
        return false
      end
      is_called = true
      upgrade.run
      end_child unless @slot.own_process?
      true
    ensure
      upgrade.drop unless is_called # There is no other thread, or this one was ended.
    end

    # Waits for the next request. What other threads raise here meanwhile (a timer of the application that comes too
    # late) is of no request, and ends nothing, unless it is to end the process (DeadThread).
    def next_request
      stray = nil
      begin
        # Here, where another exception that comes meanwhile is rescued, too.
        between_requests(stray) if stray
        stray = nil
        env = @slot.next_request
        @strays = 0
        env
      rescue SystemExit, SignalException, NoMemoryError
        raise
      rescue Exception => error
        raise if error.equal?(@fatal)

        stray = error
        retry
      end
    end

    # Handles an exception that came between two requests; raises it if the thread cannot go on.
    def between_requests(error)
      @strays += 1
      @fatal = error if @strays > STRAYS
      raise error if @fatal

      DeadThread.end_worker(error) || stray(error)
      refuse_consumed(error)
    end

    # Logs an exception of no request; raises it again if it may be the connection's.
    def stray(error)
      case error
      when ProtocolError, IOError, SystemCallError then raise @fatal = error
      else Log.exception(error, "raised in thread #{@slot.number} between two requests")
      end
    end

    # If an exception came, or the thread was ended, when a request had been taken and not begun, that has it for an
    # answer.
    def refuse_consumed(error)
      taken = @slot.consumed
      @slot.refuse(taken, error) unless [@begun, @slot.refused].include?(taken)
    end

    def serve(env)
      @answer.client_method = env["REQUEST_METHOD"]
      @running = @begun = @slot.seq
      begin
        status, headers, body = answer = @app.call(env)
        status, headers, body = answer = call_again(env, body) if status == 100 && env.key?("HTTP_EXPECT")
        body = Answer::MISSING if body.nil? && Array === answer && answer.size < 3
        end_child unless @slot.own_process?
        later = later?(env)
        usual = !later && !(@has_handler && announces?(headers))
        (usual && @slot.answer(status, headers, body)) || @answer.give(status, headers, body, later)
        leave
      rescue Exception => error # Even `exit` ends only the request.
        owes_free = failed(error, env)
        status, headers = @handled || [status, headers]
      ensure
        report_end if @running && @slot.own_process? # Nothing can be rescued of a thread that ends.
      end
      return end_upgraded(@answer.upgrade, env, status, headers, error) if @answer.upgrade

      finish(env, status, headers, error, owes_free) if later?(env) || owes_free || @answer.later?
      close_input
    end

    # Calls the application again, without the expectation that it has answered with 100, as Unicorn does. The client
    # has had its 100 by then, since a body is read before its request runs.
    def call_again(env, body)
      body.close if body.respond_to?(:close)
      env.delete("HTTP_EXPECT")
      @app.call(env)
    end

    # Whether headers have a Content-Length. If the body is shorter, the front answers, and not lowlevel_error_handler:
    # where there is one, such an answer goes the way on which that is noticed here.
    def announces?(headers)
      Hash === headers && headers.any? { |name, _| String === name && name.casecmp("content-length")&.zero? }
    end

    # Closes the file of a large body. Threads to which the stream was left may still read it: it closes with that.
    def close_input
      input = @slot.input
      input.close if File === input && !@answer.left?
    end

    # What there is to do after a partial hijack: its code may still read the request's body, and Rails's executor ends
    # in one of the blocks. The slot has another request by then.
    def end_upgraded(upgrade, env, status, headers, error)
      input = @slot.input
      upgrade.at_end do
        after(env, status, headers, error) if @slot.own_process?
        input.close if File === input
      end
    end

    # Answers with an exception. A RequestTimeout may come until the request has been left, and only once. Nothing else
    # comes before this in the clause that calls it: an interruption there would end the worker.
    def failed(error, env)
      end_child(error) unless @slot.own_process?
      @handled = nil
      leave_failed
      PumaErrors.tell(error, env) unless of_client?(error)
      DeadThread.end_worker(error)
      report(error, later?(env))
    rescue RequestTimeout
      retry
    end

    # Whether an exception only means that the client has gone while its answer was sent, or its body was collected.
    def of_client?(error)
      (Errno::EPIPE === error || Errno::ECONNRESET === error) && (@answer.begun? || @slot.gone?)
    end

    # What there is to do after the answer.
    def finish(env, status, headers, error, owes_free)
      @slot.flush
      work(env, status, headers, error)
    ensure
      @slot.send_now(Frames::FREE, "") if (owes_free || @answer.later?) && @slot.own_process?
    end

    # Runs the application's blocks after an answer, which can be interrupted like the request. An interruption
    # inside a block ends that block; between two blocks it ends the work. Masks against the latter would cost a tenth
    # of this busy path.
    def work(env, status, headers, error)
      @interrupted = nil
      @running = @slot.seq
      guard(env) { @answer.close }
      after(env, status, headers, error)
      leave
    rescue RequestTimeout => error
      leave_failed
      Log.exception(error, "#{name} was interrupted after its answer")
    end

    # Ends such a child: its parent gives the answer. The at_exit blocks are the worker's.
    def end_child(error = nil)
      $stderr.puts(error.full_message(highlight: false)) unless error.nil? || SystemExit === error
      exit!(SystemExit === error ? error.status : error.nil?)
    end

    # Whether there is something to do after the answer. The lists are read from the environment: an application may
    # replace them.
    def later?(env)
      @has_last_hook || waits?(env["rack.response_finished"]) || waits?(env["rack.after_reply"])
    end

    def waits?(list)
      Array === list && !list.empty?
    end

    # Ends the part that can be interrupted. A pending interruption arrives now, too late to have an effect.
    def leave
      @lock.lock unless @lock.owned?
      @running = nil
      @lock.unlock
      Thread.pass while @interrupted == @slot.seq && Thread.pending_interrupt?
    end

    def leave_failed
      leave
    rescue RequestTimeout
      leave
    end

    def report_end
      leave_failed
      report(ThreadEnded.new("the application ended its thread"), false)
      close_input
    end

    # Answers with the exception, unless there is an answer already. Returns whether the front now waits for FREE.
    def report(error, later)
      if @slot.answered? || @answer.ended?
        Log.exception(error, "#{name} failed after its answer") unless error.is_a?(RequestTimeout)
        false
      elsif @slot.taken
        Log.exception(error, "#{name} failed after the application took the connection")
        @slot.break_off_taken
        @answer.taken(later)
        false
      elsif answered_by_handler?(error, later)
        false
      elsif error.is_a?(BadAnswer) && !@answer.begun?
        fault(Frames::BAD, error.message, later)
      else
        fault(Frames::FAULT, Frames.error(error), later)
      end
    end

    # Whether the user's lowlevel_error_handler has turned an exception into an answer; keeps what blocks after it get.
    def answered_by_handler?(error, later)
      handler = FoolsGold.hooks.last(:error_response) unless @answer.begun? || error.is_a?(RequestTimeout)
      return false unless handler

      arguments = [error, @slot.environment, 500]
      arguments = arguments.first(handler.arity) if [1, 2].include?(handler.arity)
      status, headers, body = handler.call(*arguments)
      @answer.give(status, headers, body, later)
      @handled = [status, headers]
      Log.exception(error, "#{name} failed, and was answered by the lowlevel_error_handler")
      true
    rescue Exception => second # Also `exit`: the request has failed, whatever its handler does.
      Log.exception(second, "the lowlevel_error_handler failed for #{name}")
      @answer.ended?
    end

    def fault(kind, text, later)
      @slot.add(kind, [@slot.seq, later ? Frames::LATER : 0, text.byteslice(0, 1_000_000)].pack("NCa*"))
      later
    end

    def name(env = @slot.environment)
      "request #{env['HTTP_X_REQUEST_ID']}, #{env['REQUEST_METHOD']} #{env['PATH_INFO']}"
    end

    # Runs what comes after the answer: the application's blocks, then the user's hook.
    def after(env, status, headers, error)
      replied = env["rack.after_reply"]
      Array(replied).each { |callable| guard(env) { callable.call } } if replied
      tell_finished(env, status, headers, error)
      guard(env) { FoolsGold.hooks.run(:after_request_complete, env) } if @has_last_hook
    end

    # In the order of Puma and of the SPEC, which runs the last registered first. As in Puma there is a status even if
    # the application gave none.
    def tell_finished(env, status, headers, error)
      finished = env["rack.response_finished"] or return

      arguments = [env, status || 500, headers || {}, error]
      Array(finished).reverse_each { |callable| guard(env) { callable.call(*arguments) } }
    end

    # Runs a block of the application. The blocks after it run whatever it raises; in a child that it has forked, none.
    def guard(env)
      yield
      end_child unless @slot.own_process?
    rescue Exception => error # Also `exit`: other requests have nothing to do with it.
      end_child(error) unless @slot.own_process?
      Log.exception(error, "#{name(env)} failed after its answer")
    end
  end
end
