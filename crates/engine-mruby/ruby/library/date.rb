# Date: a day, by its Julian day number. Before the 15th of October 1582 the calendar is Julian. DateTime is in
# datetime.rb.

class Date
  include Comparable

  class Error < ArgumentError; end

  # A number above all others, or below them; with a sign of 0 it is none.
  class Infinity < Numeric
    def initialize(sign = 1)
      @d = sign <=> 0
    end

    attr_reader :d
    protected :d

    def zero? = false
    def finite? = false
    def infinite? = d == 0 ? nil : d
    def nan? = d == 0
    def abs = self.class.new
    def -@ = self.class.new(-d)
    def +@ = self.class.new(d)
    def ==(other) = (self <=> other) == 0
    def to_f = d == 0 ? 0 : d * Float::INFINITY
    def coerce(other) = other.is_a?(Numeric) ? [-d, d] : super

    def <=>(other)
      case other
      when Infinity then d <=> other.d
      when Float then d <=> (other.infinite? || 0)
      when Numeric then d
      end
    end
  end

  ITALY = 2_299_161
  ENGLAND = 2_361_222
  JULIAN = Float::INFINITY
  GREGORIAN = -Float::INFINITY
  MONTHNAMES = [nil, *%w[January February March April May June July August September October November December]].freeze
  ABBR_MONTHNAMES = [nil, *%w[Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec]].freeze
  DAYNAMES = %w[Sunday Monday Tuesday Wednesday Thursday Friday Saturday].freeze
  ABBR_DAYNAMES = %w[Sun Mon Tue Wed Thu Fri Sat].freeze
  EPOCH = 2_440_588

  class << self
    def new(year = -4712, month = 1, day = 1, _start = ITALY)
      __jd(FoolsGold::Native.date_civil(*__whole(year: year, month: month, day: day)))
    end
    alias civil new

    def jd(number = 0, _start = ITALY) = __jd(__whole(jd: number).first)

    def ordinal(year = -4712, day = 1, _start = ITALY)
      __jd(FoolsGold::Native.date_ordinal(*__whole(year: year, yday: day)))
    end

    def commercial(year = -4712, week = 1, day = 1, _start = ITALY)
      __jd(FoolsGold::Native.date_commercial(*__whole(year: year, cweek: week, cwday: day)))
    end

    def today(_start = ITALY) = __jd(Time.now.to_date.jd)

    # Numbers, by their names, without fractions.
    def __whole(numbers)
      numbers.map do |name, number|
        number.is_a?(Numeric) ? number.floor : raise(TypeError, "invalid #{name} (not numeric)")
      end
    end

    def valid_date?(year, month, day, _start = ITALY)
      return false unless [year, month, day].all?(Integer)
      !FoolsGold::Native.date_civil(year, month, day).nil?
    end
    alias valid_civil? valid_date?

    def valid_ordinal?(year, day, _start = ITALY) = !FoolsGold::Native.date_ordinal(year, day).nil?
    def valid_commercial?(year, week, day, _start = ITALY) = !FoolsGold::Native.date_commercial(year, week, day).nil?
    def valid_jd?(number, _start = ITALY) = number.is_a?(Numeric)
    def gregorian_leap?(year) = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0
    alias leap? gregorian_leap?

    def __jd(number)
      raise Error, "invalid date" unless number
      allocate.__set(number)
    end
  end

  attr_reader :jd

  def __set(number)
    @jd = number
    @fields = nil
    self
  end

  def __fields
    return @fields if @fields
    fields = FoolsGold::Native.date_fields(@jd)
    frozen? ? fields : @fields = fields
  end

  def __week = FoolsGold::Native.date_week(@jd)
  def year = __fields[0]
  def month = __fields[1]
  alias mon month
  def day = __fields[2]
  alias mday day
  def wday = __fields[3]
  def yday = __fields[4]
  def cwyear = __week[0]
  def cweek = __week[1]
  def cwday = __week[2]
  def ajd = Rational(@jd * 2 - 1, 2)
  def mjd = @jd - 2_400_001
  def ld = @jd - 2_299_160
  def start = ITALY.to_f
  def julian? = @jd < ITALY
  def gregorian? = !julian?

  # The same day in another calendar. Only that of Italy is there, so that this works for days that have the same date
  # in both.
  def new_start(start = ITALY)
    return self if start == ITALY || (@jd < start) == julian?
    raise NotImplementedError, "new_start: #{self} has another date there. #{FoolsGold::HINT}"
  end

  def italy = self
  def england = new_start(ENGLAND)
  def julian = new_start(JULIAN)
  def gregorian = new_start(GREGORIAN)
  def day_fraction = 0
  def leap? = julian? ? year % 4 == 0 : Date.gregorian_leap?(year)

  %i[sunday? monday? tuesday? wednesday? thursday? friday? saturday?].each_with_index do |name, number|
    define_method(name) { wday == number }
  end

  def +(days)
    raise TypeError, "expected numeric" unless days.is_a?(Numeric)
    self.class.__jd(@jd + days.floor)
  end

  # The days between two Dates, as a Rational, or a Date that is earlier by a number of days.
  def -(other)
    case other
    when Date then __between(other)
    when Numeric then self + -other
    else raise TypeError, "expected numeric"
    end
  end

  def __between(other) = other.is_a?(DateTime) ? -other.__between(self) : Rational(@jd - other.jd, 1)

  # The Date that is later by a number of months; a day that the month does not have becomes its last one.
  def >>(months)
    raise TypeError, "expected numeric" unless months.is_a?(Numeric)
    count = year * 12 + month - 1 + months.floor
    at, last = count.div(12), day
    # Also over the gap of the reform in October 1582.
    until (found = FoolsGold::Native.date_civil(at, count % 12 + 1, last))
      last -= 1
      raise Error, "invalid date" if last < 1
    end
    self.class.__jd(found)
  end

  def <<(months)
    raise TypeError, "expected numeric" unless months.is_a?(Numeric)
    self >> -months
  end

  def next_day(days = 1) = self + days
  def prev_day(days = 1) = self - days
  def next_month(months = 1) = self >> months
  def prev_month(months = 1) = self << months
  def next_year(years = 1) = self >> years * 12
  def prev_year(years = 1) = self << years * 12
  def succ = self + 1
  alias next succ

  def <=>(other)
    case other
    when DateTime then -(other <=> self)
    when Date then @jd <=> other.jd
    when Infinity then -(other <=> 0)
    when Numeric then ajd <=> other
    end
  end

  def ===(other) = other.is_a?(Date) ? @jd == other.jd : self == other
  def eql?(other) = other.instance_of?(self.class) && self == other
  def hash = @jd.hash

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
  def inspect = "#<#{self.class}: #{self} ((#{@jd}j,0s,0n),+0s,2299161j)>"
  def rfc3339 = strftime("%Y-%m-%dT%H:%M:%S%:z")
  def rfc2822 = strftime("%a, %-d %b %Y %T %z")
  alias rfc822 rfc2822
  def httpdate = strftime("%a, %d %b %Y %T GMT")
  def ctime = strftime("%a %b %e %T %Y")
  alias asctime ctime
  def to_date = self
  def to_time = Time.local(year, month, day)
  def to_datetime = DateTime.new(year, month, day)

  def deconstruct_keys(keys)
    return __pattern_keys unless keys
    raise TypeError, "wrong argument type #{keys.class} (expected Array or nil)" unless keys.is_a?(Array)
    __pattern_keys.slice(*keys)
  end

  def __pattern_keys = { year: year, month: month, day: day, yday: yday, wday: wday }

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

    # The fields of a date and time in a text, as a Hash. `limit` is the most bytes, nil for no limit.
    def _parse(text, comp = true, limit: 128)
      __named(FoolsGold::Native.date_guess(FoolsGold.string(text), comp, limit))
    end

    def _strptime(text, form = "%F")
      parts = FoolsGold::Native.date_strptime(text, form)
      parts && __named(parts)
    end

    # The strict forms. The first call loads the library that defines these methods anew.
    %i[_iso8601 _xmlschema _rfc3339 _rfc2822 _rfc822 _httpdate _jisx0301].each do |name|
      define_method(name) do |text, limit: 128|
        FoolsGold::Loader.library("foolsgold/date/forms")
        __send__(name, text, limit: limit)
      end
    end

    def parse(text = "-4712-01-01", comp = true, _start = ITALY, limit: 128)
      __from(_parse(text, comp, limit: limit))
    end

    def strptime(text = "-4712-01-01", form = "%F", _start = ITALY)
      parts = _strptime(text, form)
      raise Error, "invalid date" if parts.nil?
      __from(parts)
    end

    { iso8601: "-4712-01-01", xmlschema: "-4712-01-01", jisx0301: "-4712-01-01", rfc3339: "-4712-01-01T00:00:00Z",
      rfc2822: "1 Jan -4712 00:00 GMT", rfc822: "1 Jan -4712 00:00 GMT",
      httpdate: "Mon, 01 Jan -4712 00:00:00 GMT" }.each do |name, first|
      define_method(name) do |text = first, _start = ITALY, limit: 128|
        __from(__send__("_#{name}", text, limit: limit))
      end
    end

    def __named(parts)
      fraction = parts.delete(:_fraction)
      parts[:sec_fraction] = Rational(fraction, 1_000_000_000) if fraction
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
      elsif parts[:hour] then __day_of_clock(today)
      end
    end

    # A time of day alone is no date. DateTime takes it for one of today.
    def __day_of_clock(_today) = nil
  end
end

FoolsGold.wait_for(Object, :DateTime, "foolsgold/datetime")
