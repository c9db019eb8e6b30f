# frozen_string_literal: true

# Clients that send requests through a proxy until they are stopped, half GET, half POST, some with keep-alive
# connections. Each response must have what was sent. No request is retried: failures count.

require "json"

require_relative "client"

class Load
  CLIENTS = 6
  # Requests of a keep-alive connection.
  KEPT = 20

  # Number of right responses, and failures by kind, of safe and of unsafe requests.
  Count = Struct.new(:right, :safe, :unsafe) do
    def failed
      safe.values.sum + unsafe.values.sum
    end

    def in_words
      kinds = { "GET" => safe, "POST" => unsafe }.flat_map do |method, found|
        found.map { |kind, many| "#{many} x #{method}: #{kind}" }
      end
      kinds.join(", ")
    end
  end

  def initialize(port)
    @port = port
    @over = false
    @count = Count.new(0, Hash.new(0), Hash.new(0))
    @lock = Mutex.new
    @threads = Array.new(CLIENTS) { |number| Thread.new { ask(number) } }
  end

  def right
    @lock.synchronize { @count.right }
  end

  def end
    @over = true
    @threads.each(&:join)
    @count
  end

  private

  def ask(number)
    token = 0
    until @over
      token = connection(number, token)
    end
  end

  def connection(number, token)
    client = nil
    method = "GET"
    (number.even? ? KEPT : 1).times do
      break if @over

      token += 1
      words = "#{number}-#{token}"
      method = token.even? ? "GET" : "POST"
      client ||= Client.new(@port)
      reply = method == "GET" ? client.get("/echo?#{words}") : client.post("/echo", words)
      tell(method, reply, words)
      break if reply.headers["connection"].to_s.downcase == "close"
    end
    token
  rescue StandardError => e
    failed(method, "#{e.class}: #{e.message}")
    token
  ensure
    client&.close
  end

  def tell(method, reply, words)
    return failed(method, "status #{reply.status}") unless reply.status == 200
    return failed(method, "a wrong answer") unless reply.body == words

    @lock.synchronize { @count.right += 1 }
  end

  def failed(method, kind)
    @lock.synchronize { (method == "GET" ? @count.safe : @count.unsafe)[kind] += 1 }
  end
end
