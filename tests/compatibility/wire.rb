# frozen_string_literal: true

# One connection over which any bytes can be sent, and the words for what comes back.

ENV["PATIENCE"] ||= "5"
require_relative "../answers/check"

class Wire < Connection
  # How long a server may be silent before it counts as hanging. What hangs for this long hangs for good in these
  # cases, and what answers does so in milliseconds, so the outcome is the same on a busy machine.
  SILENCE_S = PATIENCE

  attr_reader :io

  def initialize(port, host = "127.0.0.1")
    super(URI("http://#{host.include?(":") ? "[#{host}]" : host}:#{port}"))
  end

  # What the server has closed meanwhile is no fault of the case: the answer may be there all the same.
  def write(bytes)
    Timeout.timeout(SILENCE_S) { @io.write(bytes) }
    self
  rescue SystemCallError, Timeout::Error
    self
  end

  def half_close
    @io.close_write
    self
  rescue SystemCallError
    self
  end

  # The next answer.
  def answer(method = "GET", seconds = SILENCE_S)
    Timeout.timeout(seconds) { reply(method) }
  rescue Timeout::Error
    Reply.none("hangs")
  rescue SystemCallError, IOError
    Reply.none("no answer")
  end

  # Whether the server ends the connection, without another byte.
  def ended?
    @io.wait_readable(SILENCE_S) ? @io.read_nonblock(1).nil? : false
  rescue EOFError, SystemCallError
    true
  end
end

class Reply
  # The words of a cell: the status, or what came instead of one.
  def words
    return status.to_s + (fault ? ", cut off" : "") if status

    case fault
    when "hangs" then "hangs"
    when /\Ano status/ then "no HTTP"
    else "closed"
    end
  end
end

# What a case may do with its server.
class Session
  attr_reader :server

  def initialize(server)
    @server = server
    @wires = []
  end

  def port = @server.port

  def connect
    @wires << Wire.new(port)
    @wires.last
  end

  # A connection over which these bytes were sent.
  def send(*parts)
    wire = connect
    parts.each { |part| part.is_a?(Numeric) ? sleep(part) : wire.write(part) }
    wire
  end

  def close
    @wires.each(&:close)
  end
end
