# frozen_string_literal: true

# The server, as a child of this process.

module FoolsGold
  # Signals go on to it, and this process ends with it.
  class Program
    # The variable by which the server knows with which process it ends. One that is killed passes no signal on.
    ENDS_WITH = "FOOLSGOLD_ENDS_WITH"
    # What is sent for what comes. A terminal that closes means the end, too. The restart of Puma is a reload here: an
    # upgrade would put a process in the server's place that is no child of this one.
    SIGNALS = { "INT" => "INT", "TERM" => "TERM", "HUP" => "TERM", "QUIT" => "QUIT", "USR1" => "USR1",
                "USR2" => "USR1", "TTIN" => "TTIN", "TTOU" => "TTOU", "PWR" => "PWR" }.freeze
    # Those that end it, also before it has started.
    ENDS = %w[INT TERM QUIT].freeze

    def initialize(environment, command)
      @environment = environment
      @command = command
    end

    # Runs it to its end; gives its status.
    def run
      handlers = take_signals
      environment = @environment.merge(ENDS_WITH => Process.pid.to_s)
      # A group of its own: the terminal's interrupt would otherwise come twice, and the second means "at once".
      @pid = Process.spawn(environment, *@command, pgroup: true, in: File::NULL)
      signal(@asked) if ENDS.include?(@asked)
      _, status = Process.wait2(@pid)
      @pid = nil
      status
    ensure
      finish
      handlers&.each { |name, handler| trap(name, handler || "DEFAULT") }
    end

    # Asks it to end, when it has finished what runs. Sinatra calls it.
    def stop
      signal("TERM")
    end

    private

    def take_signals
      SIGNALS.filter_map do |name, sent|
        handler = trap(name) { signal(sent) }
        # `nohup` is a wish, too.
        trap(name, handler) if handler == "IGNORE"
        [name, handler]
      rescue ArgumentError
        nil # A Java machine has some of them for itself.
      end
    end

    # In a signal handler, too. One that comes before there is a process waits for it.
    def signal(name)
      @asked = name
      Process.kill(name, @pid) if @pid
    rescue Errno::ESRCH
      nil
    end

    # This thread was ended by something else than the end of the server.
    def finish
      return unless @pid

      stop
      Process.wait(@pid)
    rescue SystemCallError
      nil
    end
  end
end
