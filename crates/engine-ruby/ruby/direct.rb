# frozen_string_literal: true

# How a worker writes a long string to the client itself.

module FoolsGold
  # The connection on which the front passes clients' sockets to one thread of a worker, each for one string. The string
  # is written for as long as the client keeps up; the front sends the rest.
  class Direct
    # The time in seconds for which a client is waited for: at first, for each byte that it has taken, and at most. As
    # in the front (spool.rs), which does not wait longer before it puts an answer into a file.
    FIRST = 0.01
    FOR_BYTE = 1.0 / (32 << 20)
    MOST = 1

    # The number of the connection, from 1 on.
    attr_reader :number

    # Opens the connection. Returns nil if the front does not accept it.
    def self.open(wire, worker, slot, number)
      io = wire.open(Frames::DIRECT_ROLE, worker, slot, number)
      direct = new(io, number) if io.recv(1) == "\x01"
    ensure
      io&.close unless direct
    end

    def initialize(io, number)
      @io = io
      @number = number
      @awaits = false
    end

    # Waits for a client's socket, writes as much of the string there as the client takes soon, and reports to the front
    # how many bytes that is. Returns this number; if the front declines, writes nothing and returns 0. An exception of
    # another thread may break off the wait for the client, and the front then learns how much was written; or the wait
    # for the socket, after which the connection is to be closed.
    def write(string)
      Thread.handle_interrupt(Output::WHOLLY) do
        socket, is_lost = received
        @written = 0
        begin
          fill(socket, string) if socket
        ensure
          @io.write([@written].pack("Q>")) if socket || is_lost
        end
        @written
      end
    end

    # Notes that an offer names this connection, so that the front sends an answer.
    def await
      @awaits = true
    end

    # Whether an answer of the front is still to be read.
    def awaits?
      @awaits
    end

    def close
      @io.close
    end

    def closed?
      @io.closed?
    end

    private

    # The socket that the front passes on; nil if it declines. And whether there was one that the kernel has dropped,
    # because this process may have no more files: the front waits for a report on it, too.
    def received
      message = :wait_readable
      while message == :wait_readable
        wait { IO.select([@io]) } # First, since the answer is not there yet.
        message = @io.recvmsg_nonblock(1, 0, 64, scm_rights: true, exception: false)
      end
      data, _sender, flags, rights = message
      raise IOError, "the front is gone" if data.nil? || data.empty?

      @awaits = false
      [rights&.unix_rights&.first, flags.anybits?(Socket::MSG_CTRUNC)]
    end

    # Writes until the client has all or does not keep up, and notes the number of bytes.
    def fill(socket, string)
      size = string.bytesize
      began = now
      while @written < size
        left = [FIRST + (@written * FOR_BYTE), MOST].min - (now - began)
        break unless left.positive? && wait { IO.select(nil, [socket], nil, left) }

        rest = @written.zero? ? string : string.byteslice(@written, size - @written)
        @written += sent(socket, rest) || break
      end
    ensure
      socket.close
    end

    # The number of bytes that the client takes now, which is at least one. Nil if it has gone, which the front sees
    # when it writes the rest. Other threads run meanwhile: sendmsg_nonblock would keep them waiting. Only here is a
    # SystemCallError the client's: the application may have a timer that raises one (Timeout.timeout with
    # Errno::ETIMEDOUT), which ends a wait.
    def sent(socket, bytes)
      socket.send(bytes, Socket::MSG_NOSIGNAL | Socket::MSG_DONTWAIT)
    rescue SystemCallError
      nil
    end

    def wait(&block)
      Thread.handle_interrupt(Output::WAITING, &block)
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
