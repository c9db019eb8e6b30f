# frozen_string_literal: true

# Connections: how long they live, in which order they answer, and who waits for whom.
module Connections
  include Requests
  extend Requests

  Table.section "Connections", "The statuses that come, and whether the connection is open or closed after them."

  def self.one_by_one(name, *requests, **more)
    Table.row(name, **more) do |session|
      wire = session.connect
      replies = []
      requests.each do |request|
        replies << wire.write(request).answer
        break if replies.last.status.nil? || replies.last.all("connection").include?("close")
      end
      "#{replies.map(&:words).join(" ")}, #{wire.ended? ? "closed" : "open"}"
    end
  end

  OLD = "GET / HTTP/1.0\r\n\r\n"
  OLD_KEPT = "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
  one_by_one "HTTP/1.1, two requests", get, get
  one_by_one "HTTP/1.1, `Connection: close`", get("/", "Connection: close")
  one_by_one "`Connection: CLOSE`", get("/", "Connection: CLOSE")
  one_by_one "`Connection: close, keep-alive`", get("/", "Connection: close, keep-alive"),
             why: "RFC 9112 9.6: who says `close` wants an end"
  one_by_one "HTTP/1.0", OLD
  one_by_one "HTTP/1.0, `Connection: keep-alive`, two requests", OLD_KEPT, OLD_KEPT
  one_by_one "a POST, then a GET", post(["Content-Length: 3"], "abc"), get
  one_by_one "a chunked POST, then a GET", chunked("3\r\nabc\r\n0\r\n\r\n"), get
  one_by_one "a request that is refused, then one that is not", "GET / HTTP/1.1\r\nX(A: 1\r\n#{HOST}\r\n", get
  asks "three requests at once", get("/1") + get("/2") + get("/3"), answers: 3
  Table.row "the order of fifty requests at once" do |session|
    wire = session.send((1..50).map { |number| get("/#{number}") }.join)
    replies = Requests.collect(wire, 50, ["GET"]).select { |reply| reply.status == 200 }
    paths = replies.map { |reply| Requests.seen(reply, session, ["PATH_INFO"]) }
    paths == (1..50).map { |number| "`/#{number}`" } ? "in order" : "#{paths.size} of 50 answers"
  end
  asks "at once: a POST with its body, and a GET", post(["Content-Length: 3"], "abc") + get, answers: 2
  asks "at once: a HEAD and a GET", "HEAD / HTTP/1.1\r\n#{HOST}\r\n" + get, answers: 2, method: %w[HEAD GET]
  asks "at once: a GET, one that is refused, a GET", "#{get}GET / HTTP/1.1\r\nX(A: 1\r\n#{HOST}\r\n#{get}", answers: 3
  asks "at once: a GET with `Connection: close`, and a GET", get("/", "Connection: close") + get, answers: 2
  asks "the head one byte at a time", *get.chars
  asks "the head in two parts", get[0, 20], 0.2, get[20..]
  asks "the body in two parts", post(["Content-Length: 6"], "abc"), 0.2, "def", shows: "(body)"
  Table.row "the client shuts its sending side, and a thread is free a moment later", app: "points" do |session|
    session.send(get("/sleep?0.5"))
    sleep 0.1
    wire = session.send(get).half_close
    wire.answer.words
  end
  asks "half a head, and the client shuts its sending side", get[0, 20], half: true
  asks "nothing, and the client shuts its sending side", half: true

  Table.section "One slow client", "One worker with one thread. Whether another client is served meanwhile."

  def self.beside(name, *slow, **more)
    Table.row(name, **more) do |session|
      session.send(*slow)
      sleep 0.3
      reply = session.connect.write(get("/", "Connection: close")).answer
      reply.status == 200 ? "served" : "waits"
    end
  end

  beside "a connection that sends nothing"
  beside "half a head", get[0, 20]
  beside "a body that does not come", post(["Content-Length: 1000"], "abc")
  beside "a chunked body without an end", chunked("3\r\nabc\r\n")
  beside "an idle connection after an answer", get
  Table.row "an answer of 20 MB that is not read", app: "points",
            why: "answers are taken from the application as fast as it makes them" do |session|
    session.send("GET /large HTTP/1.1\r\n#{HOST}\r\n")
    sleep 0.5
    reply = session.connect.write(get("/", "Connection: close")).answer
    reply.status == 200 ? "served" : "waits"
  end
end
