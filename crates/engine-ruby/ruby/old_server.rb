# frozen_string_literal: true

# What the hooks of other servers are given: a server, a worker, and how a worker has ended.

module FoolsGold
  # Of Unicorn and Pitchfork.
  class OldServer
    attr_accessor :pid
    # What the file has said, with the defaults of its server.
    attr_reader :config, :listener_opts

    def initialize(config, listener_opts)
      @config = config
      @listener_opts = listener_opts
    end

    %i[worker_processes timeout preload_app logger stdout_path stderr_path].each do |name|
      define_method(name) { @config[name] }
    end

    # The application, where it is loaded.
    def app
      FoolsGold.application
    end

    # Workers have no address of their own: the log says so, and what does the same as the recipe for a port of each
    # worker.
    def listen(address, *)
      @has_warned ||= Log.warn(
        "server.listen #{address} in a hook does nothing: workers have no addresses of their own, each request goes " \
        "to one that is free. What each of them does: foolsgold workers"
      ) || true
      nil
    end

    def listeners
      @config[:listeners]
    end

    def master_pid
      Process.ppid
    end

    # Where the output goes is decided by the file.
    def stdout_path=(_path); end
    def stderr_path=(_path); end
  end

  OldWorker = Struct.new(:nr, :pid) do
    # The recipe for workers that give up root.
    def user(user, group = nil)
      uid = Etc.getpwnam(user).uid
      gid = group ? Etc.getgrnam(group).gid : Etc.getpwnam(user).gid
      Process.initgroups(user, gid)
      Process::GID.change_privilege(gid)
      Process::UID.change_privilege(uid)
    end
    alias_method :generation, :nr
  end

  # What hooks of Puma are told of a worker that has ended.
  OldHandle = Struct.new(:index, :pid, :process_status)

  # Puma's launcher, for hooks before a restart.
  OldLauncher = Struct.new(:config) do
    def options
      config.options
    end

    def log_writer
      OldLogWriter
    end
    alias_method :events, :log_writer
  end

  # To which hooks of Puma write.
  module OldLogWriter
    module_function

    def log(text)
      Log.info(text)
    end

    def error(text)
      Log.error(text)
    end

    def debug(text)
      Log.debug(text)
    end
    alias_method :unknown_error, :error
  end
end
