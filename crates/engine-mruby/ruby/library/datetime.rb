# DateTime: a Date with a time of day and an offset. It holds seconds since 1970 in UTC, nanoseconds, and the offset in
# seconds.

class DateTime < Date
  UNITS = [86_400, 3600, 60, 1].freeze

  class << self
    def new(year = -4712, month = 1, day = 1, *clock)
      __timed({ year: year, month: month, day: day }, clock) { |*date| FoolsGold::Native.date_civil(*date) }
    end
    alias civil new

    def jd(number = 0, *clock) = __timed({ jd: number }, clock) { |day| day }

    def ordinal(year = -4712, day = 1, *clock)
      __timed({ year: year, yday: day }, clock) { |*date| FoolsGold::Native.date_ordinal(*date) }
    end

    def commercial(year = -4712, week = 1, day = 1, *clock)
      __timed({ year: year, cweek: week, cwday: day }, clock) { |*date| FoolsGold::Native.date_commercial(*date) }
    end

    undef_method :today

    # A DateTime from the numbers of a date, by their names, of which the block makes a day number, and hour, minute,
    # second, offset and start. The last number may have a fraction.
    def __timed(date, clock)
      given, most = date.size + clock.size, date.size + 5
      raise ArgumentError, "wrong number of arguments (given #{given}, expected 0..#{most})" if given > most
      named = date.merge(%i[hour minute second].first(clock.size).zip(clock).to_h)
      numbers, whole = named.values, __whole(named)
      # Only those from the day on count: a year has no fraction.
      broken = (date.size - 1...numbers.size).find { |at| numbers[at] != whole[at] }
      raise Date::Error, "invalid fraction" if broken && broken < numbers.size - 1
      part = broken ? (numbers.last - whole.last) * UNITS[numbers.size - date.size] : 0
      day = yield(*whole.first(date.size)) || raise(Date::Error, "invalid date")
      offset = __offset(clock[3] || 0)
      seconds = (day - Date::EPOCH) * 86_400 + __seconds(*whole.drop(date.size))
      __at(seconds - offset, (part * 1_000_000_000).round, offset)
    end

    # The seconds of a time of day. Negative numbers count from the end.
    def __seconds(hour = 0, minute = 0, second = 0)
      hour += 24 if hour < 0
      minute += 60 if minute < 0
      second += 60 if second < 0
      valid = hour.between?(0, 24) && minute.between?(0, 59) && second.between?(0, 59)
      # 24:00:00 is the end of the day; every other time must be before it.
      raise Date::Error, "invalid date" unless valid && (hour < 24 || (minute == 0 && second == 0))
      hour * 3600 + minute * 60 + second
    end

    def __at(seconds, nanoseconds, offset) = allocate.__place(seconds, nanoseconds, offset)

    # The beginning of a day in UTC.
    def __jd(number)
      raise Date::Error, "invalid date" unless number
      __at((number - Date::EPOCH) * 86_400, 0, 0)
    end

    def now(_start = Date::ITALY)
      time = Time.now
      __at(time.to_i, time.nsec, time.utc_offset)
    end

    def _strptime(text, form = "%FT%T%z") = super

    def parse(text = "-4712-01-01T00:00:00+00:00", comp = true, _start = Date::ITALY, limit: 128)
      __from(_parse(text, comp, limit: limit))
    end

    def strptime(text = "-4712-01-01T00:00:00+00:00", form = "%FT%T%z", _start = Date::ITALY) = super

    # A DateTime from parsed fields. A second of 60 (a leap second) becomes 59, as in CRuby.
    def __from(parts)
      offset = parts[:offset] || 0
      nanoseconds = ((parts[:sec_fraction] || 0) * 1_000_000_000).round
      return __at(parts[:seconds], nanoseconds, offset) if parts[:seconds]
      number = __number(parts) || raise(Date::Error, "invalid date")
      clock = __seconds(parts[:hour] || 0, parts[:min] || 0, [parts[:sec] || 0, 59].min)
      __at((number - Date::EPOCH) * 86_400 + clock - offset, nanoseconds, offset)
    end

    def __day_of_clock(today) = today.jd

    # Seconds of an offset, which is a part of a day or a text such as "+02:00"; 0 for more than a day.
    def __offset(offset)
      seconds = offset.is_a?(String) ? Date._parse("00:00 #{offset}")[:offset] || 0 : (offset * 86_400).round
      seconds.abs > 86_400 ? 0 : seconds
    end
  end

  # Sets the time, and the day number of the local date, by which Date's methods work.
  def __place(seconds, nanoseconds, offset)
    @seconds = seconds + nanoseconds.div(1_000_000_000)
    @nsec = nanoseconds % 1_000_000_000
    @offset = offset
    __set((@seconds + offset).div(86_400) + EPOCH)
  end

  attr_reader :nsec

  def __seconds = @seconds
  def hour = (@seconds + @offset) % 86_400 / 3600
  def minute = (@seconds + @offset) % 3600 / 60
  alias min minute
  def second = (@seconds + @offset) % 60
  alias sec second
  def sec_fraction = Rational(@nsec, 1_000_000_000)
  alias second_fraction sec_fraction
  def offset = Rational(@offset, 86_400)
  def zone = strftime("%:z")
  def day_fraction = __days((@seconds + @offset) % 86_400, @nsec)
  def ajd = @seconds / 86_400.0 + EPOCH - 0.5

  def new_offset(offset = 0) = self.class.__at(@seconds, @nsec, DateTime.__offset(offset))

  def +(days)
    raise TypeError, "expected numeric" unless days.is_a?(Numeric)
    whole = days.floor
    nanoseconds = days == whole ? 0 : ((days - whole) * 86_400_000_000_000).round
    self.class.__at(@seconds + whole * 86_400, @nsec + nanoseconds, @offset)
  end

  def __between(other)
    theirs, part = other.is_a?(DateTime) ? [other.__seconds, other.nsec] : [(other.jd - EPOCH) * 86_400, 0]
    __days(@seconds - theirs, @nsec - part)
  end

  # Seconds and nanoseconds in days.
  def __days(seconds, nanoseconds) = Rational(seconds * 1_000_000_000 + nanoseconds, 86_400_000_000_000)

  # The day moves in the local calendar and the time of day stays, so that only days are added to the seconds.
  def >>(months)
    date = to_date >> months
    self.class.__at(@seconds + (date.jd - @jd) * 86_400, @nsec, @offset)
  end

  def <=>(other)
    return super unless other.is_a?(Date)
    theirs = other.is_a?(DateTime) ? [other.__seconds, other.nsec] : [(other.jd - EPOCH) * 86_400, 0]
    [@seconds, @nsec] <=> theirs
  end

  def hash = [@seconds, @nsec].hash

  def strftime(form = "%FT%T%:z")
    zone = FoolsGold::Native.strftime("%:z", 0, 0, @offset, "", false, true)
    FoolsGold::Native.strftime(Date.__form(form, self), @seconds, @nsec, @offset, zone, false, true)
  end

  def to_s = strftime("%Y-%m-%dT%H:%M:%S%:z")

  def iso8601(digits = 0)
    strftime("%Y-%m-%dT%H:%M:%S#{digits > 0 ? ".%#{digits}N" : ''}%:z")
  end
  alias xmlschema iso8601
  alias rfc3339 iso8601

  def inspect
    day = @seconds.div(86_400) + EPOCH
    offset = "#{'+' unless @offset < 0}#{@offset}"
    "#<#{self.class}: #{self} ((#{day}j,#{@seconds % 86_400}s,#{@nsec}n),#{offset}s,2299161j)>"
  end

  def httpdate = new_offset(0).strftime("%a, %d %b %Y %T GMT")
  def to_time = Time.at(@seconds, @nsec, :nsec, in: @offset)
  def to_date = Date.jd(@jd)
  def to_datetime = self
  # CRuby's fields: period of the calendar, day number in UTC, seconds of the day, nanoseconds, offset, and the day of
  # the reform.
  def marshal_dump = [0, @seconds.div(86_400) + EPOCH, @seconds % 86_400, @nsec, @offset, 2_299_161.0]
  def marshal_load(parts) = __place((parts[1] - EPOCH) * 86_400 + parts[2], parts[3], parts[4])

  def __pattern_keys = super.merge(hour: hour, min: min, sec: sec, sec_fraction: sec_fraction, zone: zone)
end
