# frozen_string_literal: true

# Applications that take the connection: with headers first (partial), altogether (full), and for a WebSocket.

require_relative "common"
require "digest"

GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

def accept(env)
  [Digest::SHA1.digest(env["HTTP_SEC_WEBSOCKET_KEY"] + GUID)].pack("m0")
end

# Reads one masked text frame of less than 126 bytes and sends it back, unmasked.
def echo(io)
  _, length = io.read(2).unpack("CC")
  mask = io.read(4).bytes
  bytes = io.read(length & 127).bytes.each_with_index.map { |byte, at| byte ^ mask[at % 4] }
  io.write([0x81, bytes.size, *bytes].pack("C*"))
  io.flush
end

def socket(io)
  echo(io)
  io.close
  note("websocket closed")
end

use Linted
run paths(
  "/partial" => lambda do |_|
    hijack = lambda do |io|
      io.write("first ")
      wait_for("go1")
      io.write("second")
      io.close
    end
    [200, { "content-type" => "text/plain", "rack.hijack" => hijack }, []]
  end,
  "/partial-echo" => lambda do |_|
    hijack = lambda do |io|
      io.write(io.read(6).upcase)
      io.close
    end
    headers = { "content-type" => "text/plain", "rack.hijack" => hijack }
    [200, headers, []]
  end,
  "/full" => lambda do |env|
    io = env["rack.hijack"].call
    io.write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/plain\r\n\r\nby hand")
    io.close
    [200, { "content-type" => "text/plain" }, []]
  end,
  "/full-stays" => lambda do |env|
    io = env["rack.hijack"].call
    io.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\n")
    wait_for("go1")
    io.write("later")
    io.close
    [200, { "content-type" => "text/plain" }, []]
  end,
  "/full-thread" => lambda do |env|
    io = env["rack.hijack"].call
    Thread.new do
      wait_for("go1")
      io.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nlater")
      io.close
    end
    [200, { "content-type" => "text/plain" }, []]
  end,
  "/websocket" => lambda do |env|
    headers = { "upgrade" => "websocket", "connection" => "Upgrade", "sec-websocket-accept" => accept(env) }
    [101, headers.merge("rack.hijack" => method(:socket).to_proc), []]
  end,
  "/websocket-full" => lambda do |env|
    io = env["rack.hijack"].call
    io.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" \
             "Sec-WebSocket-Accept: #{accept(env)}\r\n\r\n")
    Thread.new { socket(io) }
    [200, { "content-type" => "text/plain" }, []]
  end,
  "/plain" => ->(_) { text("plain") }
)
