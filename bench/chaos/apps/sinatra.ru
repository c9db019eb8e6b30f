# The arena's Sinatra application, with endpoints for bad days.

require "digest"
require_relative "boot"
require_relative "../../../apps/arena/arena"

# Long, slow and missing responses, and memory that is never freed.
class BadDay < Arena
  # Pieces of a stream: ten bytes each, a tenth of a second apart.
  TICKS = 50
  PIECE = ("gold and pyrite " * 4096).freeze
  PIECES = 64
  KEPT = []

  # A slow body.
  class Ticks
    def initialize(pause)
      @pause = pause
    end

    def each
      TICKS.times do |number|
        sleep @pause
        yield format("tick %04d\n", number)
      end
      yield "end\n"
    end
  end

  # A body of a little more than four megabytes.
  class Big
    def each
      PIECES.times { yield PIECE }
      yield "end\n"
    end
  end

  get("/work") { plain "#{Pi.digits(4000)}\n" }
  get("/digits") { plain "#{Pi.digits(200)}\n" }
  get("/version") { plain Boot.version }
  get("/fit") { Boot.fit? ? plain("fit\n") : halt(500, "unfit\n") }
  post("/digest") { plain Digest::SHA256.hexdigest(request.body.read) }
  get("/stream") { [200, { "content-type" => "text/plain" }, Ticks.new(0.1)] }
  get("/big") { [200, { "content-type" => "text/plain" }, Big.new] }
  # These are interrupted by the server.
  get("/stuck") { sleep }
  get("/spin") { loop { Math.sqrt(2) } }

  get "/short" do
    sleep 0.02
    plain "short\n"
  end

  # Ignores interruption: its worker must be killed.
  get "/deaf" do
    begin
      sleep
    rescue Exception
      retry
    end
  end

  # Leaks forty kilobytes.
  get "/leak" do
    KEPT << "x" * 40_000
    plain "leaked\n"
  end
end

run BadDay
