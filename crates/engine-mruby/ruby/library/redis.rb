# Redis with the API of the gem redis 5. Each object has one connection, which is opened on first use.

class Redis
  VERSION = "5.0.0"

  SETTINGS = %i[url host port path db username password timeout connect_timeout read_timeout reconnect_attempts id
                write_timeout driver ssl ssl_params name inherit_socket protocol].freeze

  FoolsGold::Loader.library("timeout")
  # The gem loads it, and settings name its constants.
  FoolsGold.wait_for(Object, :OpenSSL, "openssl")

  # What Redis refuses, and what goes wrong on the way to it.

  class BaseError < StandardError; end
  class ProtocolError < BaseError; end
  class InvalidClientOptionError < BaseError; end
  class SubscriptionError < BaseError; end

  # An error reply of Redis.
  class CommandError < BaseError; end
  class PermissionError < CommandError; end
  class WrongTypeError < CommandError; end
  class OutOfMemoryError < CommandError; end
  class NoScriptError < CommandError; end

  # The connection failed or was lost.
  class BaseConnectionError < BaseError; end
  class CannotConnectError < BaseConnectionError; end
  class ConnectionError < BaseConnectionError; end
  class TimeoutError < BaseConnectionError; end
  class InheritedError < BaseConnectionError; end

  # The server is a read-only replica, as an old master after a failover; a new connection may lead to the master.
  class ReadOnlyError < BaseConnectionError; end

  ERRORS = { "NOPERM" => PermissionError, "WRONGTYPE" => WrongTypeError, "OOM" => OutOfMemoryError,
             "NOSCRIPT" => NoScriptError, "READONLY" => ReadOnlyError, "WRONGPASS" => CannotConnectError }.freeze

  # Returns a reply, or raises the exception of an error reply.
  def self.checked(reply)
    return reply unless reply.is_a?(Symbol)
    text = reply.to_s
    raise (ERRORS[text.split(" ").first] || CommandError).new(text)
  end

  # Commands of Redis on keys and texts, and the conversion of their replies.
  module Commands
    # Conversions of replies to Ruby's values.
    BOOL = ->(reply) { reply == 1 }
    FLOAT = ->(reply) { reply && Redis.float(reply) }
    PAIRS = ->(reply) { reply.is_a?(Array) ? reply.each_slice(2).to_h : reply }
    ENTRIES = ->(reply) { reply.map { |id, fields| [id, fields.each_slice(2).to_h] } }

    # Commands that are sent with all arguments as they are.
    %i[get getdel strlen append setrange bitcount incr decr mget
       unlink exists ttl pttl type rename randomkey touch dump object
       ping echo dbsize lastsave publish command
       hget hdel hlen hkeys hvals hmget hstrlen
       lpush rpush lpushx rpushx llen linsert rpoplpush lmove
       sadd srem scard smembers sinter sunion sdiff sinterstore sunionstore sdiffstore
       zcard zcount zrank zrevrank zremrangebyscore zremrangebyrank
       pfcount xlen xdel].each do |name|
      word = name.to_s.upcase
      define_method(name) { |*args| send_command([word, *args]) }
    end

    # Commands with Integers at these places, which may be given as 90.0, "90" or a Time.
    { incrby: [1], decrby: [1], getrange: [1, 2], setbit: [1], getbit: [1], hincrby: [2],
      lindex: [1], lrem: [1], lset: [1], ltrim: [1, 2], lrange: [1, 2] }.each do |name, places|
      word = name.to_s.upcase
      define_method(name) do |*args|
        places.each { |place| args[place] = Integer(args[place]) }
        send_command([word, *args])
      end
    end

    %i[persist msetnx renamenx move hexists hsetnx sismember smove pfadd].each do |name|
      word = name.to_s.upcase
      define_method(name) { |*args| send_command([word, *args], &BOOL) }
    end

    %i[expire pexpire expireat pexpireat].each do |name|
      word = name.to_s.upcase
      define_method(name) do |key, time, nx: nil, xx: nil, gt: nil, lt: nil|
        command = [word, key, Integer(time)]
        { "NX" => nx, "XX" => xx, "GT" => gt, "LT" => lt }.each { |option, on| command << option if on }
        send_command(command, &BOOL)
      end
    end

    %i[incrbyfloat hincrbyfloat zscore zincrby].each do |name|
      word = name.to_s.upcase
      define_method(name) { |*args| send_command([word, *args], &FLOAT) }
    end

    def copy(source, target, db: nil, replace: false)
      command = ["COPY", source, target]
      command.push("DB", db) if db
      command << "REPLACE" if replace
      send_command(command, &BOOL)
    end

    # The items of a list, set or sorted set in order; with several patterns in `get:` an Array for each item.
    def sort(key, by: nil, limit: nil, get: nil, order: nil, store: nil)
      patterns = Array(get)
      command = ["SORT", key]
      command.push("BY", by) if by
      command.push("LIMIT", *limit) if limit
      patterns.each { |pattern| command.push("GET", pattern) }
      command.concat(order.split) if order
      command.push("STORE", store) if store
      send_command(command) do |reply|
        patterns.size > 1 && !store && reply ? reply.each_slice(patterns.size).to_a : reply
      end
    end

    def pfmerge(key, *sources) = send_command(["PFMERGE", key, *sources]) { |reply| reply == "OK" }
    def exists?(*keys) = send_command(["EXISTS", *keys]) { |reply| reply > 0 }
    def keys(pattern = "*") = send_command(["KEYS", pattern])

    # Without keys nothing is sent, and none is deleted.
    def del(*keys)
      keys = keys.flatten
      keys.empty? ? 0 : send_command(["DEL", *keys])
    end

    # Returns "OK"; with nx: or xx: whether the key was set, with get: its previous value, or false with nx: or xx:.
    def set(key, value, ex: nil, px: nil, exat: nil, pxat: nil, nx: nil, xx: nil, keepttl: nil, get: nil)
      command = ["SET", key, value.to_s]
      command.concat(expiry("EX" => ex, "PX" => px, "EXAT" => exat, "PXAT" => pxat))
      { "NX" => nx, "XX" => xx, "KEEPTTL" => keepttl, "GET" => get }.each { |word, on| command << word if on }
      return send_command(command) unless nx || xx
      send_command(command) { |reply| reply == "OK" || reply || false }
    end

    def setex(key, seconds, value) = send_command(["SETEX", key, Integer(seconds), value.to_s])
    def psetex(key, milliseconds, value) = send_command(["PSETEX", key, Integer(milliseconds), value.to_s])
    def setnx(key, value) = send_command(["SETNX", key, value.to_s], &BOOL)
    def getset(key, value) = send_command(["GETSET", key, value.to_s])
    def mset(*pairs) = send_command(["MSET", *pairs])
    def mapped_mset(hash) = send_command(["MSET", hash])
    def mapped_msetnx(hash) = msetnx(hash)
    def mapped_mget(*keys) = send_command(["MGET", *keys]) { |values| keys.zip(values).to_h }

    def getex(key, ex: nil, px: nil, exat: nil, pxat: nil, persist: false)
      command = ["GETEX", key]
      command.concat(expiry("EX" => ex, "PX" => px, "EXAT" => exat, "PXAT" => pxat))
      command << "PERSIST" if persist
      send_command(command)
    end

    def select(db) = send_command(["SELECT", db])
    def auth(*args) = send_command(["AUTH", *args])
    def flushdb(async: false) = send_command(async ? %w[FLUSHDB ASYNC] : ["FLUSHDB"])
    def flushall(async: false) = send_command(async ? %w[FLUSHALL ASYNC] : ["FLUSHALL"])
    def time = send_command(["TIME"]) { |reply| reply.map(&:to_i) }

    # The connections ("list") as Hashes; of other subcommands the reply.
    def client(subcommand, *args)
      send_command(["CLIENT", subcommand, *args]) do |reply|
        next reply unless subcommand.to_s == "list"
        reply.lines.map { |line| line.split.map { |fact| fact.split("=", 2) }.to_h }
      end
    end

    def config(action, *args)
      send_command(["CONFIG", action, *args]) { |reply| action == :get ? PAIRS.call(reply) : reply }
    end

    # Facts about the server by their names; those of "commandstats" have Hashes as values.
    def info(section = nil)
      send_command(["INFO", *section]) do |text|
        facts = Redis.facts(text)
        next facts unless section.to_s == "commandstats"
        facts.map do |name, counts|
          [name.delete_prefix("cmdstat_"), counts.split(",").map { |count| count.split("=") }.to_h]
        end.to_h
      end
    end

    # A script's keys and arguments are two Arrays, or keys: and argv:, or what Redis takes: their number comes first.
    def eval(script, *args) = run_script("EVAL", script, args)
    def evalsha(sha, *args) = run_script("EVALSHA", sha, args)

    def script(subcommand, *args)
      return send_command(["SCRIPT", subcommand, *args]) unless subcommand.to_s.downcase == "exists"
      send_command(["SCRIPT", "EXISTS", *args]) do |reply|
        found = reply.map(&BOOL)
        args.first.is_a?(Array) ? found : found.first
      end
    end

    # Adds an entry, a Hash, to a stream, and returns its id.
    def xadd(key, entry, approximate: nil, maxlen: nil, minid: nil, nomkstream: nil, id: "*")
      raise ArgumentError, "can't supply both maxlen and minid" if maxlen && minid
      command = ["XADD", key]
      command << "NOMKSTREAM" if nomkstream
      { "MAXLEN" => maxlen, "MINID" => minid }.each do |word, limit|
        command.push(word, *("~" if approximate), limit) if limit
      end
      send_command([*command, id, entry])
    end

    # Entries of a stream as [id, Hash].
    def xrange(key, from = "-", to = "+", count: nil) = entries_of(["XRANGE", key, from, to], count)

    # The same with the newest entry first.
    def xrevrange(key, to = "+", from = "-", count: nil) = entries_of(["XREVRANGE", key, to, from], count)

    # The entries after an id in a stream, or in each of several, as { stream => [[id, Hash], ...] }. If there are none,
    # waits for `block:` milliseconds (0 for no limit), at the longest until the request's deadline.
    def xread(keys, ids, count: nil, block: nil)
      command = ["XREAD"]
      command.push("COUNT", count) if count
      command.push("BLOCK", block.to_i) if block
      command.push("STREAMS", *Array(keys), *Array(ids))
      send_command(command, block && wait_of(block / 1000.0)) do |reply|
        (reply || []).map { |key, entries| [key, ENTRIES.call(entries)] }.to_h
      end
    end

    def scan(cursor, match: nil, count: nil, type: nil)
      command = ["SCAN", cursor]
      { "MATCH" => match, "COUNT" => count, "TYPE" => type }.each { |word, value| command.push(word, value) if value }
      send_command(command)
    end

    def scan_each(**options, &block)
      return Enumerator.new { |items| scan_each(**options) { |item| items << item } } unless block
      each_page(->(cursor) { scan(cursor, **options) }, &block)
    end

    FoolsGold.refuse(self, %i[subscribe psubscribe ssubscribe unsubscribe punsubscribe sunsubscribe monitor], "Redis#")

    private

    # Any other command of Redis, with its arguments as they are.
    def method_missing(name, *args)
      name.to_s.match?(/\A[a-z]+\z/) ? send_command([name.to_s.upcase, *args]) : super
    end

    # Seconds to wait for a reply, for a command's timeout in seconds, where 0 is no limit.
    def wait_of(timeout)
      timeout == 0 ? 1e9 : timeout
    end

    def entries_of(command, count)
      command.push("COUNT", count) if count
      send_command(command, &ENTRIES)
    end

    # The options of a command for the times that are given.
    def expiry(times) = times.select { |_, time| time }.flat_map { |word, time| [word, Integer(time)] }

    def run_script(word, script, args)
      return send_command([word, script, *args]) if args.first.is_a?(Integer)
      options = args.last.is_a?(Hash) ? args.pop : {}
      keys = Array(args.shift || options[:keys])
      arguments = Array(args.shift || options[:argv])
      send_command([word, script, keys.size, *keys, *arguments])
    end

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

  # The lines of INFO as a Hash; some are empty, and some are comments.
  def self.facts(text)
    lines = text.split("\r\n").reject { |line| line.empty? || line.start_with?("#") }
    lines.map { |line| line.split(":", 2) }.to_h
  end

  # Commands of Redis on hashes, lists, sets and sorted sets whose arguments or replies need a conversion.
  module Collections
    SCORES = ->(reply) { reply.each_slice(2).map { |member, score| [member, Redis.float(score)] } }

    def hset(key, *pairs) = send_command(["HSET", key, *pairs])
    def hmset(key, *pairs) = send_command(["HMSET", key, *pairs])
    def mapped_hmset(key, hash) = send_command(["HMSET", key, hash])
    def hgetall(key) = send_command(["HGETALL", key], &Commands::PAIRS)

    def mapped_hmget(key, *fields)
      fields = fields.flatten(1)
      send_command(["HMGET", key, *fields]) { |values| fields.zip(values).to_h }
    end

    def lpop(key, count = nil) = send_command(["LPOP", key, *count])
    def rpop(key, count = nil) = send_command(["RPOP", key, *count])

    # Waits for an item up to `timeout` seconds (0 for no limit), at the longest until the request's deadline.
    def blpop(*keys, timeout: 0) = send_command(["BLPOP", *keys, timeout], wait_of(timeout))
    def brpop(*keys, timeout: 0) = send_command(["BRPOP", *keys, timeout], wait_of(timeout))

    def brpoplpush(source, target, timeout: 0)
      send_command(["BRPOPLPUSH", source, target, timeout], wait_of(timeout))
    end

    def blmove(source, target, from, to, timeout: 0)
      send_command(["BLMOVE", source, target, from, to, timeout], wait_of(timeout))
    end

    def sadd?(key, *members) = send_command(["SADD", key, *members]) { |reply| reply > 0 }
    def srem?(key, *members) = send_command(["SREM", key, *members]) { |reply| reply > 0 }
    def spop(key, count = nil) = send_command(["SPOP", key, *count])
    def srandmember(key, count = nil) = send_command(["SRANDMEMBER", key, *count])

    def smismember(key, *members)
      send_command(["SMISMEMBER", key, *members]) { |replies| replies.map { |reply| reply == 1 } }
    end

    # zadd(key, score, member) returns whether the member is new, zadd(key, [[score, member], ...]) how many are.
    def zadd(key, *pairs, nx: nil, xx: nil, lt: nil, gt: nil, ch: nil, incr: nil)
      command = ["ZADD", key]
      words = { "NX" => nx, "XX" => xx, "LT" => lt, "GT" => gt, "CH" => ch, "INCR" => incr }
      words.each { |word, on| command << word if on }
      command.concat(pairs)
      return 0 if pairs == [[]]
      return send_command(command, &Commands::FLOAT) if incr
      return send_command(command) if pairs.size == 1 && pairs.first.is_a?(Array)
      send_command(command, &Commands::BOOL)
    end

    # Returns whether the member was there; of an Array of members, how many were.
    def zrem(key, member)
      return 0 if member == []
      send_command(["ZREM", key, member]) { |reply| member.is_a?(Array) ? reply : reply == 1 }
    end

    def zrange(key, from, to, rev: false, limit: nil, **options)
      command = ["ZRANGE", key, from, to]
      command << "BYSCORE" if options[:by_score] || options[:byscore]
      command << "BYLEX" if options[:by_lex] || options[:bylex]
      command << "REV" if rev
      command.push("LIMIT", *limit) if limit
      scored(command, options)
    end

    def zrevrange(key, from, to, **options)
      scored(["ZREVRANGE", key, from, to], options)
    end

    %i[zrangebyscore zrevrangebyscore].each do |name|
      define_method(name) do |key, from, to, **options|
        command = [name.to_s.upcase, key, from, to]
        command.push("LIMIT", *options[:limit]) if options[:limit]
        scored(command, options)
      end
    end

    def zmscore(key, *members)
      send_command(["ZMSCORE", key, *members]) { |scores| scores.map(&Commands::FLOAT) }
    end

    # Unions, intersections and differences: `weights:` are factors for the scores of each set, `aggregate:` ("sum",
    # "min" or "max") says what becomes of several scores of a member.
    def zunion(*keys, **options) = scored(combined(["ZUNION"], keys, options), options)
    def zinter(*keys, **options) = scored(combined(["ZINTER"], keys, options), options)
    def zdiff(*keys, **options) = scored(combined(["ZDIFF"], keys, options), options)
    def zunionstore(target, keys, **options) = send_command(combined(["ZUNIONSTORE", target], keys, options))
    def zinterstore(target, keys, **options) = send_command(combined(["ZINTERSTORE", target], keys, options))
    def zdiffstore(target, keys, **options) = send_command(combined(["ZDIFFSTORE", target], keys, options))

    def zpopmin(key, count = nil) = popped("ZPOPMIN", key, count)
    def zpopmax(key, count = nil) = popped("ZPOPMAX", key, count)

    # Wait like blpop, and return the key of the set, the member and its score.
    def bzpopmin(*keys, timeout: 0) = popped_by_waiting("BZPOPMIN", keys, timeout)
    def bzpopmax(*keys, timeout: 0) = popped_by_waiting("BZPOPMAX", keys, timeout)

    %i[hscan sscan zscan].each do |name|
      define_method(name) do |key, cursor, match: nil, count: nil|
        command = [name.to_s.upcase, key, cursor]
        command.push("MATCH", match) if match
        command.push("COUNT", count) if count
        send_command(command) do |reply|
          [reply[0], name == :hscan ? reply[1].each_slice(2).to_a : (name == :zscan ? SCORES.call(reply[1]) : reply[1])]
        end
      end

      define_method("#{name}_each") do |key, **options, &block|
        ask = ->(cursor) { __send__(name, key, cursor, **options) }
        block ? each_page(ask, &block) : Enumerator.new { |items| each_page(ask) { |item| items << item } }
      end
    end

    private

    def combined(command, keys, options)
      keys = [keys].flatten
      command.push(keys.size, *keys)
      command.push("WEIGHTS", *options[:weights]) if options[:weights]
      command.push("AGGREGATE", options[:aggregate]) if options[:aggregate]
      command
    end

    def scored(command, options)
      return send_command(command) unless options[:with_scores] || options[:withscores]
      send_command([*command, "WITHSCORES"], &SCORES)
    end

    def popped(word, key, count)
      send_command([word, key, *count]) do |reply|
        pairs = SCORES.call(reply)
        count.to_i > 1 ? pairs : pairs.first
      end
    end

    def popped_by_waiting(word, keys, timeout)
      send_command([word, *keys, timeout], wait_of(timeout)) do |reply|
        reply && [reply[0], reply[1], Redis.float(reply[2])]
      end
    end
  end

  # Commands that are sent together: each call returns a Future, which has its value afterwards.

  class FutureNotReady < RuntimeError
    def initialize
      super("Value will be available once the pipeline executes.")
    end
  end

  class Future
    def initialize(convert)
      @convert = convert
      @state = :waiting
    end

    # An error reply stays a Symbol, without conversion; `value` raises it.
    def take(reply)
      @state = :there
      @value = reply.is_a?(Symbol) || @convert.nil? ? reply : @convert.call(reply)
    end

    def value
      raise FutureNotReady.new if @state == :waiting
      Redis.checked(@value)
    end

    def is_a?(type) = type == Future || super
  end

  class Pipeline
    include Commands
    include Collections

    attr_reader :commands

    def initialize
      @commands = []
      @futures = []
    end

    def call(*command) = send_command(command)

    def pipelined
      yield self
    end

    # A transaction among the other commands. The pipeline gets its replies one by one, as in the gem: "OK", a "QUEUED"
    # for each command, and the Array of their results, which is the value of the Future returned.
    def multi
      transaction = MultiConnection.new
      yield transaction
      send_command(["MULTI"])
      transaction.commands.each { |command| send_command(command) }
      send_command(["EXEC"]) { |replies| replies && transaction.settle(replies, true) }
    end

    def send_command(command, _wait = nil, &convert)
      @commands << Redis.plain(command)
      @futures << Future.new(convert)
      @futures.last
    end

    # Gives each Future its reply. With `exception` the first error reply is raised, else errors are returned as values,
    # as in the gem.
    def settle(replies, exception)
      values = @futures.each_with_index.map { |future, at| future.take(replies[at]) }
      refused = values.find { |value| value.is_a?(Symbol) }
      Redis.checked(refused) if refused && exception
      values.map { |value| value.is_a?(Symbol) ? CommandError.new(value.to_s) : value }
    end
  end
  PipelinedConnection = Pipeline

  # The commands of a transaction.
  class MultiConnection < Pipeline
    def multi
      raise BaseError, "Can't nest multi transaction"
    end
  end

  include Commands
  include Collections

  # `url:` is "redis://user:password@host:6379/0" or "unix:///path"; else host:, port:, path:, db:, username: and
  # password: count. `timeout:` is in seconds, 5 by default.
  def initialize(settings = {})
    unknown = settings.keys - SETTINGS
    raise ArgumentError, "unknown keywords: #{unknown.join(', ')}" unless unknown.empty?
    @host = "localhost"
    @port = 6379
    @db = 0
    in_settings = %i[url host port path].any? { |name| settings.key?(name) }
    take_url((in_settings ? settings[:url] : ENV["REDIS_URL"]).to_s)
    %i[host port path db username password].each do |name|
      instance_variable_set("@#{name}", settings[name]) if settings[name]
    end
    raise ArgumentError, "rediss:// and ssl: are not there: a connection is plain" if settings[:ssl]
    timeout = settings[:timeout] || 5
    @connect_timeout = settings[:connect_timeout] || timeout
    @read_timeout = settings[:read_timeout] || timeout
    # A number of attempts, or an Array with the pause before each.
    attempts = settings.fetch(:reconnect_attempts, 1) || 0
    @pauses = attempts.is_a?(Array) ? attempts : [0] * attempts
  end

  attr_reader :db

  def id = @path ? "unix://#{@path}" : "redis://#{@host}:#{@port}/#{@db}"
  def connected? = !@handle.nil?
  def inspect = "#<Redis client v#{VERSION} for #{id}>"
  alias _client itself

  def close
    FoolsGold::Native.handle_close(@handle) if @handle
    @handle = nil
    @watches = false
  end
  alias disconnect! close
  alias quit close

  # Yields the client, as a pool of connections yields one of them.
  def with
    yield self
  end

  # Sends any command: call("SET", "key", 1).
  def call(*command) = send_command(command)

  # Later connections of this client select the database too, if Redis has accepted it.
  def select(db)
    reply = super
    @db = db
    reply
  end

  def send_command(command, wait = nil)
    reply = Redis.checked(exchange([Redis.plain(command)], wait).first)
    block_given? ? yield(reply) : reply
  end

  # Sends all commands of the block at once and returns their replies.
  def pipelined(exception: true)
    pipeline = Pipeline.new
    yield pipeline
    return [] if pipeline.commands.empty?
    pipeline.settle(exchange(pipeline.commands, raises: exception), exception)
  end

  # Sends all commands of the block as a transaction (MULTI), and returns their replies.
  def multi
    pipeline = MultiConnection.new
    yield pipeline
    return [] if pipeline.commands.empty?
    replies = exchange([["MULTI"], *pipeline.commands, ["EXEC"]])
    refused = replies.find { |reply| reply.is_a?(Symbol) }
    Redis.checked(refused) if refused
    replies.last && pipeline.settle(replies.last, true)
  end

  # Makes the next transaction fail if another client changes one of these keys. If the connection is lost before the
  # transaction, the next command raises a ConnectionError.
  def watch(*keys)
    result = send_command(["WATCH", *keys])
    return result unless block_given?
    begin
      yield self
    rescue ConnectionError
      raise
    rescue StandardError
      unwatch
      raise
    end
  end

  def unwatch = send_command(["UNWATCH"])

  # A command of texts and Integers, with Hashes and Arrays flattened.
  def self.plain(command)
    parts = command.flat_map { |part| part.is_a?(Hash) ? part.to_a.flatten : part }.flatten
    parts.map { |part| part.is_a?(Float) ? part.to_s : part }
  end

  private

  def take_url(url)
    return if url.empty?
    uri = URI.parse(url)
    return @path = uri.path if uri.scheme == "unix"
    known = uri.scheme == "redis"
    raise ArgumentError, "invalid uri scheme '#{uri.scheme}': redis:// and unix:// are there" unless known
    @host = uri.host unless uri.host.to_s.empty?
    @port = uri.port || 6379
    @db = uri.path[1..-1].to_i if uri.path.size > 1
    user = URI.decode_uri_component(uri.user.to_s)
    @password = URI.decode_uri_component(uri.password) if uri.userinfo.to_s.include?(":")
    @username = user unless user.empty? || user == "default"
  end

  # With `raises` a ReadOnlyError is raised if the first error reply is READONLY.
  def exchange(commands, wait = nil, tries = 0, raises: true)
    fresh = @handle.nil?
    watches = @watches
    connect if fresh
    replies = FoolsGold::Native.redis_call(@handle, commands, wait ? @read_timeout + wait : @read_timeout)
    note_watches(commands)
    refused = replies.find { |reply| reply.is_a?(Symbol) } if raises
    Redis.checked(refused) if refused.to_s.start_with?("READONLY ")
    replies
  rescue TypeError, ArgumentError
    raise
  rescue ::Exception => error
    # Closed in any case: a part of the reply may still be on its way.
    close
    # Tried again where nothing was sent or written, or where the connection was an older one, which the server may have
    # closed meanwhile. But a new connection would watch no keys, and its transaction would overwrite what others have
    # changed.
    outdated = error.is_a?(ReadOnlyError) || (error.is_a?(ConnectionError) && !fresh)
    again = error.is_a?(CannotConnectError) || (outdated && !watches)
    raise unless again && tries < @pauses.size
    pause(@pauses[tries])
    exchange(commands, wait, tries + 1, raises: raises)
  end

  # There is no pause while the application is loaded, when `sleep` raises.
  def pause(seconds)
    sleep(seconds) if seconds > 0
  rescue NotImplementedError
    nil
  end

  # Keys are watched until the end of a transaction, by this connection alone.
  def note_watches(commands)
    commands.each do |command|
      case command.first.to_s.upcase
      when "WATCH" then @watches = true
      when "UNWATCH", "EXEC", "DISCARD", "RESET" then @watches = false
      end
    end
  end

  def connect
    where = @path ? [@path, nil] : [@host, @port]
    begin
      @handle = FoolsGold.with_room { FoolsGold::Native.redis_open(*where, @connect_timeout) }
    rescue CannotConnectError => error
      raise CannotConnectError, "Error connecting to Redis on #{@path || "#{@host}:#{@port}"} (#{error.message})"
    end
    first = []
    first << ["AUTH", *@username, @password] if @password
    first << ["SELECT", @db] if @db.to_i != 0
    return if first.empty?
    FoolsGold::Native.redis_call(@handle, first, @read_timeout).each { |reply| Redis.checked(reply) }
  end
end
