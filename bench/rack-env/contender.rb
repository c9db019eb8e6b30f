# frozen_string_literal: true

# A server under test: started by its name in a folder with an application, on a free port of 127.0.0.1, and stopped
# with all its processes. For bin/rack-env and bin/compatibility.

require "fileutils"
require "socket"
require "tmpdir"
require "timeout"
require_relative "../../tests/program"

class Contender
  RING = ENV.fetch("RING", "/opt/ring")
  BOOT_S = 60
  STOP_S = 10
  ROOT = File.expand_path("../..", __dir__)

  # How it is started. `bind` is an address as in Puma, "tcp" for 127.0.0.1 and its port, nil for the default with its
  # port. `options` are added to the command; `environment` and `limits` (of Process.spawn) are for the process.
  Setup = Struct.new(:workers, :threads, :bind, :options, :environment, :limits, :mode, :stdin,
                     keyword_init: true) do
    def self.one(**more)
      new(workers: 1, threads: 1, bind: "tcp", options: [], environment: {}, limits: {}, mode: "production",
          stdin: File::NULL, **more)
    end
  end

  attr_reader :name, :port, :folder, :pid

  # `files` are the application's, as name => text; config.ru must be one of them.
  def initialize(name, files, setup = Setup.one)
    @name = name
    @setup = setup
    @port = TCPServer.open("127.0.0.1", 0) { |socket| socket.addr[1] }
    @folder = Dir.mktmpdir("contender-", in_ring? ? File.join(RING, "tmp") : nil)
    FileUtils.chmod(0o755, @folder)
    files.each { |path, text| write(path, text) }
  end

  def self.files_of(folder)
    Dir[File.join(folder, "*.{rb,ru,txt}")].to_h { |path| [File.basename(path), File.read(path)] }
  end

  def write(path, text)
    FileUtils.mkdir_p(File.dirname(File.join(@folder, path)))
    File.write(File.join(@folder, path), text)
  end

  # Starts the server; returns whether it serves within BOOT_S.
  def start
    log = File.join(@folder, "server.log")
    @pid = spawn({ "RACK_ENV" => @setup.mode, **@setup.environment }, *command, **streams(log), **@setup.limits,
                 chdir: @folder, pgroup: true)
    @group = @pid
    serves?(BOOT_S)
  rescue Errno::ENOENT
    false
  end

  # Whether a plain request gets a response in time.
  def serves?(seconds)
    limit = now + seconds
    until answers?([limit - now, 0.1].max)
      return false if now > limit || ended?

      sleep 0.05
    end
    true
  end

  def ended?
    return true unless @pid

    @pid = nil if Process.wait(@pid, Process::WNOHANG)
    @pid.nil?
  end

  # Sends TERM, and later KILL to the remaining processes.
  def stop
    unless ended?
      signal(:TERM)
      limit = now + STOP_S
      sleep 0.02 until ended? || now > limit
    end
    Process.kill(:KILL, -@group) if @group
  rescue Errno::ESRCH
    nil
  ensure
    Process.wait(@pid) if @pid
    @pid = @group = nil
    FileUtils.rm_rf(@folder)
  end

  def again
    folder = @folder
    @folder = File.join(folder, "none")
    stop
    @folder = folder
    start
  end

  def signal(name)
    Process.kill(name, @pid)
  end

  def log = File.read(File.join(@folder, "server.log"), encoding: "BINARY")

  def in_ring? = @name == "ring-puma"

  private

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def streams(log)
    { in: @setup.stdin, out: log, err: log }
  end

  def answers?(seconds)
    path = @setup.bind.to_s[%r{\Aunix://([^?]+)}, 1]
    socket = path ? UNIXSocket.new(path) : Socket.tcp("127.0.0.1", @port, connect_timeout: seconds)
    socket.write("GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
    !socket.wait_readable(seconds).nil? && !socket.read(1).nil?
  rescue SystemCallError
    false
  ensure
    socket&.close
  end

  def command
    case @name
    when "puma" then %w[puma] + puma
    when "ring-puma" then inside(%w[puma] + puma)
    when "unicorn" then %w[unicorn -E] + [@setup.mode, *unicorn, *@setup.options, "config.ru"]
    when "thin" then %w[thin start -e] + [@setup.mode, *thin, "-R", "config.ru", *@setup.options]
    when "passenger" then %w[passenger start] + passenger
    when "fg-mruby" then foolsgold("--engine", "mruby", "-t", (@setup.workers * @setup.threads).to_s)
    when "fg-plain", "fg-native"
      foolsgold("--engine", "ruby", "-w", @setup.workers.to_s, "-t", @setup.threads.to_s,
                "--ruby-worker", @name.delete_prefix("fg-"))
    else raise ArgumentError, "no server #{@name}"
    end
  end

  def url = @setup.bind == "tcp" ? "tcp://127.0.0.1:#{@port}" : @setup.bind

  def puma
    where = url ? ["-b", url.sub(in_ring? ? RING : "", "")] : ["-p", @port.to_s]
    threads = "#{@setup.threads}:#{@setup.threads}"
    workers = @setup.workers > 1 ? @setup.workers : 0
    ["-q", "-e", @setup.mode, "-w", workers.to_s, "-t", threads, *where, *@setup.options, "config.ru"]
  end

  def unicorn
    unless File.exist?(File.join(@folder, "unicorn.rb"))
      write("unicorn.rb", "worker_processes #{@setup.workers}\n")
    end
    where = url&.sub(%r{\Atcp://|\Aunix://}, "")&.sub(/\?.*/, "")
    ["-c", "unicorn.rb", "-l", where || @port.to_s]
  end

  def thin
    return ["-S", url[%r{\Aunix://([^?]+)}, 1]] if url.to_s.start_with?("unix")

    [*(["-a", "127.0.0.1"] if url), "-p", @port.to_s]
  end

  def passenger
    where = url.to_s.start_with?("unix") ? ["-S", url[%r{\Aunix://([^?]+)}, 1]] : ["-p", @port.to_s]
    where += ["-a", "127.0.0.1"] if url.to_s.start_with?("tcp")
    %W[--engine builtin -e #{@setup.mode} --max-pool-size #{@setup.workers} --min-instances #{@setup.workers}
       --log-file #{@folder}/passenger.log --pid-file #{@folder}/pid --instance-registry-dir #{@folder}
       --disable-security-update-check --disable-anonymous-telemetry] + where + @setup.options + [@folder]
  end

  def foolsgold(*options)
    [Program.path, "-e", @setup.mode, *(url ? ["-b", url] : ["-p", @port.to_s]), *options, *@setup.options]
  end

  # The command with the folder's path inside the ring.
  def inside(command)
    home = @folder.delete_prefix(RING)
    ["chroot", RING, "env", "-i", "-C", home, "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/root", "LANG=C.UTF-8",
     "RACK_ENV=#{@setup.mode}", *@setup.environment.map { |name, value| "#{name}=#{value}" }, *command]
  end
end
