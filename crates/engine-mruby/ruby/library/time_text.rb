# Time as text, and as Date and DateTime.

class Time
  def strftime(form)
    FoolsGold::Native.strftime(form, @seconds, @nsec, @utc_offset, zone, utc?, false)
  end

  def to_s = strftime(utc? ? "%Y-%m-%d %H:%M:%S UTC" : "%Y-%m-%d %H:%M:%S %z")

  def inspect
    return to_s if @nsec == 0
    fraction = strftime("%N").sub(/0+\z/, "")
    strftime("%Y-%m-%d %H:%M:%S.#{fraction} #{utc? ? 'UTC' : '%z'}")
  end

  def ctime = strftime("%a %b %e %H:%M:%S %Y")
  alias asctime ctime
  def httpdate = getutc.strftime("%a, %d %b %Y %H:%M:%S GMT")
  def rfc2822 = strftime("%a, %d %b %Y %T #{utc? ? '-0000' : '%z'}")
  alias rfc822 rfc2822

  def iso8601(digits = 0)
    fraction = digits > 0 ? ".%#{digits}N" : ""
    strftime("%Y-%m-%dT%H:%M:%S#{fraction}#{utc? ? 'Z' : '%:z'}")
  end
  alias xmlschema iso8601

  def to_time = self

  def to_date
    Date.new(year, month, day)
  end

  def to_datetime
    DateTime.__at(@seconds, @nsec, @utc_offset)
  end
end
