# Time: seconds and nanoseconds since 1970 with an offset. Calendar, zones and strftime are in Rust
# (ruby-stdlib/src/time/). Parsing is in library/time.rb, which `require "time"` loads.

class Time
  include Comparable

  RFC2822_DAY_NAME = %w[Sun Mon Tue Wed Thu Fri Sat].freeze
  RFC2822_MONTH_NAME = %w[Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec].freeze

  attr_reader :nsec, :utc_offset
  alias tv_nsec nsec
  alias gmt_offset utc_offset
  alias gmtoff utc_offset

  OWN_VARIABLES = %i[@seconds @nsec @utc_offset @zone @dst @fields].freeze
  private_constant :OWN_VARIABLES
  def instance_variables = super - OWN_VARIABLES

  # Sets all fields. The zone is a name, nil for an offset without a name, :utc, or an object that converts times.
  def __set(seconds, nanoseconds, offset, zone, dst = false)
    @seconds = seconds + nanoseconds.div(1_000_000_000)
    @nsec = nanoseconds % 1_000_000_000
    @utc_offset = offset
    @zone = zone
    @dst = dst
    @fields = nil
    self
  end

  def to_i = @seconds
  alias tv_sec to_i
  # The nanoseconds since 1970, divided once as in CRuby: a sum of two Floats may have another last digit.
  def to_f = (@seconds * 1_000_000_000 + @nsec) / 1e9
  def usec = @nsec.div(1000)
  alias tv_usec usec
  def subsec = @nsec == 0 ? 0 : Rational(@nsec, 1_000_000_000)
  def to_r = Rational(@seconds * 1_000_000_000 + @nsec, 1_000_000_000)
  def zone = @zone == :utc ? "UTC" : @zone
  def utc? = @zone == :utc
  alias gmt? utc?
  def isdst = @dst
  alias dst? isdst

  # Year, month and so on, computed once. A frozen Time cannot remember them.
  def __fields
    return @fields if @fields
    fields = FoolsGold::Native.time_fields(@seconds + @utc_offset)
    frozen? ? fields : @fields = fields
  end

  def year = __fields[0]
  def month = __fields[1]
  alias mon month
  def day = __fields[2]
  alias mday day
  def hour = __fields[3]
  def min = __fields[4]
  def sec = __fields[5]
  def wday = __fields[6]
  def yday = __fields[7]
  def to_a = [sec, min, hour, day, month, year, wday, yday, isdst, zone]

  def deconstruct_keys(keys)
    raise TypeError, "wrong argument type #{keys.class} (expected Array or nil)" unless keys.nil? || keys.is_a?(Array)
    all = { year: year, month: month, day: day, yday: yday, wday: wday, hour: hour, min: min, sec: sec,
            subsec: subsec, dst: dst?, zone: zone }
    keys ? all.slice(*keys) : all
  end

  %i[sunday? monday? tuesday? wednesday? thursday? friday? saturday?].each_with_index do |name, number|
    define_method(name) { wday == number }
  end

  def +(other)
    raise TypeError, "time + time?" if other.is_a?(Time)
    moved(other, 1)
  end

  # The seconds between two Times as a Float, or a Time that is earlier by a number of seconds.
  def -(other)
    return moved(other, -1) unless other.is_a?(Time)
    ((@seconds - other.to_i) * 1_000_000_000 + @nsec - other.nsec) / 1e9
  end

  def <=>(other)
    return other.respond_to?(:__turned) ? other.__turned(self) : nil unless other.is_a?(Time)
    found = @seconds <=> other.to_i
    found == 0 ? @nsec <=> other.nsec : found
  end

  def ==(other) = other.is_a?(Time) && @seconds == other.to_i && @nsec == other.nsec
  def eql?(other) = self == other
  def hash = [@seconds, @nsec].hash

  # A frozen Time that is in UTC already stays as it is.
  def utc = utc? ? self : __set(@seconds, @nsec, 0, :utc)
  alias gmtime utc
  def getutc = self.class.allocate.__set(@seconds, @nsec, 0, :utc)
  alias getgm getutc

  def localtime(zone = nil)
    return __set(@seconds, @nsec, *FoolsGold::Native.time_local(@seconds, ENV["TZ"])) unless zone
    return __set(@seconds, @nsec, *Time.__zone(zone)) unless Time.__converts?(zone)
    # The zone gives the local time, as a Time or in seconds.
    local = zone.utc_to_local(Time.__utc(@seconds, @nsec))
    __in(zone, local.to_i + (local.is_a?(Time) ? local.utc_offset : 0))
  end

  # Sets an object as the zone, by the local time in seconds.
  def __in(zone, wall)
    summer = zone.respond_to?(:dst?) && zone.dst?(Time.__utc(@seconds, @nsec)) ? true : false
    __set(@seconds, @nsec, wall - @seconds, zone, summer)
  end

  def getlocal(zone = nil) = getutc.localtime(zone)

  # Rounds to a number of digits of a second, halves up.
  def round(digits = 0) = cut(digits) { |rest, unit| rest * 2 >= unit ? unit - rest : -rest }
  def floor(digits = 0) = cut(digits) { |rest, _unit| -rest }
  def ceil(digits = 0) = cut(digits) { |rest, unit| rest == 0 ? 0 : unit - rest }

  def initialize_copy(other)
    super
    __set(other.to_i, other.nsec, other.utc_offset, other.__zone, other.isdst)
  end

  def __zone = @zone
  def __fraction(digits) = __set(@seconds, digits.ljust(9, "0")[0, 9].to_i, @utc_offset, @zone, @dst)

  def strftime(form)
    FoolsGold::Native.strftime(form, @seconds, @nsec, @utc_offset, zone_name, utc?, false)
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
    digits = digits.to_i
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

  MONTHS = %w[jan feb mar apr may jun jul aug sep oct nov dec].freeze
  UNITS = { millisecond: 1_000_000, usec: 1000, microsecond: 1000, nsec: 1, nanosecond: 1 }.freeze

  def initialize(*fields)
    made = Time.__make(*fields)
    __set(made.to_i, made.nsec, made.utc_offset, made.__zone, made.isdst)
  end

  class << self
    # The current time, with `in: zone` in that zone.
    def now(options = nil)
      made = allocate.__set(*FoolsGold::Native.time_now(ENV["TZ"]))
      zone = options && options[:in]
      zone ? made.localtime(zone) : made
    end

    # The nanoseconds in a number of seconds, or of another unit, rounded down. As in CRuby, the exact value of a Float
    # counts: 0.3 is a little less than three tenths, and gives 299 999 999.
    def __nanoseconds(number, unit = 1_000_000_000)
      return number * unit if number.is_a?(Integer)
      return (number * unit).floor unless number.is_a?(Float)
      raise FloatDomainError, number.to_s unless number.finite?
      part, power = Math.frexp(number)
      bits = Math.ldexp(part, 53).to_i * unit
      power > 53 ? bits << (power - 53) : bits >> (53 - power)
    end

    def __utc(seconds, nanoseconds) = Time.allocate.__set(seconds, nanoseconds, 0, :utc)

    # Whether an object that stands for a zone converts times itself, as those of the gem tzinfo do.
    def __converts?(zone) = !zone.is_a?(String) && !zone.is_a?(Numeric) && zone.respond_to?(:utc_to_local)

    # A date in one of the three forms of RFC 9110, section 5.6.7. In the first one, which is the usual one, any weekday
    # and any year are taken, as in CRuby; the native parser of the other two wants the right weekday and 1970 or later.
    def httpdate(text)
      form = /\A\s*(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),\x20(\d\d)\x20([a-z]{3})\x20(\d{4})
              \x20(\d\d):(\d\d):(\d\d)\x20GMT\s*\z/xi
      if (found = form.match(text))
        day, month, year, *clock = found.captures
        return utc(year.to_i, month, day.to_i, *clock.map(&:to_i))
      end
      at(FoolsGold::Native.parse_httpdate(text)).utc
    end

    # A Time from seconds (a number or a Time), and a part of a second in a unit.
    def at(time, *parts)
      zone = parts.last.is_a?(Hash) ? parts.pop[:in] : nil
      part, unit = parts
      unit ||= :microsecond
      return copied(time, zone) if time.is_a?(Time)
      raise TypeError, "can't convert #{time.class} into an exact number" unless time.is_a?(Numeric)
      nanoseconds = __nanoseconds(time)
      if part
        raise ArgumentError, "unexpected unit: #{unit}" unless UNITS.key?(unit)
        nanoseconds += __nanoseconds(part, UNITS[unit])
      end
      made = allocate.__set(0, nanoseconds, 0, :utc)
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
      if fields[6] && options[:in]
        raise ArgumentError, "timezone argument given as positional and keyword arguments"
      end
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
      return [zone.floor, nil] if zone.is_a?(Numeric) && zone.abs < 86_400
      return [0, :utc] if zone == "UTC" || zone == "Z" || zone == "-00:00"
      if zone.is_a?(String)
        return [letter(zone), nil] if zone.size == 1 && ("A".."Y").cover?(zone) && zone != "J"
        found = zone.match(/\A([-+])(\d\d)(?::?([0-5]\d)(?::?([0-5]\d))?)?\z/)
        if found && found[2].to_i < 24
          offset = found[2].to_i * 3600 + found[3].to_i * 60 + found[4].to_i
          return [found[1] == "-" ? -offset : offset, nil]
        end
      end
      raise ArgumentError, "utc_offset out of range" if zone.is_a?(Numeric)
      return [zone.utc_offset, zone.utc? ? :utc : zone.zone] if zone.is_a?(Time)
      raise TypeError, "can't convert #{zone.class} into an exact number" unless zone.is_a?(String)
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
      nanoseconds = parted ? __nanoseconds(sec) - whole * 1_000_000_000 : 0
      nanoseconds += __nanoseconds(micro, 1000) if micro
      hour = field(hour, 0..24, 0)
      min = field(min, 0..59, 0)
      whole = field(whole, 0..60, 0)
      # 24:00:00 is accepted and becomes 0:00 of the next day; a second of 60 becomes the next minute.
      raise ArgumentError, "argument out of range" if hour == 24 && (min > 0 || whole > 0)
      raise TypeError, "can't convert nil into an exact number" if year.nil?
      year = year.is_a?(String) ? Integer(year, 10) : year.to_int
      wall = FoolsGold::Native.time_civil(year, month_of(month), field(day, 1..31, 1), hour, min, whole)
      return allocate.__set(*FoolsGold::Native.time_from_local(wall, ENV["TZ"]).insert(1, nanoseconds)) unless zone
      if __converts?(zone)
        return allocate.__set(zone.local_to_utc(__utc(wall, nanoseconds)).to_i, nanoseconds, 0, :utc).__in(zone, wall)
      end
      offset, name = __zone(zone)
      allocate.__set(wall - offset, nanoseconds, offset, name)
    end
  end

  private

  # The name of the zone in strftime; an object may say it.
  def zone_name
    return zone if @zone.nil? || @zone == :utc || @zone.is_a?(String)
    return @zone.abbr(getutc).to_s if @zone.respond_to?(:abbr)
    @zone.respond_to?(:name) ? @zone.name.to_s : ""
  end

  # As in CRuby, what is computed from a Time of a subclass is a plain Time.
  def moved(other, sign)
    raise TypeError, "can't convert #{other.class} into an exact number" unless other.is_a?(Numeric)
    nanoseconds = @nsec + Time.__nanoseconds(sign * other)
    made = Time.allocate.__set(@seconds, nanoseconds, @utc_offset, @zone, @dst)
    return made if @zone.nil? || utc?
    # The offset of a zone may change between the two times (daylight saving).
    made.localtime(@zone.is_a?(String) ? nil : @zone)
  end

  def cut(digits)
    raise ArgumentError, "negative ndigits given" if digits < 0
    unit = 10**(9 - [digits, 9].min)
    Time.allocate.__set(@seconds, @nsec + yield(@nsec % unit, unit), @utc_offset, @zone, @dst)
  end
end
