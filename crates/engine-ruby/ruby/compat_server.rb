# frozen_string_literal: true

# The arguments of other servers' hooks: a server, a worker, and the exit of a worker.

module FoolsGold
  # The server object of Unicorn and Pitchfork.
  class CompatServer
    attr_accessor :pid
    # The directives of the file, with the defaults of its server.
    attr_reader :config, :listener_opts

    def initialize(config, listener_opts)
      @config = config
      @listener_opts = listener_opts
    end

    %i[worker_processes timeout preload_app logger stdout_path stderr_path listeners].each do |name|
      define_method(name) { @config[name] }
    end

    # The application, if it is loaded.
    def app
      FoolsGold.application
    end

    # Logs that workers have no address of their own, with the alternative to a port for each worker.
    def listen(address, *)
      @has_warned ||= Log.warn(
        "server.listen #{address} in a hook does nothing: workers have no addresses of their own, each request goes " \
        "to one that is free. What each of them does: foolsgold workers"
      ) || true
      nil
    end

    def master_pid
      Process.ppid
    end

    # Ignored: the directives of the file decide where the output goes.
    def stdout_path=(_path); end
    def stderr_path=(_path); end
  end

  # Takes the place of a file that is not there.
  module NoFile
    def self.chown(*); end
    def self.chmod(*); end
  end

  CompatWorker = Struct.new(:nr, :pid) do
    # Changes the user and group of this process, as Unicorn's `worker.user` does: nothing if it has them, which needs
    # no root. `group` may be two groups, the second of which Unicorn gives to the log files.
    def user(user, group = nil)
      account = Etc.getpwnam(user)
      group = group.first if group.is_a?(Array)
      gid = group ? Etc.getgrnam(group).gid : account.gid
      if Process.euid.zero? || (group && Process.egid != gid)
        Process.initgroups(user, gid)
        Process::GID.change_privilege(gid)
      end
      Process::UID.change_privilege(account.uid) if Process.euid != account.uid
    end

    # Unicorn's file by which its master sees that a worker is alive. Files give it to the worker's user; there is none.
    def tmp
      NoFile
    end

    # Pitchfork's number of the fork of its mold: there is one mold here, which never serves.
    def generation
      0
    end

    # Pitchfork's number of requests that this worker has served, with the one that has just ended.
    def requests_count
      runners = FoolsGold.worker&.runners || []
      runners.sum { |runner| runner.slot.seq }
    end

    # Pitchfork's name of a worker in the log.
    def to_log
      "worker=#{nr} pid=#{pid}"
    end
  end

  # The argument of Puma's hooks after a worker has exited, with what the process that forks knows of it.
  CompatHandle = Struct.new(:index, :pid, :process_status, :started_at, :booted) do
    def uptime
      Time.now - started_at
    end

    # Whether the worker was told to exit: such a worker exits with status 0.
    def term?
      process_status&.success? ? true : false
    end

    alias_method :booted?, :booted

    def phase
      0
    end

    def last_checkin
      Time.now
    end

    def last_status
      {}
    end
  end

  # Puma's launcher, for hooks before a restart.
  CompatLauncher = Struct.new(:config) do
    def options
      config.options
    end

    def log_writer
      CompatLogWriter
    end
    alias_method :events, :log_writer
  end

  # What Puma passes to before_thread_start: the number of threads, which a hook cannot change here.
  class CompatThreadPool
    def min_threads
      FoolsGold.threads
    end
    alias max_threads min_threads

    def update_thread_pool_min_max(**)
      Log.warn("update_thread_pool_min_max in a hook does nothing: options set the number of threads (-t, " \
               "--max-threads)")
    end
  end

  # The log writer for hooks of Puma.
  module CompatLogWriter
    { log: :info, error: :error, debug: :debug, unknown_error: :error }.each do |name, level|
      define_singleton_method(name) { |text, *| Log.public_send(level, text) }
    end
  end
end
