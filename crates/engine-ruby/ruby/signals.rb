# frozen_string_literal: true

# What signals mean to molds and workers. The front alone is there for those who operate the server, but tools send them
# to all processes of a service, and applications to themselves.

module FoolsGold
  module Signals
    # Handlers that do nothing, and not "IGNORE": programs that the application starts would inherit that, and could not
    # be ended (signal(7): an exec resets handlers, and keeps what is ignored).
    NOTHING = proc {}
    # Those that mean something to the front, or to other servers, and whose default is to end or stop a process.
    QUIET = %w[INT HUP QUIT TTIN TTOU USR1 USR2 PWR].freeze
    # By these a process is asked to end when it has finished.
    ENDING = %w[TERM QUIT].freeze

    # With which other servers do something when their master gets them.
    OF_MASTERS = %w[USR1 USR2 TTIN TTOU].freeze
    # Signals that tell nobody anything.
    MEANINGLESS = [0, "0", "EXIT", "KILL", "STOP", "CONT"].freeze

    # Of a worker that has sent one of them to itself, as those do that look at their own memory; and of code that sends
    # one to the process that has forked it, or that runs its hooks, taking that for its server.
    module Kill
      # A count is made of what is sent to this process, since a handler does not learn who has sent its signal.
      def kill(signal, *pids)
        pids = Signals.redirected(signal, pids)
        Signals.note(signal) if pids.include?(::Process.pid)
        super(signal, *pids)
      end
    end

    class << self
      # Nothing ends this process or stops it.
      def quieten(names)
        names.each { |name| set(name, NOTHING) }
      end

      # What code of the application sends to this process is for the front, and so is what it sends from processes that
      # are forked from this one. Of what others send here the log says whom it does not reach.
      def are_for(front)
        @front = front
        @mold = ::Process.pid
        ::Process.singleton_class.prepend(Kill)
        OF_MASTERS.each { |name| set(name, proc { tell(name) if ::Process.pid == @mold }) }
      end

      def redirected(signal, pids)
        name = name_of(signal)
        return pids if @mold.nil? || name.nil? || MEANINGLESS.include?(name)

        pids.map { |pid| pid == @mold ? @front : pid }
      end

      # A worker asks the front to be replaced: at once where it has sent the signal itself, otherwise if the front has
      # not been sent it, too.
      def ask_the_front
        @own = 0
        ::Process.singleton_class.prepend(Kill)
        ENDING.each do |name|
          set(name, proc { ask(own: (@own -= 1) >= 0) })
        end
      end

      def note(signal)
        @own += 1 if @own && ENDING.include?(name_of(signal))
      end

      private

      # Nothing of a signal for a group of processes.
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

      # A handler may take no lock, a thread may.
      def ask(own:)
        @own = 0 if @own.negative?
        Thread.new { Log.frame(Frames::ENDING, [own ? 1 : 0].pack("C")) }
      end

      def set(name, handler)
        trap(name, handler)
      rescue ArgumentError
        nil # A Java machine has some of them for itself.
      end
    end
  end
end
