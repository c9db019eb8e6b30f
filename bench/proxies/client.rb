# frozen_string_literal: true

# A client with one connection, over TLS by default, that sends exact bytes and never retries.

require "openssl"
require "socket"
require "timeout"

class Client
  HOST = "shop.example"
  # Timeout in seconds, longer than any step may take.
  PATIENCE = 30

  Reply = Struct.new(:status, :headers, :body)

  # Raised for a response that cannot be parsed.
  class Broken < StandardError; end

  def self.open(port, tls: true)
    client = new(port, tls: tls)
    yield client
  ensure
    client&.close
  end

  def initialize(port, tls: true)
    @tcp = TCPSocket.new("127.0.0.1", port)
    @io = tls ? encrypted(@tcp) : @tcp
  end

  def close
    @io.close
    @tcp.close
  rescue IOError, SystemCallError, OpenSSL::SSL::SSLError
    nil
  end

  def get(path, headers = {})
    within { head("GET", path, headers) && reply }
  end

  def post(path, body, headers = {})
    within do
      head("POST", path, { "Content-Length" => body.bytesize }.merge(headers))
      @io.write(body)
      reply
    end
  end

  # Sends a chunked body.
  def post_chunks(path, pieces)
    within do
      head("POST", path, "Transfer-Encoding" => "chunked")
      pieces.each { |piece| @io.write("#{piece.bytesize.to_s(16)}\r\n", piece, "\r\n") }
      @io.write("0\r\n\r\n")
      reply
    end
  end

  # Sends a request and yields all bytes so far, until the block returns true.
  def stream(path)
    within do
      head("GET", path, {})
      seen = +""
      loop { break if yield(seen << @io.readpartial(65_536)) }
      seen
    end
  end

  # Upgrades to a WebSocket and returns the status.
  def websocket(path)
    within do
      head("GET", path, "Upgrade" => "websocket", "Connection" => "Upgrade", "Sec-WebSocket-Version" => "13",
                        "Sec-WebSocket-Key" => "dGhlIHNhbXBsZSBub25jZQ==")
      Integer(headers.first[/\A\S+ (\d+)/, 1])
    end
  end

  # Sends a short WebSocket message and returns the next one.
  def say(words)
    within do
      mask = [1, 2, 3, 4]
      masked = words.bytes.each_with_index.map { |byte, at| byte ^ mask[at % 4] }
      @io.write([0x81, 0x80 | masked.size, *mask, *masked].pack("C*"))
      _, length = @io.read(2).unpack("CC")
      @io.read(length)
    end
  end

  private

  def encrypted(tcp)
    context = OpenSSL::SSL::SSLContext.new
    # The certificate was made for this run.
    context.verify_mode = OpenSSL::SSL::VERIFY_NONE
    io = OpenSSL::SSL::SSLSocket.new(tcp, context)
    io.hostname = HOST
    io.sync_close = true
    within { io.connect }
    io
  end

  def within(&work)
    Timeout.timeout(PATIENCE, &work)
  end

  def head(method, path, headers)
    lines = { "Host" => HOST }.merge(headers).map { |name, value| "#{name}: #{value}\r\n" }
    @io.write("#{method} #{path} HTTP/1.1\r\n#{lines.join}\r\n")
  end

  def headers
    lines = []
    while (line = @io.gets("\r\n")&.chomp)
      return lines if line.empty?

      lines << line
    end
    raise Broken, "closed before the end of the headers"
  end

  def reply
    first, *lines = headers
    fields = lines.to_h { |line| line.split(/:\s*/, 2).then { |name, value| [name.downcase, value] } }
    Reply.new(Integer(first[/\A\S+ (\d+)/, 1]), fields, body(fields))
  end

  def body(fields)
    return chunks if fields["transfer-encoding"] == "chunked"
    return exactly(Integer(fields["content-length"])) if fields["content-length"]

    @io.read.to_s
  end

  def chunks
    body = +""
    until (size = @io.gets("\r\n").to_s.hex).zero?
      body << exactly(size)
      exactly(2)
    end
    exactly(2)
    body
  end

  def exactly(size)
    bytes = size.zero? ? "" : @io.read(size)
    raise Broken, "closed in the middle of an answer" if bytes.nil? || bytes.bytesize < size

    bytes
  end
end
