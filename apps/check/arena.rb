# What the arena must answer.

require "digest"
require "zlib"

module Check
  # All routes once, and /random three times.
  class Arena < Base
    # Of "3." and 5000 places, as two formulas that share nothing (Machin's and Chudnovsky's) give them.
    PI = "150b3085ba72f7c8979bba12208f2765ab3dfac1975470b75a4e6d5d4bf35fb7".freeze
    SERVER = /\Aserver: \S.*\nruby: \S.*\npid: [0-9]+\n\z/.freeze
    PLAIN = "text/plain".freeze
    SLEPT = "slept 1 second\n".freeze

    def run
      @client.expect_answer("/server", @client.get("/server"), 200, PLAIN, SERVER)
      @client.expect_answer("/pi", @client.get("/pi"), 200, PLAIN, method(:pi?))
      sleeps
      3.times { @client.expect_answer("/random", @client.get("/random"), 200, PLAIN, method(:any?)) }
      waits
      upload
      feed
      answer = @client.get("/nothing")
      @client.expect(answer.status == 404, "/nothing: status #{answer.status}, not 404")
    end

    private

    def pi?(text)
      Digest::SHA256.hexdigest(text.chomp) == PI
    end

    def any?(text)
      SERVER.match?(text) || text == SLEPT || pi?(text)
    end

    def sleeps
      start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      @client.expect_answer("/sleep", @client.get("/sleep"), 200, PLAIN, SLEPT)
      took = Process.clock_gettime(Process::CLOCK_MONOTONIC) - start
      @client.expect(took >= 1, format("/sleep: answered after %.3f s, not after a second", took))
    end

    def waits
      parts = Array.new(10) { |number| "part #{number}\n" }.join
      @client.expect_answer("/stream", @client.get("/stream"), 200, PLAIN, parts)
      @client.expect_answer("/poll", @client.get("/poll"), 200, PLAIN, /\Aevent [0-9]+\n\z/)
    end

    def upload
      body = "FoolsGold\n" * 20_000
      answer = @client.post_body("/upload", body)
      right = format("%d bytes, crc32 %08x\n", body.bytesize, Zlib.crc32(body))
      @client.expect_answer("/upload", answer, 200, PLAIN, right)
    end

    def feed
      answer = @client.get("/feed")
      if answer.status == 502 && @client.expect_answer("/feed", answer, 502, PLAIN, /upstream\.rb.*FEED_URL/)
        return @client.note("/feed answers 502: #{answer.text.strip}")
      end
      return unless @client.expect_answer("/feed", answer, 200, "text/html", %r{<h1>News</h1>.*</html>}m)
      items = answer.text.scan(%r{<h2><a href="[^"]+">News &lt;([0-9]+)&gt; of gold &amp; pyrite</a></h2>}).flatten
      @client.expect(items == (1..10).map(&:to_s), "/feed: items #{items.join(", ")}, not 1 to 10")
    end
  end
end
