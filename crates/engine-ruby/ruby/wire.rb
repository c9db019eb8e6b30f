# frozen_string_literal: true

# Connections to the front.

module FoolsGold
  # Where the front listens, and the right to connect to it.
  class Wire
    def initialize(path, token)
      @path = path
      @token = token
    end

    # Removes the folder that the front has made and cannot remove any more.
    def remove
      folder = ::File.dirname(@path)
      scripts = ::File.join(folder, "ruby")
      Dir.children(scripts).each { |name| ::File.delete(::File.join(scripts, name)) }
      Dir.rmdir(scripts)
      ::File.delete(@path)
      Dir.rmdir(folder)
    rescue SystemCallError
      nil # Another process was faster.
    end

    # Opens a connection and says HELLO on it.
    def open(role, worker = 0, slot = 0, seq = 0)
      io = UNIXSocket.new(@path)
      io.sync = true
      hello = [Frames::VERSION, role, worker, slot, seq, Process.pid, @token].pack("CCNNNNa*")
      io.write(Frames.frame(Frames::HELLO, hello))
      io
    end

    # The same, for a thread that only reads and writes there: two system calls fewer for each batch of requests.
    def open_blocking(role, worker = 0, slot = 0)
      io = open(role, worker, slot)
      io.fcntl(Frames::F_SETFL, io.fcntl(Frames::F_GETFL, 0) & ~::File::NONBLOCK)
      io
    rescue NotImplementedError, Errno::EINVAL, ArgumentError
      io # Rubies without fcntl have sockets that block.
    end
  end
end
