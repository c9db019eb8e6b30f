# frozen_string_literal: true

# Short ways to write cases that send bytes and look at what comes back.

module Requests
  HOST = "Host: a.example\r\n"

  module_function

  # A head with a Host and these header lines; what follows is the body.
  def get(target = "/", *headers)
    "GET #{target} HTTP/1.1\r\n#{HOST}#{lines(headers)}\r\n".b
  end

  def post(headers, body = "")
    "POST /p HTTP/1.1\r\n#{HOST}#{lines(headers)}\r\n".b + body.b
  end

  def chunked(body, *headers)
    post(["Transfer-Encoding: chunked", *headers], body)
  end

  def lines(headers)
    [*headers].map { |line| "#{line}\r\n".b }.join
  end

  # A case that sends bytes and says which status comes back, and what the application saw of them.
  #   shows:    keys of the environment, for a 200
  #   answers:  of how many requests on one connection
  #   then:     :close says whether the connection ends after the answers
  #   half:     the client shuts its sending side
  def asks(name, *bytes, shows: [], answers: 1, method: "GET", half: false, ends: false, header: nil, body: false,
           app: :environment, **more)
    Table.row(name, app: app, **more) do |session|
      Requests.try_thrice do
        wire = session.send(*bytes)
        wire.half_close if half
        replies = Requests.collect(wire, answers, [*method])
        words = [replies.map(&:words).join(" ")]
        last = replies.last
        words << Requests.seen(last, session, [*shows]) if last.status == 200 && !shows.empty?
        words << Requests.code(last.all(header).join(", ")) if header && last.status
        words << Requests.code(last.body) if body && last.status
        words << (wire.ended? ? "closed" : "open") if ends && last.status && !last.fault
        [words.join(", "), replies.first.words == "closed"]
      end
    end
  end

  # The answers to so many requests, up to the first that is none. Informational ones come before theirs.
  def collect(wire, count, methods)
    found = []
    while found.count { |reply| reply.status.nil? || reply.status >= 200 } < count
      finals = found.count { |reply| reply.status && reply.status >= 200 }
      found << wire.answer(methods[finals] || methods.last)
      break if found.last.status.nil? || found.last.fault
    end
    found
  end

  # A reset can overtake the answer that was sent before it: what is closed without one is tried again.
  def try_thrice
    words = nil
    3.times do
      words, closed = yield
      break unless closed
    end
    words
  end

  def seen(reply, session, keys)
    env = Environment.parse(reply.body, session.port)
    keys.map { |key| (pair = env[key]) ? code(pair.value.delete_prefix('"').delete_suffix('"')) : "none" }.join(" · ")
  end

  # Text as Markdown shows it literally. It may come from String#inspect already.
  def code(text)
    text = text.b.inspect[1..-2] unless text.match?(/\A[ -~]*\z/)
    text = text.gsub('\\"', '"')
    return "empty" if text.empty?

    text.include?("`") ? "`` #{text} ``" : "`#{text}`"
  end
end
