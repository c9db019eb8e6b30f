# frozen_string_literal: true

# The hooks that run before the server executes itself anew: in a process of their own, as in Unicorn, so that this one
# can go on if the new program does not start.

module FoolsGold
  class ExecHooks
    # Records which environment variables are set, even to the value that they had.
    module Noted
      def []=(name, value)
        FoolsGold::ExecHooks.named << name
        super
      end
      alias_method :store, :[]=
    end

    @named = []

    class << self
      # The names of variables that hooks have set.
      attr_reader :named

      # Runs the hooks and returns at once; the block is called later, in a thread of its own, with the strings of
      # BEFORE_EXEC. `mine` are open files that hooks must not see.
      def run(limit, mine, &block)
        reader, writer = UNIXSocket.pair
        pid = Forking.fork do
          [reader, *mine].each(&:close)
          new.run(writer)
        end
        writer.close
        Thread.new { block.call(outcome(pid, reader, limit)) }
      end

      private

      def outcome(pid, reader, limit)
        is_there = IO.select([reader], nil, nil, limit)
        # Not to the end of the connection: a process that a hook has started may hold it open.
        _, report = Frames.read(reader) if is_there
        Process.kill("KILL", pid) unless is_there
        status = status_of(pid)
        return Frames.list(["they have not ended within #{limit} seconds"]) unless is_there

        report || Frames.list(["the process that ran them has ended (#{status})"])
      ensure
        reader.close
      end

      # Waits for the process; its status in words. The application may have waited for it, or ignore SIGCHLD.
      def status_of(pid)
        Process.wait2(pid).last.to_s
      rescue Errno::ECHILD
        "its status is not known"
      end
    end

    def run(writer)
      Signals.claim
      trap("CHLD", "DEFAULT")
      Log.after_fork(nil)
      Title.show("before_exec", "")
      ENV.singleton_class.prepend(Noted)
      before = ENV.to_h
      folder = Dir.pwd
      own = Process.pid
      begin
        FoolsGold.hooks.run(:before_exec)
        report = ["", Dir.pwd == folder ? "" : Dir.pwd, *changes(before)]
      rescue Exception => error # Also `exit`: a hook that exits cancels the new program.
        raise unless Process.pid == own # In a child that a hook has forked.

        report = [["#{error.message} (#{error.class})", *Frames.backtrace(error)].join("\n    ")]
      end
      Forking.flush
      writer.write(Frames.frame(Frames::BEFORE_EXEC, Frames.list(report)))
      writer.close
      exit!(0)
    end

    private

    def changes(before)
      after = ENV.to_h
      names = (before.keys | after.keys).select { |name| before[name] != after[name] }
      (names | ExecHooks.named.map(&:to_s)).map do |name|
        after.key?(name) ? "#{bytes(name)}=#{bytes(after[name])}" : bytes(name)
      end
    end

    # The bytes of a variable, which Ruby converts to Encoding.default_internal.
    def bytes(text)
      text.encoding == Encoding.default_internal ? text.encode(Encoding.find("locale")).b : text.b
    rescue EncodingError
      text.b
    end
  end
end
