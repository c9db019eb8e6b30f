# What rails-posts must answer, after bin/prepare and any number of checks before this one.

require "cgi"
require_relative "../rails-posts/db/samples"

module Check
  # Reads sample posts and the latest, writes a post and finds it, and tries what must not work.
  class RailsPosts < Base
    HTML = "text/html".freeze
    PLAIN = "text/plain".freeze
    LATEST = 20
    SHOWN = 5
    FRONT = %r{\A<!DOCTYPE html>.*<h1>Latest posts</h1>.*</html>\s*\z}m.freeze

    def run
      @client.expect_answer("/up", @client.get("/up"), 200, PLAIN, "up\n")
      latest
      SHOWN.times { sample(rand(1..Samples::COUNT)) }
      writes
      refusals
    end

    private

    def latest
      answer = @client.get("/posts")
      return unless @client.expect_answer("/posts", answer, 200, HTML, FRONT)
      ids = answer.text.scan(/<article id="post-([0-9]+)">/).flatten.uniq
      @client.expect(ids.size == LATEST, "/posts: #{ids.size} posts, not #{LATEST}")
      times = answer.text.scan(/<time datetime="([^"]+)">/).flatten
      @client.expect(times.size == LATEST && times == times.sort.reverse, "/posts: not the newest first: #{times}")
    end

    def sample(id)
      post = Samples.post(id)
      shows("/posts/#{id}", post[:title], post[:author], post[:body])
      time = post[:created_at].strftime("%Y-%m-%dT%H:%M:%SZ")
      text = @client.get("/posts/#{id}").text
      @client.expect(text.include?(time), "/posts/#{id}: #{time} is not in it")
    end

    def shows(path, title, author, body)
      answer = @client.get(path)
      title = CGI.escapeHTML(title)
      return unless @client.expect_answer(path, answer, 200, HTML, %r{<h1>#{Regexp.escape(title)}</h1>}m)
      [title, "by #{CGI.escapeHTML(author)},", CGI.escapeHTML(body)].each do |words|
        @client.expect(answer.text.include?(words), "#{path}: #{words.inspect} is not in it")
      end
    end

    def writes
      fields = { title: "Check <#{@mark}> Grüße", author: "check.rb & Co", body: "Written at #{Time.now.to_f}." }
      answer = @client.post("/posts", fields.transform_keys { |name| "post[#{name}]" })
      place = answer.headers["location"].to_s
      path = place[%r{/posts/[0-9]+\z}]
      words = "POST /posts: status #{answer.status} to #{place.inspect}, not 303 to the post"
      return unless @client.expect(answer.status == 303 && path, words)
      shows(path, fields[:title], fields[:author], fields[:body])
    end

    def refusals
      answer = @client.get("/posts/999999999")
      @client.expect_answer("/posts/999999999", answer, 404, PLAIN, /there is no post 999999999/)
      answer = @client.post("/posts", "post[title]" => "", "post[author]" => "x", "post[body]" => "y")
      @client.expect_answer("POST /posts without a title", answer, 422, PLAIN, /Title can.t be blank/)
      answer = @client.post("/posts", "x" => "y")
      @client.expect_answer("POST /posts without a post", answer, 400, PLAIN, /post\[title\]/)
    end
  end
end
