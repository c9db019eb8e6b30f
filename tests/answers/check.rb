# frozen_string_literal: true

# Asks a server that serves config.ru for every row, and compares what comes: `ruby check.rb URL [ROW...]` prints what
# differs and ends with 1 where something does.

require "socket"
require "uri"
require "zlib"
require "stringio"
require "timeout"
require_relative "book"

# What came for one request.
Reply = Struct.new(:status, :headers, :body, :fault) do
  def self.none(why)
    new(nil, [], "", why)
  end

  def all(name)
    headers.select { |other, _| other == name }.map(&:last)
  end

  def cut?
    fault&.match?(/cut off|no answer/)
  end
end

# One connection.
class Connection
  PATIENCE = Integer(ENV.fetch("PATIENCE", "10"))

  def initialize(uri)
    @io = Socket.tcp(uri.hostname, uri.port, connect_timeout: PATIENCE)
  end

  def ask(method, target, headers = {})
    lines = headers.map { |name, value| "#{name}: #{value}\r\n" }.join
    @io.write("#{method} #{target} HTTP/1.1\r\nHost: localhost\r\n#{lines}\r\n")
    Timeout.timeout(PATIENCE) { reply(method) }
  rescue Timeout::Error
    Reply.none("no end within #{PATIENCE} s")
  rescue SystemCallError => error
    Reply.none("no answer: #{error.class}")
  end

  def close
    @io.close
  end

  private

  def reply(method)
    line = @io.gets("\r\n") or return Reply.none("no answer")
    status = line[%r{\AHTTP/1\.[01] (\d{3})( |\r)}, 1] or return Reply.none("no status in #{line.b.dump[0, 60]}")
    reply = Reply.new(status.to_i, head, String.new, nil)
    body(reply) unless method == "HEAD" || [204, 304].include?(reply.status) || reply.status < 200
    reply
  end

  def head
    headers = []
    while (line = @io.gets("\r\n")) && line != "\r\n"
      name, value = line.chomp("\r\n").b.split(":", 2)
      headers << [name.downcase, value.to_s.strip]
    end
    headers
  end

  def body(reply)
    if reply.all("transfer-encoding").map(&:downcase) == ["chunked"] then chunks(reply)
    elsif (length = reply.all("content-length").first) then exactly(reply, length)
    else reply.body << @io.read.to_s
    end
  end

  def exactly(reply, length)
    return reply.fault = "content-length is #{length.dump}" unless length.match?(/\A\d+\z/)

    reply.body << @io.read(length.to_i).to_s
    reply.fault = "cut off" if reply.body.bytesize < length.to_i
  end

  def chunks(reply)
    while (line = @io.gets("\r\n"))
      return reply.fault = "cut off by #{line.dump}" unless line.match?(/\A\h+(;.*)?\r\n\z/)

      part = @io.read(line.hex).to_s
      reply.body << part
      return reply.fault = "cut off" if part.bytesize < line.hex || @io.read(2) != "\r\n"
      return if part.empty?
    end
    reply.fault = "cut off"
  end
end

# What is wrong with a reply, by its row.
class Verdict
  def initialize(row, reply)
    @row = row
    @reply = reply
  end

  def wrong
    return [] if @reply.cut? && (@row.expected[:cut] || @row.expected[:fails])
    return [@reply.fault] if @reply.status.nil?
    return ["status #{@reply.status}, not #{@row.status}"] if @reply.status != @row.status

    [end_of_it, body, length, *headers].compact
  end

  private

  def end_of_it
    @row.expected[:cut] ? "it does not break off" : @reply.fault
  end

  def body
    return if @row.body.nil?

    found = @reply.body
    found = Zlib::GzipReader.new(StringIO.new(found)).read if @reply.all("content-encoding") == ["gzip"]
    found = found.chars.sort.join if @reply.all("x-sorted").any?
    "the body is #{short(found)}, not #{short(@row.body)}" if found.b != @row.body.b
  end

  def short(text)
    text.bytesize > 60 ? "#{text.bytesize} bytes" : text.b.dump
  end

  def length
    return unless @row.expected.key?(:length)

    found = @reply.all("content-length")
    return if found.empty? && @reply.all("connection").include?("close") # Unicorn ends each body so.

    wanted = [*@row.expected[:length]]
    "content-length is #{found.inspect}, not #{wanted.inspect}" if found != wanted
  end

  def headers
    @row.expected.fetch(:headers, {}).map do |name, values|
      found = @reply.all(name.b)
      "#{name.dump} is #{found.inspect}, not #{values.inspect}" if found.map(&:b) != values.map(&:b)
    end
  end
end

# All rows, or those that are named, against one server.
class Check
  # What is wrong, by the name of the row; and the names of all that were asked for.
  attr_reader :differing, :asked

  # `before` is called before each row.
  def initialize(url, names = [], &before)
    @uri = URI(url)
    @names = names
    @before = before
    @runs = 0
    @differing = {}
    @asked = []
  end

  def run
    here = once("/names").body.split("\n")
    raise "#{@uri} does not serve tests/answers/config.ru" unless Book.find(here.first)

    here &= @names unless @names.empty?
    here.each do |name|
      @before&.call
      @asked << name
      wrong = look(Book.find(name))
      @differing[name] = wrong unless wrong.empty?
    end
    self
  end

  def report
    @differing.each { |name, wrong| puts "#{name}: #{wrong.join("; ")}" }
    puts "#{@asked.size} asked, #{@differing.size} differ"
  end

  private

  def once(target)
    connection = Connection.new(@uri)
    connection.ask("GET", target, "Connection" => "close")
  ensure
    connection&.close
  end

  def look(row)
    run = "#{Process.pid}-#{object_id}-#{@runs += 1}"
    connection = Connection.new(@uri)
    reply = connection.ask(row.expected.fetch(:method, "GET"), "/#{row.name}?#{run}", row.expected.fetch(:request, {}))
    [*Verdict.new(row, reply).wrong, after(connection, reply), seen(row, run)].compact
  rescue SystemCallError => error
    ["no connection: #{error.class}"]
  ensure
    connection&.close
  end

  # Whether the connection is fit for the next request, or closed.
  def after(connection, reply)
    return if reply.fault || reply.status.nil? || reply.all("connection").include?("close")

    next_one = connection.ask("GET", "/ping")
    return if next_one.body == "pong" || next_one.cut?

    "the next answer on its connection is #{next_one.status.inspect} #{next_one.body.b.dump[0, 60]} #{next_one.fault}"
  end

  # What is done after the answer may take a moment.
  def seen(row, run)
    return unless row.expected.key?(:seen)

    wanted = Array(row.expected[:seen])
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + Connection::PATIENCE
    until wanted.include?(found = once("/seen?#{run}").body)
      return "it was asked for #{found.inspect}, not #{wanted.join(" or ").inspect}" if
        Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit

      sleep 0.02
    end
  end
end

if $PROGRAM_NAME == __FILE__
  check = Check.new(*ARGV.shift(1), ARGV).run
  check.report
  exit(check.differing.empty?)
end
