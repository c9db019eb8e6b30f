# frozen_string_literal: true

# Connections to the front.

module FoolsGold
  # The endpoint of the front, and the token to connect to it.
  class Wire
    # O_PATH of Linux: a descriptor that refers to a file without opening it.
    O_PATH = 0o10000000

    # The attempts to connect while the queue of the front's socket is full, and the seconds between two of them.
    TRIES = 500
    PAUSE = 0.02

    # Must be created while the socket exists.
    def initialize(path, token)
      @path = path
      @token = token
      @folder = ::File.dirname(path)
      @owner = ::File.lstat(@folder).uid
      @user = Process.euid
      @held = hold
    end

    # Whether this process runs as the user with which the front has started its mold: a hook may have changed that.
    def same_user?
      Process.euid == @user
    end

    # Whether the front can be connected to.
    def there?
      [@held, (@path if ours?)].any? { |path| path && ::File.socket?(path) }
    end

    # Removes the folder of a front that has ended and cannot remove it itself.
    def remove
      return unless ours?

      scripts = ::File.join(@folder, "ruby")
      Dir.children(scripts, encoding: Encoding::BINARY).each { |name| ::File.delete(::File.join(scripts, name)) }
      Dir.rmdir(scripts)
      ::File.delete(@path)
      Dir.rmdir(@folder)
    rescue SystemCallError
      nil # Another process was faster.
    end

    # Opens a connection and sends HELLO on it. Sockets of Ruby 3 do not block: while the queue of the front's socket is
    # full, connect(2) fails (EAGAIN), and Ruby returns a socket without a connection.
    def open(role, worker = 0, slot = 0, seq = 0)
      tries ||= 0
      io = connect
      io.sync = true
      hello = [Frames::VERSION, role, worker, slot, seq, Process.pid, @token].pack("CCNNNNa*")
      io.write(Frames.frame(Frames::HELLO, hello))
      is_open = true
      io
    rescue Errno::EAGAIN, Errno::ENOTCONN
      raise if (tries += 1) == TRIES

      io&.close
      sleep PAUSE
      retry
    ensure
      io&.close unless is_open
    end

    # Opens a blocking connection, for a thread that only reads and writes it: two system calls fewer for each batch of
    # requests.
    def open_blocking(role, worker = 0, slot = 0)
      io = open(role, worker, slot)
      io.fcntl(Frames::F_SETFL, io.fcntl(Frames::F_GETFL, 0) & ~::File::NONBLOCK)
      io
    rescue NotImplementedError, Errno::EINVAL, ArgumentError
      io # Rubies without fcntl have sockets that block.
    end

    private

    # A path to the socket itself, which works even after a program that cleans temporary folders has removed its name.
    # Forked processes inherit it. Nil where there is no /proc.
    def hold
      path = "/proc/self/fd/#{IO.sysopen(@path, O_PATH)}"
      path if ::File.socket?(path)
    rescue SystemCallError, NotImplementedError, ArgumentError
      nil
    end

    def connect
      return by_name unless @held

      begin
        UNIXSocket.new(@held)
      rescue SystemCallError
        by_name # The application has closed what it did not open.
      end
    end

    def by_name
      raise Errno::ENOENT, @path unless ours?

      UNIXSocket.new(@path)
    end

    # Whether the folder is this user's: after its removal, another user could create one of its name.
    def ours?
      ::File.lstat(@folder).then { |folder| folder.directory? && folder.uid == @owner }
    rescue SystemCallError
      false
    end
  end
end
