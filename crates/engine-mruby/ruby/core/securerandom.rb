# SecureRandom: bytes, numbers, texts and UUIDs from the random source of the operating system.

module SecureRandom
  class << self
    def random_bytes(count = nil)
      FoolsGold::Native.random_bytes(count || 16)
    end
    alias bytes random_bytes
    alias gen_random random_bytes

    def hex(count = nil)
      random_bytes(count).unpack("H*").first
    end

    def base64(count = nil)
      [random_bytes(count)].pack("m").delete("\n")
    end

    def urlsafe_base64(count = nil, padding = false)
      text = base64(count).tr("+/", "-_")
      padding ? text : text.delete("=")
    end

    def uuid
      FoolsGold::Native.uuid
    end
    alias uuid_v4 uuid

    # A random number below an Integer or Float, or in a Range; without a limit above 0 a Float from 0 to below 1.
    def random_number(limit = 0)
      case limit
      when nil, 0 then FoolsGold::Native.random_number(0)
      when Float then FoolsGold::Native.random_number(0) * (limit < 0 ? 1 : limit)
      when Integer
        return FoolsGold::Native.random_number(0) if limit < 0
        limit.bit_length > 62 ? wide(limit) : FoolsGold::Native.random_number(limit)
      when Range then within(limit.begin, limit.end, limit.exclude_end?)
      else raise ArgumentError, "invalid argument - #{limit}"
      end
    end
    alias rand random_number

    # A random Integer below a large limit: random bits are drawn until they are below it, which at least every second
    # draw is.
    def wide(limit)
      bits = (limit - 1).bit_length
      loop do
        number = hex((bits + 7) / 8).to_i(16) >> (-bits % 8)
        return number if number < limit
      end
    end

    # A random number in a range; for an empty one a Float from 0 to below 1, as Random::Formatter returns.
    def within(low, high, open)
      return low + FoolsGold::Native.random_number(0) * (high - low) if Float === low || Float === high
      count = high - low + (open ? 0 : 1)
      count > 0 ? low + random_number(count) : random_number
    end
    private :wide, :within

    def alphanumeric(count = nil, chars: ALPHANUMERIC)
      Array.new(count || 16) { chars[random_number(chars.size)] }.join
    end

    # A UUID of version 7 (RFC 9562), which begins with the time in milliseconds. Up to 12 extra bits of the time can
    # replace random ones.
    def uuid_v7(extra_timestamp_bits: 0)
      extra = Integer(extra_timestamp_bits)
      raise ArgumentError, "extra_timestamp_bits must be in 0..12" unless extra.between?(0, 12)
      time, part = (FoolsGold::Native.time_real * 1000).divmod(1)
      time = time.to_s(16).rjust(12, "0")
      unused = 1 << (12 - extra)
      part = ((part * (1 << extra)).to_i * unused + random_number(unused)).to_s(16).rjust(3, "0")
      rest = hex(8)
      kind = (8 + random_number(4)).to_s(16)
      "#{time[0, 8]}-#{time[8, 4]}-7#{part}-#{kind}#{rest[0, 3]}-#{rest[3, 12]}"
    end
  end

  ALPHANUMERIC = [*"A".."Z", *"a".."z", *"0".."9"].freeze
end
