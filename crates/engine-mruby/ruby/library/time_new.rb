# Constructors of Time: the current time, seconds since 1970, and fields in a zone.

class Time
  MONTHS = %w[jan feb mar apr may jun jul aug sep oct nov dec].freeze
  UNITS = { millisecond: 1_000_000, usec: 1000, microsecond: 1000, nsec: 1, nanosecond: 1 }.freeze

  def initialize(*fields)
    made = Time.__make(*fields)
    __set(made.to_i, made.nsec, made.utc_offset, made.__zone, made.isdst)
  end

  class << self
    # The current time, with `in: zone` in that zone.
    def now(options = nil)
      seconds, nanoseconds, *local = FoolsGold::Native.time_now(ENV["TZ"])
      allocate.__set(seconds, nanoseconds, *(options ? __zone(options[:in]) : local))
    end

    def httpdate(text)
      at(FoolsGold::Native.parse_httpdate(text)).utc
    end

    # A Time from seconds (a number or a Time), and a part of a second in a unit.
    def at(time, *parts)
      zone = parts.last.is_a?(Hash) ? parts.pop[:in] : nil
      part, unit = parts
      unit ||= :microsecond
      return copied(time, zone) if time.is_a?(Time)
      seconds, nanoseconds = split(time)
      if part
        raise ArgumentError, "unexpected unit: #{unit}" unless UNITS.key?(unit)
        nanoseconds += part.is_a?(Integer) ? part * UNITS[unit] : (part * UNITS[unit]).floor
      end
      made = allocate.__set(seconds, nanoseconds, 0, :utc)
      zone ? made.localtime(zone) : made.localtime
    end

    # A subclass of Time may have an `initialize` of its own, which must be called.
    def new(*fields, &block)
      return __make(*fields) if equal?(Time) || instance_method(:initialize).owner.equal?(Time)
      made = allocate
      made.__send__(:initialize, *fields, &block)
      made
    end
    ruby2_keywords :new

    # A Time from fields, or from a text in the form of `inspect`; `in: zone` may be the last argument.
    def __make(*fields)
      options = fields.last.is_a?(Hash) ? fields.pop : {}
      raise ArgumentError, "wrong number of arguments (given #{fields.size}, expected 0..7)" if fields.size > 7
      zone = fields[6] || options[:in]
      return zone ? now(in: zone) : now if fields.empty?
      return __read(fields[0], zone) if fields.size == 1 && fields[0].is_a?(String) && fields[0].size > 4
      civil(fields.first(6), zone)
    end

    def utc(*fields) = civil(ordered(fields), "UTC")
    alias gm utc
    def local(*fields) = civil(ordered(fields), nil)
    alias mktime local

    # Offset and zone (a name, nil or :utc) for an argument that stands for a zone.
    def __zone(zone)
      return [zone, nil] if zone.is_a?(Integer) && zone.abs < 86_400
      return [0, :utc] if zone == "UTC" || zone == "Z" || zone == "-00:00"
      if zone.is_a?(String)
        return [letter(zone), zone] if zone.size == 1 && ("A".."Y").cover?(zone) && zone != "J"
        found = zone.match(/\A([-+])(\d\d)(?::?([0-5]\d)(?::?([0-5]\d))?)?\z/)
        if found && found[2].to_i < 24
          offset = found[2].to_i * 3600 + found[3].to_i * 60 + found[4].to_i
          return [found[1] == "-" ? -offset : offset, nil]
        end
      end
      raise ArgumentError, "utc_offset out of range" if zone.is_a?(Integer)
      return [zone.utc_offset, zone.utc? ? :utc : zone.zone] if zone.is_a?(Time)
      names = '"+HH:MM", "-HH:MM", "UTC" or "A".."I","K".."Z"'
      raise ArgumentError, "#{names} expected for utc_offset: #{zone}"
    end

    # A Time from a text such as "2024-01-02 03:04:05.6 +07:00".
    def __read(text, zone)
      form = /\A(\d{4,})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d+))?\s*(\S+)?\z/
      found = form.match(text) || raise(ArgumentError, "no time information in #{text.inspect}")
      made = civil(found.captures.first(6).map(&:to_i), zone || found[8])
      found[7] ? made.__fraction(found[7]) : made
    end

    private

    def copied(time, zone)
      made = time.dup
      zone ? made.localtime(zone) : made
    end

    def split(number)
      raise TypeError, "can't convert #{number.class} into an exact number" unless number.is_a?(Numeric)
      return [number, 0] if number.is_a?(Integer)
      raise FloatDomainError, number.to_s unless number.finite?
      whole = number.floor
      [whole, ((number - whole) * 1_000_000_000).floor]
    end

    def letter(zone)
      # Military time zones: A to I are +1 to +9, K to M +10 to +12, N to Y -1 to -12; J is none.
      number = zone.ord
      return (number - 64) * 3600 if number <= 73
      number <= 77 ? (number - 65) * 3600 : (77 - number) * 3600
    end

    # Ten fields are those of to_a, in reverse order; seven end in microseconds.
    def ordered(fields)
      raise ArgumentError, "wrong number of arguments (given 0, expected 1+)" if fields.empty?
      fields.size == 10 ? fields.first(6).reverse : fields
    end

    def field(value, range, otherwise)
      return otherwise if value.nil?
      value = value.is_a?(String) ? Integer(value, 10) : value.to_int
      raise ArgumentError, "argument out of range" unless range.cover?(value)
      value
    end

    def month_of(value)
      at = value.is_a?(String) ? MONTHS.index(value.downcase) : nil
      return at + 1 if at
      value = field(value, -(1 << 31)..(1 << 31), 1)
      value.between?(1, 12) ? value : raise(ArgumentError, "mon out of range")
    end

    def civil(fields, zone)
      year, month, day, hour, min, sec, micro = fields
      sec = sec.to_f if sec.is_a?(String) && sec.include?(".")
      parted = sec.is_a?(Numeric) && !sec.is_a?(Integer)
      whole = parted ? sec.floor : sec
      nanoseconds = parted ? ((sec - whole) * 1_000_000_000).floor : 0
      nanoseconds += (micro * 1000).floor if micro
      hour = field(hour, 0..24, 0)
      min = field(min, 0..59, 0)
      whole = field(whole, 0..60, 0)
      # 24:00:00 is accepted and becomes 0:00 of the next day; a second of 60 becomes the next minute.
      raise ArgumentError, "argument out of range" if hour == 24 && (min > 0 || whole > 0)
      raise TypeError, "can't convert nil into an exact number" if year.nil?
      year = year.is_a?(String) ? Integer(year, 10) : year.to_int
      wall = FoolsGold::Native.time_civil(year, month_of(month), field(day, 1..31, 1), hour, min, whole)
      return allocate.__set(*FoolsGold::Native.time_from_local(wall, ENV["TZ"]).insert(1, nanoseconds)) unless zone
      offset, name = __zone(zone)
      allocate.__set(wall - offset, nanoseconds, offset, name)
    end
  end
end
