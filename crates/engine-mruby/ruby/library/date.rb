# Date: a day, by its Julian day number. Before the 15th of October 1582 the calendar is Julian. Texts are in
# date_text.rb, DateTime is in datetime.rb.

class Date
  include Comparable

  class Error < ArgumentError; end

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
      wrong = [year, month, day].find { |one| !one.is_a?(Numeric) }
      raise TypeError, "invalid #{wrong.inspect} (not numeric)" if wrong
      __jd(FoolsGold::Native.date_civil(year, month, day))
    end
    alias civil new

    def jd(number = 0, _start = ITALY) = __jd(number)
    def ordinal(year = -4712, day = 1, _start = ITALY) = __jd(FoolsGold::Native.date_ordinal(year, day))

    def commercial(year = -4712, week = 1, day = 1, _start = ITALY)
      __jd(FoolsGold::Native.date_commercial(year, week, day))
    end

    def today(_start = ITALY) = Time.now.to_date

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
  def ajd = @jd - 0.5
  def mjd = @jd - 2_400_001
  def ld = @jd - 2_299_160
  def start = ITALY.to_f
  def julian? = @jd < ITALY
  def gregorian? = !julian?
  def gregorian = self
  def day_fraction = 0
  def leap? = julian? ? year % 4 == 0 : Date.gregorian_leap?(year)

  %i[sunday? monday? tuesday? wednesday? thursday? friday? saturday?].each_with_index do |name, number|
    define_method(name) { wday == number }
  end

  def +(days)
    raise TypeError, "expected numeric" unless days.is_a?(Numeric)
    dup.__set(@jd + days.floor)
  end

  # The days between two Dates, or a Date that is earlier by a number of days.
  def -(other)
    case other
    when Date then __between(other)
    when Numeric then self + -other
    else raise TypeError, "expected numeric"
    end
  end

  def __between(other) = other.is_a?(DateTime) ? -other.__between(self) : @jd - other.jd

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
    dup.__set(found)
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
    when Numeric then ajd <=> other
    end
  end

  def ===(other) = other.is_a?(Date) ? @jd == other.jd : self == other
  def eql?(other) = other.instance_of?(self.class) && self == other
  def hash = @jd.hash

  FoolsGold.run_library("foolsgold/date_text")
end

FoolsGold.wait_for(Object, :DateTime, "foolsgold/datetime")
