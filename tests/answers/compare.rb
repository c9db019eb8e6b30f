# frozen_string_literal: true

# Starts servers by their commands, asks each for every row, and prints a table of what differs, for bin/answers.

require "fileutils"
require "tmpdir"
require_relative "check"

# A server in a folder of its own with the application, on a free port.
class Started
  def initialize(command)
    @folder = Dir.mktmpdir("answers")
    FileUtils.cp(Dir[File.join(__dir__, "*.{rb,ru,txt}")], @folder)
    FileUtils.chmod(0o755, @folder)
    File.mkfifo(File.join(@folder, "fifo"))
    @port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
    places = { "{port}" => @port.to_s, "{folder}" => @folder, "{name}" => File.basename(@folder) }
    @command = command.gsub(/\{(port|folder|name)\}/) { |place| places.fetch(place) }
    start
  end

  # The check of it. One that a row has ended is started again.
  def check
    wait
    Check.new("http://127.0.0.1:#{@port}") { again unless answers? }.run
  end

  def stop
    kill
    FileUtils.rm_rf(@folder)
  end

  private

  # Its whole process group: a server may keep threads that hang in an answer.
  def kill
    Process.kill("KILL", -@pid)
    Process.wait(@pid)
  rescue Errno::ESRCH, Errno::ECHILD
    nil
  end

  def again
    kill
    start
    wait
  end

  def start
    @pid = spawn(@command, chdir: @folder, pgroup: true, %i[out err] => File.join(@folder, "log"))
  end

  def wait
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 60
    until answers?
      raise "it does not serve:\n#{File.read(File.join(@folder, "log"))}" if
        Process.wait(@pid, Process::WNOHANG) || Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit

      sleep 0.1
    end
  end

  def answers?
    Socket.tcp("127.0.0.1", @port).close || true
  rescue SystemCallError
    false
  end
end

# A cell of a Markdown table.
def cell(words)
  words.gsub("|", "\\|").gsub(/[<>]/, "<" => "&lt;", ">" => "&gt;")
end

checks = ARGV.map do |argument|
  name, command = argument.split("=", 2)
  server = Started.new(command || raise(ArgumentError, "#{argument} is not NAME=COMMAND"))
  begin
    [name, server.check]
  ensure
    server.stop
  end
end.to_h

puts "| row | expected | #{checks.keys.join(" | ")} |", "| --- | --- |#{" --- |" * checks.size}"
Book.rows.each do |row|
  next if checks.values.none? { |check| check.differing.key?(row.name) }

  cells = checks.values.map do |check|
    next "not asked" unless check.asked.include?(row.name)

    check.differing.key?(row.name) ? cell(check.differing[row.name].join("; ")) : "as expected"
  end
  puts "| #{row.name} | #{row.status}#{" or cut off" if row.expected[:fails]}#{", cut off" if row.expected[:cut]} | " \
       "#{cells.join(" | ")} |"
end
puts
checks.each { |name, check| puts "#{name}: #{check.differing.size} of #{check.asked.size} differ" }
