# One client of a check: it asks on one kept connection, and gathers what is wrong.

require "net/http"
require "uri"

module Check
  # One answer: status, header, text.
  Answer = Struct.new(:status, :headers, :text) do
    def type
      headers["content-type"].to_s
    end
  end

  # For one thread.
  class Client
    # Seconds; an answer of any application takes far less, unless it stands in a long queue.
    PATIENCE = 60

    attr_reader :wrong, :notes, :requests

    def initialize(url)
      @url = URI(url)
      @wrong = []
      @notes = []
      @requests = 0
      # The nil: no proxy, whatever the environment says.
      @http = Net::HTTP.new(@url.host, @url.port, nil)
      @http.open_timeout = @http.read_timeout = PATIENCE
      # A request that fails is wrong and not to be tried again.
      @http.max_retries = 0
    end

    def get(path, headers = {})
      ask(Net::HTTP::Get.new(path, headers))
    end

    def head(path)
      ask(Net::HTTP::Head.new(path))
    end

    def post(path, fields)
      request = Net::HTTP::Post.new(path)
      request.set_form_data(fields)
      ask(request)
    end

    def post_body(path, body)
      request = Net::HTTP::Post.new(path, "content-type" => "application/octet-stream")
      request.body = body
      ask(request)
    end

    # Something is as it should be, or `words` say what is not.
    def expect(right, words)
      @wrong << words unless right
      right
    end

    # A whole answer at once: what `text` is compared with may be a string or a pattern.
    def expect_answer(what, answer, status, type, text)
      expect(answer.status == status, "#{what}: status #{answer.status}, not #{status}: #{short(answer.text)}") &&
        expect(answer.type.start_with?(type), "#{what}: type #{answer.type.inspect}, not #{type}") &&
        expect(text === answer.text, "#{what}: #{short(answer.text)}, not #{short(text)}")
    end

    def note(words)
      @notes << words
    end

    def short(text)
      words = text.is_a?(Method) ? "what `#{text.name}` wants" : text.inspect
      words.size > 200 ? "#{words[0, 200]}..." : words
    end

    def close
      @http.finish if @http.started?
    end

    private

    def ask(request)
      @requests += 1
      @http.start unless @http.started?
      response = @http.request(request)
      # Text arrives without an encoding; all applications write UTF-8.
      text = response.body.to_s.dup.force_encoding(Encoding::UTF_8)
      expect(text.valid_encoding?, "#{request.method} #{request.path}: not UTF-8")
      Answer.new(response.code.to_i, response, text)
    end
  end

  # What all checks have: a client, and a word of their own for what they write.
  class Base
    def initialize(client, mark)
      @client = client
      @mark = mark
    end
  end
end
