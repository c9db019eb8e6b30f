# What prime-sums must answer.

module Check
  # The same for both halves.
  class PrimeSums < Base
    # Known values; the last is the largest that is answered.
    SUMS = { 0 => 0, 1 => 2, 10 => 129, 100 => 24_133, 1000 => 3_682_913, 100_000 => 62_260_698_721 }.freeze
    WRONG = %w[ten -1 1.5 100001 99999999999999999999].freeze
    PLAIN = "text/plain".freeze

    def run
      %w[sinatra roda].each { |half| check(half) unless missing?(half) }
      answer = @client.get("/nothing/10")
      @client.expect(answer.status == 404, "/nothing/10: status #{answer.status}, not 404")
    end

    private

    def missing?(half)
      answer = @client.get("/#{half}/10")
      return false if answer.status != 501
      if @client.expect_answer("/#{half}/10", answer, 501, PLAIN, /gem install \w+/)
        @client.note("/#{half} answers 501: #{answer.text.strip}")
      end
      true
    end

    def check(half)
      # The cached ones twice: worked out, then remembered.
      SUMS.to_a.product(["", "?cache=1", "?cache=1", "?cache=0"]).each do |(number, sum), query|
        path = "/#{half}/#{number}#{query}"
        @client.expect_answer(path, @client.get(path), 200, PLAIN, sum.to_s)
      end
      WRONG.each do |words|
        path = "/#{half}/#{words}"
        @client.expect_answer(path, @client.get(path), 400, PLAIN, /0 to 100000/)
      end
      @client.expect_answer("HEAD /#{half}/10", @client.head("/#{half}/10"), 200, PLAIN, "")
    end
  end
end
