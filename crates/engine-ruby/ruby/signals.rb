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

    # Of a worker that has sent one of them to itself, as those do that look at their own memory.
    module Kill
      # A count is made of what is sent to this process, since a handler does not learn who has sent its signal.
      def kill(signal, *pids)
        Signals.note(signal) if pids.include?(::Process.pid)
        super
      end
    end

    class << self
      # Nothing ends this process or stops it.
      def quieten(names)
        names.each { |name| set(name, NOTHING) }
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
        name = signal.is_a?(Integer) ? Signal.signame(signal) : signal.to_s.delete_prefix("SIG")
        @own += 1 if ENDING.include?(name)
      end

      private

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
