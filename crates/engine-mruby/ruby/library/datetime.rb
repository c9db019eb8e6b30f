# DateTime: a Date with a time of day and an offset. It holds seconds since 1970 in UTC, nanoseconds, and the offset in
# seconds; `offset`, `day_fraction` and differences are Floats where CRuby has Rationals.

class DateTime < Date
  class << self
    def new(year = -4712, month = 1, day = 1, hour = 0, minute = 0, second = 0, offset = 0, _start = Date::ITALY)
      number = FoolsGold::Native.date_civil(year, month, day)
      hour += 24 if hour < 0
      minute += 60 if minute < 0
      second += 60 if second < 0
      valid = number && hour.between?(0, 24) && minute.between?(0, 59) && second >= 0 && second < 60
      # 24:00:00 is the end of the day; every other time must be before it.
      raise Date::Error, "invalid date" unless valid && (hour < 24 || (minute == 0 && second == 0))
      whole = second.floor
      offset = __offset(offset)
      seconds = (number - Date::EPOCH) * 86_400 + hour * 3600 + minute * 60 + whole
      __at(seconds - offset, ((second - whole) * 1e9).round, offset)
    end
    alias civil new

    def __at(seconds, nanoseconds, offset) = allocate.__place(seconds, nanoseconds, offset)
    def now(_start = Date::ITALY) = Time.now.to_datetime

    def _strptime(text, form = "%FT%T%z") = super

    def parse(text = "-4712-01-01T00:00:00+00:00", comp = true, _start = Date::ITALY, limit: 128)
      __from(_parse(text, comp, limit: limit))
    end

    def strptime(text = "-4712-01-01T00:00:00+00:00", form = "%FT%T%z", _start = Date::ITALY)
      parts = _strptime(text, form)
      raise Date::Error, "invalid date" if parts.nil?
      __from(parts)
    end

    # A DateTime from parsed fields. A second of 60 (a leap second) becomes 59, as in CRuby.
    def __from(parts)
      offset = parts[:offset] || 0
      nanoseconds = ((parts[:sec_fraction] || 0) * 1e9).round
      return __at(parts[:seconds], nanoseconds, offset) if parts[:seconds]
      number = __number(parts) || raise(Date::Error, "invalid date")
      seconds = (parts[:hour] || 0) * 3600 + (parts[:min] || 0) * 60 + [parts[:sec] || 0, 59].min
      __at((number - Date::EPOCH) * 86_400 + seconds - offset, nanoseconds, offset)
    end

    # Seconds of an offset, which is a part of a day or a text such as "+02:00".
    def __offset(offset)
      return (offset * 86_400).round unless offset.is_a?(String)
      Date._parse("00:00 #{offset}")[:offset] || 0
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
  def sec_fraction = @nsec == 0 ? 0 : @nsec / 1e9
  alias second_fraction sec_fraction
  def offset = @offset / 86_400.0
  def zone = strftime("%:z")
  def day_fraction = ((@seconds + @offset) % 86_400 + @nsec / 1e9) / 86_400
  def ajd = @seconds / 86_400.0 + EPOCH - 0.5

  def new_offset(offset = 0) = DateTime.__at(@seconds, @nsec, DateTime.__offset(offset))

  def +(days)
    raise TypeError, "expected numeric" unless days.is_a?(Numeric)
    nanoseconds = days.is_a?(Float) ? ((days - days.floor) * 86_400_000_000_000).round : 0
    DateTime.__at(@seconds + days.floor * 86_400, @nsec + nanoseconds, @offset)
  end

  def __between(other)
    theirs = other.is_a?(DateTime) ? other.__seconds : (other.jd - EPOCH) * 86_400
    (@seconds - theirs + (@nsec - (other.is_a?(DateTime) ? other.nsec : 0)) / 1e9) / 86_400
  end

  # The day moves in the local calendar and the time of day stays, so that only days are added to the seconds.
  def >>(months)
    date = to_date >> months
    DateTime.__at(@seconds + (date.jd - @jd) * 86_400, @nsec, @offset)
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
    "#<DateTime: #{self} ((#{day}j,#{@seconds % 86_400}s,#{@nsec}n),+#{@offset}s,2299161j)>"
  end

  def httpdate = new_offset(0).strftime("%a, %d %b %Y %T GMT")
  def to_time = Time.at(@seconds, @nsec, :nsec, in: @offset)
  def to_date = Date.jd(@jd)
  def to_datetime = self
  # CRuby's fields: period of the calendar, day number in UTC, seconds of the day, nanoseconds, offset, and the day of
  # the reform.
  def marshal_dump = [0, @seconds.div(86_400) + EPOCH, @seconds % 86_400, @nsec, @offset, 2_299_161.0]
  def marshal_load(parts) = __place((parts[1] - EPOCH) * 86_400 + parts[2], parts[3], parts[4])

  def deconstruct_keys(keys)
    all = { year: year, month: month, day: day, wday: wday, yday: yday, hour: hour, minute: minute, second: second,
            sec_fraction: sec_fraction, zone: zone }
    keys ? all.slice(*keys) : all
  end
end
