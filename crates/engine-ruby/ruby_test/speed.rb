# frozen_string_literal: true

# Measures the processor time that a worker needs for a hello request:
# `ruby ruby_test/speed.rb [--native PATH] [requests] [pipelined]`. With PATH, that of the native worker, both kinds of
# worker take turns.

require_relative "front"

native = ARGV.shift(2).last if ARGV[0] == "--native"
requests = (ARGV[0] || 100_000).to_i
ahead = (ARGV[1] || 4).to_i

APP = <<~RUBY
  answer = "hello world\\n"
  run(lambda do |env|
    if env["PATH_INFO"] == "/cpu"
      [200, {}, [Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID).to_s]]
    else
      [200, { "content-type" => "text/plain", "content-length" => "12" }, [answer]]
    end
  end)
RUBY

F = FoolsGold::Frames
KEYS = %w[PATH_INFO QUERY_STRING REQUEST_URI REMOTE_ADDR HTTP_ACCEPT HTTP_USER_AGENT HTTP_ACCEPT_ENCODING HTTP_COOKIE
          HTTP_ACCEPT_LANGUAGE HTTP_REFERER HTTP_X_REQUEST_ID HTTP_HOST].freeze
STEADY = { "REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "",
           "SERVER_PROTOCOL" => "HTTP/1.1", "HTTP_VERSION" => "HTTP/1.1",
           "rack.url_scheme" => "http", "SERVER_NAME" => "localhost", "SERVER_PORT" => "9292" }.freeze
VALUES = ["/hello", "", "/hello", "127.0.0.1", "text/html,application/xhtml+xml", "Mozilla/5.0 (X11; Linux x86_64)",
          "gzip, br", "session=0123456789abcdef",
          "en,de;q=0.5", "http://localhost/", "0123-4567", "localhost"].join("\0")

# Returns microseconds of the worker's processor time per request, and requests per second.
def measure(native, requests, ahead)
  Front.run(APP, native: native) do |front|
    worker = front.fork
    slot = worker.slots.first
    shape = KEYS.flat_map { |key| [key, "v"] } + STEADY.flat_map { |key, value| [key, "c", value] }
    slot.write(F.frame(F::SHAPE, [1, F.list(shape)].pack("na*")))
    request = F.frame(F::REQUEST, [7, 1, 0, VALUES.bytesize, VALUES].pack("NnCNa*"))
    batch = request * ahead
    slot.write(request)
    one = F.read(slot)
    raise one.inspect unless one.last.end_with?("hello world\n")

    size = (one.last.bytesize + 5) * ahead
    (3000 / ahead).times { slot.write(batch) && slot.read(size) }
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    before = worker.get("/cpu").body.to_f
    (requests / ahead).times { slot.write(batch) && slot.read(size) }
    cpu = worker.get("/cpu").body.to_f - before
    [cpu / requests * 1e6, requests / (Process.clock_gettime(Process::CLOCK_MONOTONIC) - began)]
  end
end

workers = { "plain" => "", "native" => native }.compact
results = Hash.new { |hash, name| hash[name] = [] }
rounds = ENV.fetch("ROUNDS", native ? 5 : 1).to_i
rounds.times { workers.each { |name, path| results[name] << measure(path, requests, ahead) } }
results.each do |name, all|
  cpu, rate = all.sort[all.size / 2]
  puts format("%<name>-6s %<ahead>d ahead: %<cpu>.2f us of the worker's processor per request, %<rate>d requests/s",
              name: name, ahead: ahead, cpu: cpu, rate: rate)
end
