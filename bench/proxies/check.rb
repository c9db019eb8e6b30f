# frozen_string_literal: true

# Starts each proxy with its example of docs/examples in front of FoolsGold and checks everything that the examples
# promise. Prints a table; exit code 1 if a check fails.
# Usage: ruby bench/proxies/check.rb PROGRAM SECONDS [PROXY...]

require "digest"
require "json"

require_relative "client"
require_relative "load"
require_relative "proxies"
require_relative "server"
require_relative "site"

# Headers that only a proxy may send. A client sends them here, and none may reach the application.
FORGED = %w[X-Forwarded-For X-Forwarded-Host X-Forwarded-Proto X-Forwarded-Port X-Forwarded-Scheme X-Forwarded-Ssl
            X-Forwarded-Server X-Forwarded-User Forwarded X-Real-IP Client-IP Remote-User X-Original-URL
            X-Rewrite-URL X-Script-Name X-Sendfile-Type X-Accel-Mapping X-Request-Id X-Request-Start X-Client-IP
            X-Cluster-Client-IP True-Client-IP X-Originating-IP CF-Connecting-IP CF-Connecting-IPv6 Fastly-Client-IP
            Fly-Client-IP X-URL-Scheme X-Scheme Front-End-Https X-Original-URI X-Original-Host X-Original-Method
            X-Original-Forwarded-For X-Forwarded-Email X-Forwarded-Groups X-Forwarded-Preferred-Username
            X-Forwarded-Access-Token X-Remote-User X-Auth-Request-User X-Auth-Request-Email X-Auth-Request-Groups
            X-Auth-Request-Preferred-Username X-Auth-Request-Access-Token SSL-Client-Cert SSL-Client-Verify
            SSL-Client-S-DN X-SSL-Client-Cert X-SSL-Client-Verify X-SSL-Client-S-DN Client-Cert Client-Cert-Chain
            X-Client-Cert X-Client-Verify X-Client-DN X-Queue-Start].freeze

# Results of the checks of one proxy.
class Report
  attr_reader :troubles, :notes

  def initialize(title)
    @title = title
    @troubles = []
    @notes = {}
  end

  # Runs a check, which raises if it fails.
  def check(name)
    return unless name.include?(ENV.fetch("PROXIES_CHECK", ""))

    found = yield
    @notes[name] = found.is_a?(String) ? found : "yes"
  rescue StandardError => e
    @troubles << "#{@title}, #{name}: #{e.class}: #{e.message}"
    @notes[name] = "NO"
  end
end

def same(what, found, wanted)
  raise Site::Trouble, "#{what} is #{found.inspect}, not #{wanted.inspect}" unless found == wanted
end

def environment(proxy)
  Client.open(proxy.port) do |client|
    reply = client.get("/env/a%2Fb%20c?d=%26", FORGED.to_h { |name| [name, "forged"] })
    same("the status", reply.status, 200)
    env = JSON.parse(reply.body)
    forged = env.select { |_, value| value.include?("forged") }
    raise Site::Trouble, "the client could say #{forged}" unless forged.empty?

    same("the scheme", env["rack.url_scheme"], "https")
    same("HTTP_HOST", env["HTTP_HOST"], Client::HOST)
    same("HTTP_X_FORWARDED_FOR", env["HTTP_X_FORWARDED_FOR"], "127.0.0.1")
    # Apache sends the port of the request's Host, Caddy none, the others the port that they listen on.
    port = env["HTTP_X_FORWARDED_PORT"]
    raise Site::Trouble, "HTTP_X_FORWARDED_PORT is #{port}" unless [nil, "443", proxy.port.to_s].include?(port)

    same("REQUEST_URI", env["REQUEST_URI"], "/env/a%2Fb%20c?d=%26")
    id = env["HTTP_X_REQUEST_ID"].to_s
    raise Site::Trouble, "HTTP_X_REQUEST_ID is #{id.inspect}" if id.size < 16

    same("the id in the answer", reply.headers["x-request-id"], id)
    start = env["HTTP_X_REQUEST_START"].to_s
    raise Site::Trouble, "HTTP_X_REQUEST_START is #{start.inspect}" unless start.match?(/\A(?:t=)?\d{10,}[.\d]*\z/)
  end
end

def redirect(proxy)
  Client.open(proxy.plain_port, tls: false) do |client|
    reply = client.get("/x")
    raise Site::Trouble, "status #{reply.status}" unless [301, 302, 307, 308].include?(reply.status)
    raise Site::Trouble, reply.headers["location"] unless reply.headers["location"].start_with?("https://shop.example")
  end
end

def upload(proxy)
  body = Random.new(1).bytes(20 << 20)
  Client.open(proxy.port) do |client|
    same("the digest", client.post("/upload", body).body, Digest::SHA256.hexdigest(body))
    pieces = Array.new(40) { |at| body[at << 16, 1 << 16] }
    same("the digest of chunks", client.post_chunks("/upload", pieces).body, Digest::SHA256.hexdigest(pieces.join))
  end
end

def events(proxy, site)
  name = "first-#{proxy.port}"
  Client.open(proxy.port) do |client|
    seen = client.stream("/events?#{name}") do |so_far|
      File.write(site.path("seen/#{name}"), "") if so_far.include?("data: first\n\n")
      so_far.match?(/data: (second|late)\n\n/)
    end
    raise Site::Trouble, "the first event came with the second" if seen.include?("late")
  end
end

def websocket(proxy)
  Client.open(proxy.port) do |client|
    same("the status", client.websocket("/websocket"), 101)
    3.times { |time| same("the echo", client.say("hello #{time}"), "hello #{time}") }
  end
end

def http2(proxy)
  url = "https://#{Client::HOST}:#{proxy.port}/echo?two"
  resolve = "#{Client::HOST}:#{proxy.port}:127.0.0.1"
  told = IO.popen(["curl", "-sk", "--max-time", "20", "--http2", "--resolve", resolve, "-w", " %{http_version}", url],
                  &:read)
  same("the answer over HTTP/2", told, "two 2")
end

def file(proxy)
  Client.open(proxy.port) do |client|
    reply = client.get("/assets/a.txt")
    same("the file", reply.body, "an asset\n")
    raise Site::Trouble, "it came from the application" if reply.headers.key?("x-request-id")
  end
  "yes"
end

# FoolsGold's own 504 comes through, before the proxy's.
def late(proxy)
  Client.open(proxy.port) do |client|
    reply = client.get("/sleep")
    same("the status", reply.status, 504)
    raise Site::Trouble, "it is the proxy's own" unless reply.headers["x-request-id"]
  end
end

# Runs a load during the block. No request may fail; with :safe, no safe request.
def under_load(proxy, seconds, what = :all)
  load = Load.new(proxy.port)
  deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
  through = lambda do
    seen = load.right
    Site.wait("requests go through") { load.right > seen + 50 }
  end
  begin
    through.call
    yield through
    through.call
    sleep 0.05 while Process.clock_gettime(Process::CLOCK_MONOTONIC) < deadline
  ensure
    count = load.end
  end
  unless (what == :safe ? count.safe : { **count.safe, **count.unsafe }).empty?
    raise Site::Trouble, "of #{count.right + count.failed}: #{count.in_words}; the proxy's log ends with\n#{proxy.log}"
  end

  all = count.right + count.failed
  what == :safe ? "0 GET and #{count.unsafe.values.sum} POST of #{all}" : "0 of #{all}"
end

def renewals(proxy, server, seconds)
  under_load(proxy, seconds) do |through|
    [:reload, :reload, :upgrade].each { |act| server.public_send(act).then { through.call } }
  end
end

def with_proxy(kind, site, upstream)
  proxy = kind.new(site, upstream)
  proxy.start
  yield proxy
ensure
  proxy&.stop
end

# The checks of single requests and connections.
def look(report, proxy, site, over)
  report.check("environment, #{over}") { environment(proxy) }
  report.check("upload, #{over}") { upload(proxy) }
  report.check("events at once, #{over}") { events(proxy, site) }
  report.check("WebSocket, #{over}") { websocket(proxy) }
end

def try(kind, site, program, seconds)
  report = Report.new(kind.title)
  server = Server.new(site, program)
  server.start
  with_proxy(kind, site, server.socket) do |proxy|
    look(report, proxy, site, "Unix socket")
    report.check("HTTP/2") { http2(proxy) }
    report.check("redirect to https") { redirect(proxy) }
    report.check("own files") { proxy.serves_files? ? file(proxy) : "-" }
    report.check("504 of FoolsGold") { late(proxy) }
    report.check("lost: two reloads, an upgrade") { renewals(proxy, server, seconds) }
  end
  with_proxy(kind, site, server.port) do |proxy|
    look(report, proxy, site, "TCP")
    report.check("lost: two reloads, an upgrade, TCP") { renewals(proxy, server, seconds) }
    report.check("lost: two starts again, TCP, no socket of systemd") do
      next "-" if proxy.waiting == :none

      under_load(proxy, seconds, proxy.waiting) { |through| again(server, :start, through) }
    end
  end
  server.stop
  server.start_held
  with_proxy(kind, site, server.socket) do |proxy|
    report.check("lost: two starts again, socket of systemd") do
      under_load(proxy, seconds) { |through| again(server, :start_held, through) }
    end
  end
  server.end_all
  report.check("lost: each of two servers started again") do
    kind.balances? ? balanced(kind, site, program, seconds) : "-"
  end
  report
ensure
  server&.end_all
end

# Stops and starts two servers, one after the other.
def balanced(kind, site, program, seconds)
  admin = Site.port
  servers = { "one" => "127.0.0.1", "two" => "127.0.0.2" }.map do |name, address|
    Server.new(site, program, name: name, address: address, admin: admin, options: %w[--drain-lag 5s])
  end
  servers.each(&:start)
  with_proxy(kind, site, servers) do |proxy|
    Site.wait("both are in turn") { Client.open(proxy.port) { |client| client.get("/echo?here").status == 200 } }
    under_load(proxy, seconds) do |through|
      servers.each { |server| server.stop && server.start && through.call }
    end
  end
ensure
  servers&.each(&:end_all)
end

def again(server, start, through)
  2.times do
    server.stop
    server.public_send(start)
    through.call
  end
end

def table(reports)
  names = reports.values.flat_map { |report| report.notes.keys }.uniq
  puts "| | #{reports.keys.join(" | ")} |", "| --- |#{" --- |" * reports.size}"
  names.each do |name|
    puts "| #{name} | #{reports.values.map { |report| report.notes.fetch(name, "not tried") }.join(" | ")} |"
  end
end

program, seconds, *only = ARGV
kinds = Proxy.all.select { |kind| only.empty? || only.include?(kind.title.downcase) }
reports = kinds.to_h do |kind|
  title = "#{kind.title} #{kind.version}"
  warn "proxies: #{title}"
  [title, Site.open { |site| try(kind, site, program, Float(seconds)) }]
end
table(reports)
troubles = reports.values.flat_map(&:troubles)
troubles.each { |trouble| warn trouble }
exit(troubles.empty?)
