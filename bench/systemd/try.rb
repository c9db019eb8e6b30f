# frozen_string_literal: true

# Runs under a systemd of its own (bin/systemd): shop.service, with shop.socket and without it, behind nginx as www-data
# and under load, over reloads, upgrades and restarts. Prints the results; exit code 1 if one is wrong.

require "fileutils"
require "net/http"

HERE = "/opt/try"
PORT = 8080
# The proxy's URL; its port is free, since the run has a network namespace of its own.
URL = URI("http://127.0.0.1:#{PORT}/")
NGINX = <<~TEXT
  user www-data; pid /run/try-nginx.pid; error_log /run/try-nginx.log warn;
  events { worker_connections 512; }
  http {
    access_log off;
    server { listen 127.0.0.1:#{PORT}; location / { proxy_pass http://unix:/run/shop/web.sock:; } }
  }
TEXT
APP = <<~TEXT
  require "socket"
  VERSION = "%s"
  run ->(_) { [200, { "content-type" => "text/plain" }, ["\#{VERSION} of \#{Process.uid}"]] }
TEXT

$failed = false

def say(words, is_right)
  $failed ||= !is_right
  puts "#{is_right ? "right" : "WRONG"}: #{words}"
end

def systemctl(*words)
  system("systemctl", *words, %i[out err] => File::NULL)
end

def shown(name)
  IO.popen(["systemctl", "show", "-p", name, "--value", "shop.service"], &:read).strip
end

def version(name)
  File.write("/srv/shop/config.ru", name == "broken" ? "raise 'not today'" : format(APP, name))
end

def answer
  Net::HTTP.get(URL)
end

def wait(seconds = 60)
  deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
  until (found = yield)
    return found if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline

    sleep 0.05
  end
  found
end

# The number of requests of four clients while the block runs, and their failures by kind.
def under_load
  over = false
  clients = Array.new(4) do
    Thread.new do
      count = Hash.new(0)
      until over
        kind = begin
          Net::HTTP.get_response(URL).code
        rescue StandardError => e
          e.class.name
        end
        count[kind] += 1
      end
      count
    end
  end
  yield
  over = true
  counts = clients.map(&:value).reduce { |all, one| all.merge(one) { |_, a, b| a + b } }
  [counts.values.sum, counts.reject { |kind, _| kind == "200" }]
end

def nothing_lost(what, &)
  all, failed = under_load(&)
  say("#{what}: #{failed.values.sum} of #{all} requests lost #{failed unless failed.empty?}", failed.empty?)
end

def reloads(name)
  nothing_lost("#{name}, a reload and one that fails") do
    version("v2")
    say("#{name}, a reload serves the new code", systemctl("reload", "shop") && answer.start_with?("v2"))
    version("broken")
    say("#{name}, a reload of broken code fails", !systemctl("reload", "shop"))
    say("#{name}, the old code goes on", answer.start_with?("v2") && shown("ActiveState") == "active")
    version("v3")
  end
end

def upgrade(name)
  nothing_lost("#{name}, an upgrade") do
    before = shown("MainPID")
    systemctl("kill", "-s", "USR2", "--kill-whom=main", "shop")
    wait { shown("MainPID") != before && shown("ActiveState") == "active" && answer.start_with?("v3") }
    say("#{name}, systemd follows an upgrade", shown("MainPID") != before && answer.start_with?("v3"))
  end
end

def stop(name)
  systemctl("stop", "shop.socket", "shop.service")
  say("#{name}, the end: #{shown("Result")}", shown("Result") == "success")
end

# Stays longer than WatchdogSec with the process of the upgrade.
def watchdog(name)
  before = shown("MainPID")
  sleep 25
  say("#{name}, the watchdog is content", shown("MainPID") == before && shown("ActiveState") == "active")
end

FileUtils.cp("#{HERE}/foolsgold", "/usr/local/bin/foolsgold")
FileUtils.cp(%w[shop.service shop.socket].map { |unit| "#{HERE}/#{unit}" }, "/etc/systemd/system")
system("useradd", "--system", "shop") unless system("id", "shop", %i[out err] => File::NULL)
FileUtils.mkdir_p("/srv/shop")
version("v1")
File.write("/run/nginx.conf", NGINX)
system("ip", "link", "set", "lo", "up")
systemctl("daemon-reload")
system("nginx", "-c", "/run/nginx.conf") || abort("nginx does not start")
puts IO.popen(%w[systemctl --version], &:gets)

say("shop.service starts by itself", systemctl("start", "shop.service"))
say("www-data may connect to its socket", answer.start_with?("v1"))
reloads("alone")
upgrade("alone")
watchdog("alone")
stop("alone")

version("v1")
say("shop.socket and shop.service start", systemctl("start", "shop.socket") && systemctl("start", "shop.service"))
say("www-data may connect to systemd's socket", answer.start_with?("v1"))
reloads("with shop.socket")
upgrade("with shop.socket")
nothing_lost("with shop.socket, started again twice") { 2.times { systemctl("restart", "shop") && answer } }
all, failed = under_load do
  systemctl("kill", "-s", "KILL", "--kill-whom=main", "shop")
  wait { shown("NRestarts") == "1" && shown("ActiveState") == "active" && answer.start_with?("v3") }
end
lost = failed.values.sum
say("with shop.socket, killed: #{lost} of #{all} requests lost; it had 4 at most", lost <= 4)
stop("with shop.socket")
Process.kill("TERM", Integer(File.read("/run/try-nginx.pid")))
exit(!$failed)
