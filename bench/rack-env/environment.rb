# frozen_string_literal: true

# Request environments from the responses of dump.ru, and their differences.

require "io/wait"
require "socket"

# A value as text, with its class, encoding and whether it is frozen.
Pair = Struct.new(:value, :kind)

module Environment
  ANSWER_S = 5
  # Keys whose values change with each request: an id, a time.
  PASSING = /\AHTTP_X_REQUEST_|\A\(input has\)/.freeze

  class << self
    # The pairs of the environment by key; or the status, as "(status)", of a request that was refused.
    def ask(port, request)
      answer = Socket.tcp("127.0.0.1", port, connect_timeout: ANSWER_S) do |socket|
        socket.write(request)
        read(socket)
      end
      head, body = answer.b.split("\r\n\r\n", 2)
      head, body = body.split("\r\n\r\n", 2) while head.to_s.start_with?("HTTP/1.1 100")
      status = head.to_s[%r{\AHTTP/1\.\d (\d+)}, 1]
      return { "(status)" => Pair.new(status || "none", "") } unless status == "200"

      body = dechunk(body) if /^transfer-encoding: chunked/i.match?(head)
      parse(body, port)
    rescue Errno::ECONNRESET, Errno::EPIPE
      { "(status)" => Pair.new("reset", "") }
    end

    # The pairs in the body of a response of dump.ru.
    def parse(body, port)
      body.each_line(chomp: true).to_h do |line|
        key, key_class, kind, encoding, frozen, value = line.split("\t", -1)
        key = [key].pack("H*")
        key = "#{key} (a #{key_class})" unless key_class == "String"
        [key, Pair.new(words([value.to_s].pack("H*"), port), kind == "String" ? "#{encoding} #{frozen}" : kind)]
      end
    end

    # Differences of two environments: key => text.
    def differences(ours, theirs)
      if [ours, theirs].any? { |env| env.key?("(status)") }
        return status(ours) == status(theirs) ? {} : { "(status)" => "#{status(theirs)}  =>  #{status(ours)}" }
      end

      keys = (theirs.keys | ours.keys).select { |key| shown(theirs[key], key) != shown(ours[key], key) }
      keys.to_h { |key| [key, "#{shown(theirs[key], key)}  =>  #{shown(ours[key], key)}"] }
    end

    def status(env) = env.key?("(status)") ? env["(status)"].value : "200"

    def shown(pair, key) = pair.nil? ? "-" : (PASSING.match?(key) ? "there" : pair.value)

    private

    def words(value, port)
      return "(its port)".inspect if value == port.to_s

      value = "#{value[0, 60]}... (#{value.bytesize} bytes)" if value.bytesize > 300
      value.force_encoding("UTF-8").valid_encoding? ? value.inspect : value.b.inspect
    end

    # Reads until the server closes or is silent: some keep the connection, whatever the request says.
    def read(socket)
      text = "".b
      while socket.wait_readable(text.empty? ? ANSWER_S : 0.5)
        text << socket.readpartial(1 << 16)
      end
      text
    rescue EOFError
      text
    end

    def dechunk(body)
      out = "".b
      while (size = body.slice!(/\A\h+[^\r]*\r\n/))
        break if size.hex.zero?

        out << body.slice!(0, size.hex)
        body.slice!(0, 2)
      end
      out
    end
  end
end
