# frozen_string_literal: true

# Runs commands that start the server, as a user at a terminal does.

require "fileutils"
require "foolsgold/binary"
require "net/http"
require "open3"
require "socket"
require "tmpdir"

# For a test: a folder and a port of its own, and at most one command.
module StartsServer
  LIB = File.expand_path("../lib", __dir__)
  PATIENCE = 60
  RUBY = RbConfig.ruby
  # Of each command's environment.
  VARIABLES = { "RUBYLIB" => LIB, "FOOLS_GOLD_WORKERS" => "1", "RACK_ENV" => nil, "APP_ENV" => nil }.freeze

  def setup
    FoolsGold::Binary.path
    @folder = Dir.mktmpdir("foolsgold-gem-")
    @port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
  rescue FoolsGold::Unable => error
    flunk error.message
  end

  def teardown
    Process.kill("KILL", @pid) if @pid
    FileUtils.remove_entry(@folder) if @folder
  end

  def write(name, text)
    File.write(File.join(@folder, name), text)
  end

  def log
    File.read(File.join(@folder, "log"))
  end

  # Runs a command, gives the answer at a path, calls the block, ends the command with INT, as at a terminal, and wants
  # a good end.
  def serve(*command, path: "/", folder: @folder, variables: {})
    variables = VARIABLES.merge(variables)
    output = File.join(@folder, "log")
    @pid = Process.spawn(variables, *command, chdir: folder, %i[out err] => output)
    answer = within do
      fail_ended if Process.wait(@pid, Process::WNOHANG)
      Net::HTTP.get_response(URI("http://127.0.0.1:#{@port}#{path}"))
    end
    assert_equal "200", answer.code, log
    yield if block_given?
    Process.kill("INT", @pid)
    _, status = within { Process.wait2(@pid, Process::WNOHANG) }
    @pid = nil
    assert status.success?, log
    answer.body
  end

  # Runs a command that goes into the background, gives the answer at a path, and ends it by its pid file.
  def serve_in_background(*command, pid_file:, path: "/", folder: @folder)
    said, status = Open3.capture2e(VARIABLES, *command, chdir: folder)
    write("log", said)
    assert status.success?, said
    within { Net::HTTP.get(URI("http://127.0.0.1:#{@port}#{path}")) }
  ensure
    end_by(File.join(folder, pid_file))
  end

  def end_by(pid_file)
    Process.kill("INT", Integer(File.read(pid_file)))
    within { !File.exist?(pid_file) }
  rescue Errno::ENOENT, Errno::ESRCH
    nil # It has ended by itself.
  end

  def fail_ended
    @pid = nil
    flunk "the command ended by itself:\n#{log}"
  end

  # Asks until there is an answer.
  def within
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + PATIENCE
    loop do
      found = begin
        yield
      rescue SystemCallError
        nil
      end
      return found if found
      flunk "nothing in #{PATIENCE} s:\n#{log}" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit

      sleep 0.02
    end
  end
end
