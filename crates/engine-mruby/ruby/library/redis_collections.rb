# Commands of Redis on hashes, lists, sets and sorted sets whose arguments or replies need a conversion.

class Redis
  module Collections
    SCORES = ->(reply) { reply.each_slice(2).map { |member, score| [member, Redis.float(score)] } }

    def hset(key, *pairs) = send_command(["HSET", key, *pairs])
    def hmset(key, *pairs) = send_command(["HMSET", key, *pairs])
    def mapped_hmset(key, hash) = send_command(["HMSET", key, hash])
    def hgetall(key) = send_command(["HGETALL", key], &Commands::PAIRS)

    def mapped_hmget(key, *fields)
      send_command(["HMGET", key, *fields]) { |values| fields.zip(values).to_h }
    end

    def lpop(key, count = nil) = send_command(["LPOP", key, *count])
    def rpop(key, count = nil) = send_command(["RPOP", key, *count])

    # Waits for an item up to `timeout` seconds (0 for no limit), at the longest until the request's deadline.
    def blpop(*keys, timeout: 0) = send_command(["BLPOP", *keys, timeout], wait_of(timeout))
    def brpop(*keys, timeout: 0) = send_command(["BRPOP", *keys, timeout], wait_of(timeout))

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
      return send_command(command, &Commands::FLOAT) if incr
      return send_command(command) if pairs.size == 1 && pairs.first.is_a?(Array)
      send_command(command, &Commands::BOOL)
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

    def zpopmin(key, count = nil) = popped("ZPOPMIN", key, count)
    def zpopmax(key, count = nil) = popped("ZPOPMAX", key, count)

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

    def wait_of(timeout)
      timeout == 0 ? 1e9 : timeout
    end

    def scored(command, options)
      return send_command(command) unless options[:with_scores] || options[:withscores]
      send_command([*command, "WITHSCORES"], &SCORES)
    end

    def popped(word, key, count)
      send_command([word, key, *count]) do |reply|
        pairs = SCORES.call(reply)
        count ? pairs : pairs.first
      end
    end
  end
end
