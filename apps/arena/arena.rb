# The routes of the arena: /server, /pi, /sleep, /random (these three, mixed), /feed, /stream, /poll and /upload.

require "sinatra/base"
require "zlib"
require_relative "pi"
require_relative "feed"

# Everything is worked out anew for each request: what is measured is the server under such work, not a cache.
class Arena < Sinatra::Base
  # The original's mix: half of it words, three tenths computing, two tenths waiting. Shuffled once and for all, so that
  # every server and every process gets the same.
  MIX = (([:server] * 5) + ([:pi] * 3) + ([:slept] * 2)).shuffle(random: Random.new(1)).freeze
  # Of /stream.
  PARTS = 10
  PART_S = 0.1
  # Between two events of /poll.
  EVENT_S = 0.5
  # What /upload reads at a time.
  READ_BYTES = 65_536
  TURNS = Queue.new.tap { |turns| turns << 0 }

  set :root, __dir__
  set :feed, Feed.new(ENV["FEED_URL"] || Feed::URL)

  helpers do
    def server
      "server: #{env["SERVER_SOFTWARE"] || "unknown"}\nruby: #{RUBY_DESCRIPTION}\npid: #{Process.pid}\n"
    end

    def pi
      "#{Pi.digits}\n"
    end

    def slept
      sleep 1
      "slept 1 second\n"
    end

    # Escapes text for HTML.
    def h(text)
      Rack::Utils.escape_html(text.to_s)
    end

    def plain(text)
      content_type "text/plain", charset: "utf-8"
      text
    end
  end

  get("/server") { plain server }
  get("/pi") { plain pi }
  get("/sleep") { plain slept }
  get "/random" do
    turn = TURNS.pop
    TURNS << (turn + 1)
    plain send(MIX[turn % MIX.size])
  end

  # Ten parts, each sent as soon as it is there.
  get "/stream" do
    content_type "text/plain", charset: "utf-8"
    stream do |out|
      PARTS.times do |number|
        sleep PART_S
        out << "part #{number}\n"
      end
    end
  end

  # Long polling: the answer is the next event, which comes at the same time for all who wait.
  get "/poll" do
    event = (Process.clock_gettime(Process::CLOCK_REALTIME) / EVENT_S).floor + 1
    sleep [(event * EVENT_S) - Process.clock_gettime(Process::CLOCK_REALTIME), 0].max
    plain "event #{event}\n"
  end

  post "/upload" do
    input = request.body
    part = +""
    bytes = sum = 0
    while input.read(READ_BYTES, part)
      bytes += part.bytesize
      sum = Zlib.crc32(part, sum)
    end
    plain format("%d bytes, crc32 %08x\n", bytes, sum)
  end

  get "/feed" do
    erb :feed, locals: { items: settings.feed.items }
  rescue Feed::Unreadable => error
    status 502
    plain "#{error.message}\n"
  end
end
