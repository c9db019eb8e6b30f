# Commands of Redis on keys and texts, and the conversion of their replies.

class Redis
  module Commands
    # Conversions of replies to Ruby's values.
    BOOL = ->(reply) { reply == 1 }
    FLOAT = ->(reply) { reply && Redis.float(reply) }
    PAIRS = ->(reply) { reply.is_a?(Array) ? reply.each_slice(2).to_h : reply }

    # Commands that are sent with all arguments as they are.
    %i[get getset getdel strlen append getrange setrange setbit getbit bitcount incr incrby decr decrby mget
       del unlink exists ttl pttl type rename randomkey keys touch dump object
       ping echo dbsize flushdb flushall info time lastsave publish eval evalsha script client config command
       hget hdel hlen hkeys hvals hmget hincrby hstrlen
       lpush rpush lpushx rpushx llen lindex linsert lrem lset ltrim lrange rpoplpush lmove
       sadd srem scard smembers sinter sunion sdiff sinterstore sunionstore sdiffstore
       zrem zcard zcount zrank zrevrank zremrangebyscore zremrangebyrank
       pfadd pfcount pfmerge xadd xlen xrange xdel].each do |name|
      word = name.to_s.upcase
      define_method(name) { |*args| send_command([word, *args]) }
    end

    { expire: nil, pexpire: nil, expireat: nil, pexpireat: nil, persist: nil, setnx: nil, msetnx: nil, renamenx: nil,
      move: nil, hexists: nil, hsetnx: nil, sismember: nil, smove: nil }.each_key do |name|
      word = name.to_s.upcase
      define_method(name) { |*args| send_command([word, *args], &BOOL) }
    end

    %i[incrbyfloat hincrbyfloat zscore zincrby].each do |name|
      word = name.to_s.upcase
      define_method(name) { |*args| send_command([word, *args], &FLOAT) }
    end

    def exists?(*keys) = send_command(["EXISTS", *keys]) { |reply| reply > 0 }

    # Returns "OK"; with nx: or xx: whether the key was set, with get: its previous value.
    def set(key, value, ex: nil, px: nil, exat: nil, pxat: nil, nx: nil, xx: nil, keepttl: nil, get: nil)
      command = ["SET", key, value.to_s]
      { "EX" => ex, "PX" => px, "EXAT" => exat, "PXAT" => pxat }.each { |word, time| command.push(word, time) if time }
      { "NX" => nx, "XX" => xx, "KEEPTTL" => keepttl, "GET" => get }.each { |word, on| command << word if on }
      return send_command(command) unless (nx || xx) && !get
      send_command(command) { |reply| reply == "OK" }
    end

    def setex(key, seconds, value) = send_command(["SETEX", key, seconds, value.to_s])
    def psetex(key, milliseconds, value) = send_command(["PSETEX", key, milliseconds, value.to_s])
    def mset(*pairs) = send_command(["MSET", *pairs])
    def mapped_mset(hash) = send_command(["MSET", hash])
    def mapped_mget(*keys) = send_command(["MGET", *keys]) { |values| keys.zip(values).to_h }

    def getex(key, ex: nil, px: nil, persist: false)
      command = ["GETEX", key]
      command.push("EX", ex) if ex
      command.push("PX", px) if px
      command << "PERSIST" if persist
      send_command(command)
    end

    def select(db)
      @db = db
      send_command(["SELECT", db])
    end

    def auth(*args) = send_command(["AUTH", *args])

    def scan(cursor, match: nil, count: nil, type: nil)
      command = ["SCAN", cursor]
      { "MATCH" => match, "COUNT" => count, "TYPE" => type }.each { |word, value| command.push(word, value) if value }
      send_command(command)
    end

    def scan_each(**options, &block)
      return Enumerator.new { |items| scan_each(**options) { |item| items << item } } unless block
      each_page(->(cursor) { scan(cursor, **options) }, &block)
    end

    private

    def each_page(ask, &block)
      cursor = "0"
      loop do
        cursor, items = ask.call(cursor)
        items.each(&block)
        break if cursor == "0"
      end
    end
  end

  def self.float(text)
    { "inf" => Float::INFINITY, "+inf" => Float::INFINITY, "-inf" => -Float::INFINITY }[text] || text.to_f
  end
end
