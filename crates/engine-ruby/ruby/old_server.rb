# frozen_string_literal: true

# What the hooks of other servers are given: a server, a worker, and how a worker has ended.

module FoolsGold
  # Of Unicorn and Pitchfork.
  OldServer = Struct.new(:config, :pid, :logger, :worker_processes, :timeout) do
    # A recipe for a port of each worker, which is not followed: workers have no address of their own.
    def listen(address, *)
      @told ||= Log.warn("mold: server.listen #{address} in a hook: workers listen on no address of their own")
      nil
    end

    def listeners
      [config[:listen]].compact
    end

    def preload_app
      config[:preload_app]
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
end
