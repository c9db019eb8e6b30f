# frozen_string_literal: true

# Signal handling of molds and workers. Operators send signals to the front alone, but tools send them to all processes
# of a service, and applications to themselves.

module FoolsGold
  module Signals
    # Signals that the JVM handles itself: at QUIT it prints the backtraces of its threads and goes on.
    OF_JAVA = RUBY_ENGINE == "jruby" ? %w[QUIT] : []
    # Signals that mean something to the front, or to other servers, and that by default end or stop a process.
    QUIET = (%w[INT HUP QUIT TTIN TTOU USR1 USR2 PWR] - OF_JAVA).freeze
    # Signals that ask a process to exit when it has finished.
    ENDING = (%w[TERM QUIT] - OF_JAVA).freeze

    # Signals to which the master of other servers reacts.
    OF_MASTERS = %w[USR1 USR2 TTIN TTOU].freeze
    # Signals that a terminal sends to all processes of a background job when one of them reads from the terminal, or
    # writes to it after `stty tostop`.
    OF_TERMINALS = %w[TTIN TTOU].freeze
    # Signals that carry no request.
    MEANINGLESS = [0, "0", "EXIT", "KILL", "STOP", "CONT"].freeze

    # Extends Process.kill, to notice a worker that sends an exit signal to itself, as gems do that limit their memory;
    # and to redirect to the front what application code sends to the mold, which it takes for its server.
    module Kill
      # Counts the signals that this process sends to itself, since a handler does not learn the sender.
      def kill(signal, *pids)
        pids = Signals.redirected(signal, pids)
        Signals.note(signal) if pids.include?(::Process.pid)
        super(signal, *pids)
      end
    end

    # The handlers that this process wants, by the name of the signal.
    @wanted = {}
    @lock = Mutex.new

    class << self
      # Makes this process the one that the handlers are for. A process forked from it inherits them, and
      # there a signal has its default effect.
      def claim
        @owner = ::Process.pid
      end

      # Installs handlers with which these signals neither end nor stop this process. Not "IGNORE": programs that the
      # application starts would inherit that, and could not be ended (signal(7): an exec resets handlers, and keeps
      # what is ignored).
      def quieten(names)
        claim
        names.each { |name| set_own(name) { nil } }
      end

      # Sets a handler again that code of the application may have replaced. Hooks run in several threads at once: one
      # that restored what it had found could bring back what another has just replaced.
      def renew(name)
        @lock.synchronize { trap(name, @wanted[name]) if @wanted.key?(name) }
      end

      # Forwards signals that the application sends to this process, or from a process forked from it, to the front. For
      # signals from other senders the log says that they do not reach the front.
      def are_for(front)
        @front = front
        @mold = ::Process.pid
        ::Process.singleton_class.prepend(Kill)
        OF_MASTERS.each { |name| set_own(name) { tell(name) if ::Process.pid == @mold } }
      end

      def redirected(signal, pids)
        name = name_of(signal)
        return pids if @mold.nil? || name.nil? || MEANINGLESS.include?(name)

        pids.map { |pid| pid == @mold ? @front : pid }
      end

      # Makes a worker ask the front to be replaced: at once if it has sent the signal itself, otherwise if the front
      # has not received it too.
      def ask_the_front
        @own = 0
        ::Process.singleton_class.prepend(Kill)
        ENDING.each do |name|
          set_own(name) { ask(own: (@own -= 1) >= 0) }
        end
      end

      # Makes a worker ask the front to be replaced, as if it had sent itself such a signal.
      def leave
        Log.frame(Frames::ENDING, [1].pack("C"))
      end

      def note(signal)
        @own += 1 if @own && ENDING.include?(name_of(signal))
      end

      private

      # Ends a process that the application has forked, as the signal would without the handler.
      def end_child(name)
        trap(name, "DEFAULT")
        ::Process.kill(name, ::Process.pid)
      end

      # The name of a signal; nil for one to a group of processes.
      def name_of(signal)
        return Signal.signame(signal) if signal.is_a?(Integer)

        signal.to_s.delete_prefix("SIG") unless signal.to_s.start_with?("-")
      end

      def tell(name)
        Thread.new do
          Log.info("SIG#{name} came to this process (#{::Process.pid}), which only forks workers: the server is " \
                   "process #{@front}")
        end
      end

      # Sends ENDING in a thread, because a handler may not take a lock.
      def ask(own:)
        @own = 0 if @own.negative?
        Thread.new { Log.frame(Frames::ENDING, [own ? 1 : 0].pack("C")) }
      end

      # Sets a handler for the owner alone; a process forked from it is ended by the signal. In a process that has a
      # terminal, the signals of terminals are ignored: then a write succeeds and a read fails. With a handler both are
      # tried again, each time with a signal that also reaches the front, which adds or stops a worker.
      def set_own(name)
        return set(name, "IGNORE") if OF_TERMINALS.include?(name) && terminal?

        set(name, proc { ::Process.pid == @owner ? yield : end_child(name) })
      end

      def terminal?
        [STDIN, STDOUT, STDERR].any? { |stream| !stream.closed? && stream.tty? }
      end

      def set(name, handler)
        @lock.synchronize do
          trap(name, handler)
          @wanted[name] = handler
        end
      rescue ArgumentError
        nil # A Java machine has some of them for itself.
      end
    end
  end
end
