# Date: its texts, parsing, and steps.

class Date
  def step(limit, by = 1)
    return to_enum(:step, limit, by) unless block_given?
    at = self
    while by > 0 ? at <= limit : at >= limit
      yield at
      at += by
    end
    self
  end

  def upto(last, &block) = block ? step(last, 1, &block) : to_enum(:upto, last)
  def downto(last, &block) = block ? step(last, -1, &block) : to_enum(:downto, last)

  def strftime(form = "%F")
    FoolsGold::Native.strftime(Date.__form(form, self), (@jd - EPOCH) * 86_400, 0, 0, "+00:00", false, true)
  end

  def to_s = strftime("%Y-%m-%d")
  alias iso8601 to_s
  alias xmlschema to_s
  def inspect = "#<Date: #{self} ((#{@jd}j,0s,0n),+0s,2299161j)>"
  def rfc3339 = strftime("%Y-%m-%dT%H:%M:%S%:z")
  def rfc2822 = strftime("%a, %-d %b %Y %T %z")
  alias rfc822 rfc2822
  def httpdate = strftime("%a, %d %b %Y %T GMT")
  def ctime = strftime("%a %b %e %T %Y")
  alias asctime ctime
  def to_date = Date.jd(@jd)
  def to_time = Time.local(year, month, day)
  def to_datetime = DateTime.new(year, month, day)

  def deconstruct_keys(keys)
    all = { year: year, month: month, day: day, wday: wday, yday: yday }
    keys ? all.slice(*keys) : all
  end

  def marshal_dump
    [0, @jd, 0, 0, 0, 2_299_161.0]
  end

  def marshal_load(parts)
    __set(parts[1])
  end

  class << self
    # Expands `%Q` (milliseconds since 1970) and `%+`, which the strftime of Time does not have.
    def __form(form, date)
      return form unless form.include?("%Q") || form.include?("%+")
      form.gsub("%Q") { date.strftime("%s%L") }.gsub("%+", "%a %b %e %H:%M:%S %Z %Y")
    end

    # The fields of a date and time in a text, as a Hash.
    def _parse(text, comp = true, limit: 128)
      raise TypeError, "no implicit conversion of #{text.class} into String" unless text.is_a?(String)
      __named(FoolsGold::Native.date_guess(text, comp))
    end

    def _strptime(text, form = "%F")
      parts = FoolsGold::Native.date_strptime(text, form)
      parts && __named(parts)
    end

    def _iso8601(text) = _parse(text)
    def parse(text = "-4712-01-01", comp = true, _start = ITALY, limit: 128) = __from(_parse(text, comp))

    def strptime(text = "-4712-01-01", form = "%F", _start = ITALY)
      parts = _strptime(text, form)
      raise Error, "invalid date" if parts.nil?
      __from(parts)
    end

    %i[iso8601 xmlschema rfc3339 rfc2822 rfc822 httpdate].each do |name|
      define_method(name) { |text = "-4712-01-01", *| parse(text) }
    end

    def __named(parts)
      fraction = parts.delete(:_fraction)
      parts[:sec_fraction] = fraction / 1e9 if fraction
      parts
    end

    def __from(parts) = __jd(__number(parts))

    # The day number of parsed fields, nil where there is no such day. Larger fields that are missing are those of
    # today; smaller ones are the first.
    def __number(parts)
      return parts[:jd] if parts[:jd]
      return Time.at(parts[:seconds] + parts[:offset].to_i).utc.to_date.jd if parts[:seconds]
      today = Date.today
      year = parts[:year]
      if parts[:yday] then FoolsGold::Native.date_ordinal(year || today.year, parts[:yday])
      elsif parts[:mon] || parts[:mday]
        day = parts[:mday] || 1
        FoolsGold::Native.date_civil(year || today.year, parts[:mon] || (year ? 1 : today.mon), day)
      elsif parts[:cweek] || (parts[:cwday] && !parts[:wday] && !parts[:wnum0] && !parts[:wnum1])
        day = parts[:cwday] || (parts[:wday] ? (parts[:wday] - 1) % 7 + 1 : 1)
        FoolsGold::Native.date_commercial(parts[:cwyear] || today.cwyear, parts[:cweek] || today.cweek, day)
      elsif parts[:wnum0]
        day = (parts[:wday] || parts[:cwday] || 0) % 7
        FoolsGold::Native.date_week_num(year || today.year, parts[:wnum0], day, false)
      elsif parts[:wnum1]
        day = parts[:wday] || parts[:cwday] || 1
        FoolsGold::Native.date_week_num(year || today.year, parts[:wnum1], (day - 1) % 7, true)
      elsif parts[:wday] then today.jd - today.wday + parts[:wday]
      elsif year then FoolsGold::Native.date_civil(year, 1, 1)
      elsif parts[:hour] then today.jd
      end
    end
  end
end
