# What rails-small must answer.

module Check
  # The page, with and without a name, and what is not there.
  class RailsSmall < Base
    HTML = "text/html".freeze
    ROWS = 10
    PAGE = %r{\A<!DOCTYPE html>.*<h1>Minerals</h1>.*</html>\s*\z}m.freeze

    def run
      page("/", "Hello, world!")
      page("/?name=%3Cb%3E%20%26%20J%C3%BCrgen", "Hello, &lt;b&gt; &amp; Jürgen!")
      @client.expect_answer("HEAD /", @client.head("/"), 200, HTML, "")
      etag = @client.get("/").headers["etag"].to_s
      again = @client.get("/", "if-none-match" => etag)
      @client.expect(again.status == 304, "/ with its own etag #{etag}: status #{again.status}, not 304")
      sized(2841)
      sized(8145)
      few = @client.get("/sized/12")
      @client.expect(few.status == 400, "/sized/12: status #{few.status}, not 400")
      nothing = @client.get("/nothing")
      @client.expect(nothing.status == 404, "/nothing: status #{nothing.status}, not 404")
    end

    private

    def sized(bytes)
      answer = @client.get("/sized/#{bytes}")
      return unless @client.expect_answer("/sized/#{bytes}", answer, 200, HTML, PAGE)
      @client.expect(answer.text.bytesize == bytes, "/sized/#{bytes}: #{answer.text.bytesize} bytes")
    end

    def page(path, words)
      answer = @client.get(path)
      return unless @client.expect_answer(path, answer, 200, HTML, PAGE)
      @client.expect(answer.text.include?("<p>#{words}</p>"), "#{path}: #{words} is not in it")
      rows = answer.text.scan(%r{<tr><td>\w+</td><td>\w+</td></tr>}).size
      @client.expect(rows == ROWS, "#{path}: #{rows} rows, not #{ROWS}")
    end
  end
end
