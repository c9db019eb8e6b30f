# What FoolsGold itself gives to an application: the request's context, the counter, the store, the stream.

module FoolsGold
  class Counter
    alias to_i count
  end

  REQUESTS = Counter.new

  # env["fools_gold.context"]: one per request.
  class RequestContext
    # The id of the request, a UUID of version 4; the response's x-request-id says the same.
    attr_reader :id
    alias request_id id

    # The counter that all interpreters share.
    def requests
      REQUESTS
    end
  end

  # A key-value store that all interpreters share. Keys are Strings or Symbols (:a and "a" are one key); values are
  # nil, true, false, numbers, Strings, Symbols, Arrays and Hashes of these, copied in and out.
  class Store
    # The store has no room for a value.
    class Full < StandardError; end

    def get(key)
      Native.store_get(key)
    end
    alias [] get

    # Seconds to live may have a fraction; without them a value stays.
    def set(key, value, ttl: nil)
      Native.store_set(key, value, ttl)
      value
    end

    def []=(key, value)
      Native.store_set(key, value, nil)
    end

    def delete(key)
      Native.store_delete(key)
    end

    # Adds to an Integer in one step, whoever else does the same; the sum. A missing key counts as 0, and gets `ttl`.
    def increment(key, by = 1, ttl: nil)
      Native.store_increment(key, by, ttl)
    end

    # The value, or that of the block, which is then stored. Two interpreters may both run their block.
    def fetch(key, default = nil, ttl: nil)
      value = get(key)
      return value unless value.nil?
      return default unless block_given?
      set(key, yield(key), ttl: ttl)
    end

    def clear
      Native.store_clear
    end

    def size
      Native.store_size
    end
  end

  STORE = Store.new

  class << self
    def store
      STORE
    end

    def requests
      REQUESTS
    end

    def environment
      Native.environment
    end
  end

  # What a streaming body is called with (Rack SPEC, "Streaming Body"); `write` and `flush` are native.
  class Stream
    def <<(text)
      write(text)
      self
    end

    def print(*texts)
      texts.each { |text| write(text) }
      nil
    end

    def puts(*lines)
      write("\n") if lines.empty?
      lines.flatten.each { |line| write(line.to_s.end_with?("\n") ? line.to_s : "#{line}\n") }
      nil
    end

    def read(*args)
      input.read(*args)
    end

    def input
      @input ||= Input.new
    end

    def close_read
      nil
    end

    def close_write
      close
    end

    def close(_error = nil)
      @closed = true
      nil
    end

    def closed?
      @closed ? true : false
    end
  end

  # What every environment begins as: a copy of this (Rack SPEC, "The Environment").
  ENVIRONMENT = {
    "rack.errors" => $stderr,
    "rack.input" => StringIO.new("".freeze),
    "rack.multithread" => false,
    "rack.multiprocess" => true,
    "rack.run_once" => false,
    "rack.hijack?" => false,
    "SERVER_SOFTWARE" => "FoolsGold".freeze,
    "GATEWAY_INTERFACE" => "CGI/1.2".freeze
  }
end
