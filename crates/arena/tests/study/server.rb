# A server of one file, good or bad by its KIND:  ruby server.rb PORT KIND [WORKERS]
# good answers correctly, a thousand requests per second and worker at most, however many clients it has, so that a load
# of it leaves the processors to others; wrong always answers something else; later does so after thirty answers; each
# worker of early is wrong once, in the first answer after the third on a connection, so that no single check finds it;
# liar, as fast as good, gives one wrong answer in a hundred, late enough that a single check finds none; dies exits
# after thirty; never does not listen; alone starts one worker whatever number is requested; slow gives one answer after
# the other, each in four milliseconds; picky takes a second for / alone; hangup closes the connection instead of one
# answer in ten under load, and mover gives one in ten the status 302 then; strict is wrong if its environment has
# other variables than those that find programs and those that the arena itself sets; stays does not end when it should.
# filler answers /small and /headers as the application basics does; tail has another last byte in the former, and bare
# lacks one header field of the latter. Of hidden the first process only waits: what serves is a daemon without an
# environment.

require "socket"

port, kind, workers = ARGV[0].to_i, ARGV[1], ARGV[2].to_i
RIGHT = "right\n".freeze
WRONG = "wrong\n".freeze
LIMIT = 30
EXPECTED = /\A(PATH|HOME|LANG|LC_.*|TMPDIR|GEM_.*|BUNDLE_.*|JAVA_HOME|RBENV_.*|ASDF_.*|ARENA_(RUN|SERVER)|
            (RACK|APP|RAILS)_ENV|SECRET_KEY_BASE_DUMMY|RAILS_MAX_THREADS)\z/x
UNEXPECTED = ENV.keys.grep_v(EXPECTED)
warn "unexpected: #{UNEXPECTED.join(" ")}" if kind == "strict"

sleep if kind == "never"
if kind == "hidden"
  starter = fork do
    Process.setsid
    daemon = ["--disable-gems", __FILE__, ARGV[0], "hidden-daemon", ARGV[2]]
    fork { exec({}, File.readlink("/proc/self/exe"), *daemon, unsetenv_others: true) }
    exit! 0
  end
  Process.wait(starter)
  trap("TERM") { exit! 0 }
  sleep
end
listener = TCPServer.new("127.0.0.1", port)
$answers = 0
$early = 1
$here = $crowded = 0
$one_at_a_time = Mutex.new
$resting = 0
$counting = Mutex.new

def wrong?(kind, here)
  case kind
  when "wrong" then true
  when "early" then here > 3 && ($early -= 1) >= 0
  when "later" then $answers > LIMIT
  when "liar" then ($answers % 100) == 99
  when "strict" then !UNEXPECTED.empty?
  end
end

# Whether this is one request in ten of those that are here beside others: no single check meets one.
def fails?(kind)
  return false unless %w[hangup mover].include?(kind)

  $here += 1
  sleep 0.003
  fails = $here > 1 && ($crowded += 1) % 10 == 0
  $here -= 1
  fails
end

# The more requests are here, the longer each of them waits.
def rest
  resting = $counting.synchronize { $resting += 1 }
  sleep resting / 1000.0
  $counting.synchronize { $resting -= 1 }
end

# Header fields and body of an answer of the application basics, or of one that is nearly like it.
def basics(kind, path)
  if path == "/headers"
    fields = (1..(kind == "bare" ? 79 : 80)).map { |number| "X-Number-#{number}: value #{number}\r\n" }
    return [fields.join, "Hello, World!\n"]
  end
  body = "FoolsGold\n" * 10_000
  body[-1] = "!" if kind == "tail"
  ["", body]
end

def serve(client, kind)
  here = 0
  while (line = client.gets("\r\n"))
    path = line.split(" ")[1]
    sleep 1 if kind == "picky" && line.start_with?("GET / ")
    closes = line.end_with?("HTTP/1.0\r\n")
    until ["\r\n", nil].include?(line)
      line = client.gets("\r\n")
      closes ||= line&.match?(/\Aconnection: *close/i)
    end
    $answers += 1
    here += 1
    exit! 3 if kind == "dies" && $answers > LIMIT
    # By its own number, which others pass while it rests.
    body = wrong?(kind, here) ? WRONG : RIGHT
    rest if %w[good liar].include?(kind)
    $one_at_a_time.synchronize { sleep 0.004 } if kind == "slow"
    fails = fails?(kind)
    break if fails && kind == "hangup"
    status = fails ? "302 Found" : "200 OK"
    fields, body = %w[filler tail bare].include?(kind) ? basics(kind, path) : ["", body]
    client.write "HTTP/1.1 #{status}\r\n#{fields}content-length: #{body.bytesize}\r\n\r\n#{body}"
    break if closes
  end
rescue SystemCallError, IOError
  nil
ensure
  client.close
end

count = kind == "alone" ? 1 : workers
worker = lambda do |number|
  fork do
    Process.setproctitle("study worker #{number}")
    trap("TERM") { exit! 0 }
    Thread.report_on_exception = false
    loop { Thread.new(listener.accept) { |client| serve(client, kind) } }
  end
end
pids = Array.new(count, &worker)
trap("TERM") { pids.each { |pid| Process.kill("TERM", pid) } unless kind == "stays" }
until pids.empty?
  pid, status = Process.wait2
  place = pids.index(pid)
  # One that was killed has a successor.
  status.termsig == 9 ? pids[place] = worker.call(place) : pids.delete_at(place)
end
exit 3 if kind == "dies"
