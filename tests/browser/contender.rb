# A server with the application: started, deployed to, hurt and ended as its users do.

require "json"
require "net/http"
require "socket"
require_relative "place"

class Contender
  BOOT_S = 60
  attr_reader :server, :mode, :port

  # server: puma or foolsgold; mode: production or development; site: the folder of its releases, the same for both,
  # since paths stand in pages; settings: variables of FoolsGold's environment.
  def initialize(place, server, mode, site: "site", database: nil, settings: [])
    @place = place
    @server = server
    @mode = mode
    @site = site
    @name = "#{mode}-#{server}"
    @port = TCPServer.open("127.0.0.1", 0) { |socket| socket.addr[1] }
    @database = database
    @settings = settings
  end

  def base = "http://127.0.0.1:#{@port}"

  def production? = @mode == "production"

  # From a shell in the folder `current`, which is how the servers know that name.
  def command(words = start_words)
    [*Needs.inside(*variables), "sh", "-c", "cd #{@place.in("#{@site}/current")} && exec #{words}"]
  end

  def start
    prepare
    @pid = spawn(*command, in: File::NULL, %i[out err] => log_file)
    ready("one")
  end

  # The application in a folder of its own, with a new database.
  def prepare
    @place.releases(@site)
    done = system(*command("bin/prepare"), in: File::NULL, %i[out err] => log_file)
    raise BrowserError, "bin/prepare of #{@name}: #{log}" unless done
  end

  def start_words
    case [@server, @mode]
    when %w[puma production] then "puma -C config/puma.rb"
    when %w[foolsgold production] then "foolsgold -C config/puma.rb"
    else "bin/rails server -u #{@server} -b 127.0.0.1 -p #{@port}"
    end
  end

  # Waits until the release answers.
  def ready(release, seconds = BOOT_S)
    within(seconds, pause: 0.05) do
      raise BrowserError, "#{@name} has ended: #{log}" if @pid && Process.wait(@pid, Process::WNOHANG)

      version["version"] == release
    rescue SystemCallError, EOFError, JSON::ParserError, Timeout::Error
      false
    end || raise(BrowserError, "#{@name} does not serve #{release}: #{log}")
  end

  def version = JSON.parse(Net::HTTP.get(URI("#{base}/version")))

  # A new release behind `current`, and word of it to the server.
  def deploy
    @place.lead(@site, "two")
    Process.kill(@server == "puma" ? :USR2 : :USR1, @pid)
  end

  # The word of Passenger, Puma's plugin and FoolsGold.
  def touch_restart = FileUtils.touch(file("tmp/restart.txt"))

  # A file of the release that `current` leads to, from outside of the ring.
  def file(name) = @place.out("#{@site}/current/#{name}")

  # Seconds from the signal until the process has gone, and how it ended.
  def stop(signal, patience = 100)
    began = now
    Process.kill(signal, @pid)
    status = within(patience) { Process.wait2(@pid, Process::WNOHANG) }
    @pid = nil if status
    [now - began, status ? status[1].exitstatus || "signal #{status[1].termsig}" : "does not end"]
  end

  # Ends it, if it has not ended.
  def close
    return unless @pid

    stop(:TERM, 5)
    return unless @pid

    Process.kill(:KILL, @pid)
    Process.wait(@pid)
    @pid = nil
  rescue Errno::ESRCH, Errno::ECHILD
    nil
  end

  # What it has said.
  def log = File.exist?(log_file) ? File.read(log_file, encoding: "UTF-8").scrub : ""

  private

  def log_file = @place.out("#{@name}.log")

  def variables
    folder = @place.in(@site)
    ["PATH=#{@place.in("bin")}:/usr/local/bin:/usr/bin:/bin", "PORT=#{@port}", "RAILS_ENV=#{@mode}", "TERM=xterm",
      "SHARED_DIR=#{folder}/shared", "RUBYLIB=#{@place.in("gem/lib")}",
      *("DATABASE_URL=#{@database.url(@name.tr("-", "_"))}" if @database),
      *("RAILS_LOG_TO_STDOUT=1" if production?), *(@settings if @server == "foolsgold")]
  end
end
