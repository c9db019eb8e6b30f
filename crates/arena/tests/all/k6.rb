# A stand-in for k6 on machines without it: it behaves like k6 v1.3.0 with the arena's script, as far as the arena
# observes it. It reads the case at the start of the script, sends real requests, and writes the output of the script's
# handleSummary.

require "json"
require "net/http"

if ARGV == ["version"]
  puts "k6 v1.3.0 (go1.26.8, linux/amd64)"
  exit
end
abort "a fake k6 runs scripts and says its version, not #{ARGV.join(" ")}" unless ARGV.first == "run"
File.write(ENV["FAKE_K6_LOG"], "#{ARGV.join(" ")} #{ENV.keys.grep(/\AK6_/).join}\n", mode: "a") if ENV["FAKE_K6_LOG"]
if ENV["FAKE_K6_FAILS"]
  log = ARGV.join(" ")[/--log-output=file=([^, ]+)/, 1]
  File.write(log, "There were problems with the specified script configuration")
  exit 104
end

said = ARGV.each_cons(2).filter_map { |option, value| value.split("=", 2) if option == "-e" }.to_h
kase = JSON.parse(File.read(ARGV.last, encoding: "UTF-8")[/^const CASE = (.*?^\});$/m, 1])
load, ask, uri = kase["load"], kase["asks"].first, URI(said["URL"])
is_open = load["kind"] == "open"
seconds = load["kind"] == "requests" ? 0.0 : [1.0, said["SECONDS"].to_f].max
left = load["kind"] == "requests" ? said["REQUESTS"].to_i : nil
times, errors, wrong, in_time, lock = [], Hash.new(0), nil, 0, Mutex.new
now = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }
begun = now.call
due = is_open ? (0...(said["RATE"].to_f * seconds)).map { |number| begun + number / said["RATE"].to_f } : nil

judge = lambda do |answer|
  next "status #{answer.code}" if answer.code.to_i != ask["expect"]["status"]
  next if answer.body.b == ask["expect"]["text"].b

  wrong ||= "wrong answer: #{ask["method"]} #{ask["path"]}: the body is not the right one: #{answer.body.to_json}"
  "wrong answer"
end

clients = Array.new(said["VUS"].to_i) do
  Thread.new do
    http = nil
    loop do
      at = lock.synchronize { is_open ? due.shift : ((left -= 1) if left) }
      break if is_open ? at.nil? : (left ? at.negative? : now.call >= begun + seconds)

      sleep([at - now.call, 0].max) if is_open
      from = now.call
      kind =
        begin
          http ||= Net::HTTP.start(uri.host, uri.port)
          judge.call(http.request(Net::HTTPGenericRequest.new(ask["method"], false, true, ask["path"])))
        rescue SystemCallError, IOError => error
          http = nil
          error.is_a?(Errno::ECONNREFUSED) ? "connect" : "closed early"
        end
      took = (now.call - from) * 1000
      lock.synchronize do
        kind ? errors[kind] += 1 : times << took
        in_time += 1 if kind.nil? && (left || now.call <= begun + seconds)
      end
      sleep 0.005 if kind == "connect"
      break unless kase["keep"] || http.nil? || (http.finish; http = nil; true)
    end
  end
end
clients.each(&:join)

times.sort!
percents = [0.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99, 100.0]
spread = percents.map { |percent| [percent, times[((times.size - 1) * percent / 100.0).round]] }
latency = times.empty? ? nil : { count: times.size, mean: times.sum / times.size, percents: spread }
dropped = ENV["FAKE_K6_DROPS"].to_i
File.write("console.txt", "#{wrong}\n") if wrong
File.write(said["OUT"], JSON.generate(
  arena_k6: 1, case: kase["name"], load: load["kind"], seconds: seconds, per_s: said["RATE"].to_f, vus: clients.size,
  ended_ms: ((now.call - begun) * 1000).round, iterations: times.size + errors.values.sum,
  dropped: is_open ? dropped : 0, waited_ms: 0, longest_ms: 0, right: times.size, right_in_time: in_time,
  bytes: times.size * 6, bytes_answers: times.size, errors: errors, latency: latency,
  late: is_open ? { count: 1, mean: 0.1, percents: [[0, 0], [99, 0.5], [100, 1]] } : nil
))
