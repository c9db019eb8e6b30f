# frozen_string_literal: true

# FoolsGold behind the proxies, in one of two ways: with its own sockets, with `--user` if this is root; or with a
# socket that is held open and outlives it, as by systemd.

require "etc"
require "socket"

require_relative "site"

class Server
  OPTIONS = %w[--engine ruby -e production -w 2 -t 5 --access-log off --request-time 5s].freeze

  attr_reader :address, :port, :admin

  # Servers of one site differ by their names; those that share a port for health checks by their addresses, too.
  def initialize(site, program, name: "web", address: "127.0.0.1", admin: Site.port, options: [])
    @site = site
    @program = program
    @name = name
    @address = address
    @port = Site.port
    @admin = admin
    @options = [*OPTIONS, "--admin", "tcp://#{address}:#{admin}", *options]
    @log = site.path("#{name}.log")
  end

  def socket
    @site.path("run/#{@name}.sock")
  end

  # Starts it with its own sockets.
  def start
    as = @site.root? ? ["--user", Site::SERVER_USER] : []
    spawn_server([], ["-b", "unix://#{socket}", "-b", "tcp://#{@address}:#{@port}", *as], {})
  end

  # Starts it with the held socket.
  def start_held
    @held ||= UNIXServer.new(socket).tap { File.chmod(0o666, socket) }
    # The shell knows its process id, and becomes the server.
    shell = ["sh", "-c", "LISTEN_FDS=1 LISTEN_PID=$$ exec \"$@\"", "sh", *@site.as(Site::SERVER_USER)]
    spawn_server(shell, ["--bind-to-activated-sockets"], { 3 => @held })
  end

  def reload
    told = IO.popen([@program, "reload", "--control", control, { err: %i[child out] }], &:read)
    raise Site::Trouble, "the reload failed: #{told}" unless $?.success?
  end

  # Upgrades the server: another process takes over.
  def upgrade
    before = pid
    Process.kill("USR2", before)
    Site.wait("the upgrade; see #{tail}") { File.exist?(pidfile) && pid != before && ended?(before) }
  end

  def stop
    Process.kill("TERM", pid)
    Site.wait("the end of the server; see #{tail}") { ended?(@started) && !File.exist?(pidfile) }
  end

  # Closes the held socket.
  def let_go
    @held&.close
    @held = nil
    File.delete(socket) if File.exist?(socket)
  end

  def end_all
    stop if File.exist?(pidfile)
    let_go
  rescue Errno::ESRCH
    nil
  end

  private

  def spawn_server(before, options, redirects)
    File.write(@log, "")
    File.chown(Etc.getpwnam(Site::SERVER_USER).uid, nil, @log) if @site.root?
    environment = { "PROXIES_FOLDER" => @site.path("seen"), "HOME" => @site.folder, "BUNDLE_GEMFILE" => nil,
                    "PATH" => ENV.fetch("PATH") }
    command = [*before, @program, *@options, *options, "--pidfile", pidfile, "--control", control,
               "--dir", @site.folder]
    @started = Process.spawn(environment, *command, in: File::NULL, %i[out err] => [@log, "a"], **redirects)
    Site.wait("the server's start; see #{tail}") do
      raise Site::Trouble, "the server ended:\n#{tail}" if ended?(@started)

      File.read(@log).include?(" serving ") && File.exist?(pidfile)
    end
  end

  def pidfile
    @site.path("run/#{@name}.pid")
  end

  def control
    @site.path("run/#{@name}.control")
  end

  def pid
    Integer(File.read(pidfile))
  end

  def ended?(id)
    begin
      Process.wait(id, Process::WNOHANG)
    rescue Errno::ECHILD
      # It is a successor, which is no child of this process, or has been waited for.
    end
    Process.kill(0, id)
    false
  rescue Errno::ESRCH
    true
  end

  def tail
    File.read(@log).lines.last(15).join
  end
end
