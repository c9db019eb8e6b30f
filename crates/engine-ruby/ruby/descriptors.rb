# frozen_string_literal: true

# Descriptors that the application holds open when workers are forked, and that all workers would share: two processes
# that read from one connection get each other's answers.

module FoolsGold
  # Compares the open descriptors of this process with those from before the application was loaded. Linux only: where
  # there is no /proc/self/fd, nothing is found.
  class Descriptors
    FOLDER = "/proc/self/fd"

    # The first bytes of an SQLite file.
    SQLITE = "SQLite format 3\0".b

    # Sizes of a TLS alert in bytes, encrypted or not, with the head of its record.
    FAREWELL = (7..31)
    # A state of a TCP connection, in the kernel's numbers.
    CLOSE_WAIT = 8

    STREAMS = [Socket::SOCK_STREAM, Socket::SOCK_SEQPACKET].freeze

    # A descriptor: its number, kind and description. Kinds: `connection` to another process, on which answers could get
    # mixed up; `ended`, a connection whose other end is closed; `database` of SQLite; `listener`, `datagrams`, `pair`,
    # `pipe` and `events`, which are shared without harm or made anew by the libraries that use them.
    Descriptor = Struct.new(:number, :kind, :words)

    def initialize
      @known = targets.values
    end

    # The descriptors that were opened since this was made, and are open now.
    def opened
      targets.filter_map do |number, target|
        next if @known.include?(target) && !target.start_with?("/")

        kind, words = identify(number, target)
        Descriptor.new(number, kind, "#{words} (descriptor #{number})") if kind
      end
    end

    private

    # Descriptor numbers with their targets, such as `socket:[12345]`, as bytes: the name of a file need not be valid in
    # this locale, and the application may have chosen an encoding that is no superset of ASCII.
    def targets
      Dir.children(FOLDER, encoding: Encoding::BINARY).each_with_object({}) do |name, targets|
        targets[name.to_i] = ::File.readlink("#{FOLDER}/#{name}").b
      rescue SystemCallError
        nil # The descriptor that reads the folder itself is closed by now.
      end
    rescue SystemCallError
      {}
    end

    def identify(number, target)
      case target
      when /\Asocket:/ then socket(number)
      when /\Apipe:/ then [:pipe, "a pipe"]
      when /\Aanon_inode:\[?event/ then [:events, "an event queue"]
      when %r{\A/} then [:database, "the SQLite database #{target}"] if sqlite?(target)
      end
    end

    def socket(number)
      socket = BasicSocket.for_fd(number)
      socket.autoclose = false
      type = socket.getsockopt(:SOCKET, :TYPE).int
      return [:listener, "the listener #{name(socket.local_address)}"] if listens?(socket)

      peer = socket.remote_address
      return [:datagrams, "datagrams to #{name(peer)}"] unless STREAMS.include?(type)
      return [:ended, "a connection that #{name(peer)} has closed"] if ended?(socket)
      return [:pair, "a socket pair"] if peer.unix? && [peer, socket.local_address].all? { |one| one.unix_path.empty? }

      [:connection, "a connection #{"from #{name(socket.local_address)} " if peer.ip?}to #{name(peer)}"]
    rescue SystemCallError, SocketError
      nil # It is not connected.
    end

    # Whether the other end has closed the connection and left nothing to read but a TLS alert: no answer comes on it.
    def ended?(socket)
      return false unless socket.wait_readable(0)

      left = socket.recv(FAREWELL.end + 1, Socket::MSG_PEEK)
      # nil at the end, from Ruby 3.3 on; before it, an empty text.
      left.nil? || left.empty? || (farewell?(left) && closed?(socket))
    rescue Errno::ECONNRESET
      true
    end

    # Whether the bytes are one TLS record with an alert, which looks like data from TLS 1.3 on.
    def farewell?(bytes)
      kind, length = bytes.unpack("Cx2n")
      FAREWELL.cover?(bytes.bytesize) && bytes.bytesize == length + 5 && [21, 23].include?(kind)
    end

    # Whether the kernel has received the end of the stream.
    def closed?(socket)
      socket.getsockopt(:TCP, :INFO).data.ord == CLOSE_WAIT
    rescue SystemCallError, SocketError
      false
    end

    def listens?(socket)
      socket.getsockopt(:SOCKET, :ACCEPTCONN).bool
    rescue SystemCallError
      false
    end

    def name(address)
      address.inspect_sockaddr
    end

    def sqlite?(path)
      ::File.file?(path) && ::File.binread(path, SQLITE.bytesize) == SQLITE
    rescue SystemCallError
      false
    end
  end
end
