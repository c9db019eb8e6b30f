# Time: seconds and nanoseconds since 1970 with an offset. Calendar, zones and strftime are in Rust
# (ruby-stdlib/src/time/). Time.new and so on are in time_new.rb, texts of a Time in time_text.rb, parsing in
# time_parse.rb.

class Time
  include Comparable

  RFC2822_DAY_NAME = %w[Sun Mon Tue Wed Thu Fri Sat].freeze
  RFC2822_MONTH_NAME = %w[Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec].freeze

  attr_reader :nsec, :utc_offset
  alias tv_nsec nsec
  alias gmt_offset utc_offset
  alias gmtoff utc_offset

  # Sets all fields. The zone is a name, nil for an offset without a name, or :utc.
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
  def to_f = @seconds + @nsec / 1e9
  def usec = @nsec.div(1000)
  alias tv_usec usec
  def subsec = @nsec == 0 ? 0 : @nsec / 1e9
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
    (@seconds - other.to_i) + (@nsec - other.nsec) / 1e9
  end

  def <=>(other)
    return other.respond_to?(:__turned) ? other.__turned(self) : nil unless other.is_a?(Time)
    found = @seconds <=> other.to_i
    found == 0 ? @nsec <=> other.nsec : found
  end

  def ==(other) = other.is_a?(Time) && @seconds == other.to_i && @nsec == other.nsec
  def eql?(other) = self == other
  def hash = [@seconds, @nsec].hash
  def succ = self + 1

  def utc = __set(@seconds, @nsec, 0, :utc)
  alias gmtime utc
  def getutc = dup.utc
  alias getgm getutc

  def localtime(zone = nil)
    return __set(@seconds, @nsec, *Time.__zone(zone)) if zone
    __set(@seconds, @nsec, *FoolsGold::Native.time_local(@seconds, ENV["TZ"]))
  end

  def getlocal(zone = nil) = dup.localtime(zone)

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

  # The state for Marshal: seconds, nanoseconds, offset, zone and daylight saving.
  def marshal_dump = [@seconds, @nsec, @utc_offset, @zone, @dst]
  def marshal_load(parts) = __set(*parts)

  private

  def moved(other, sign)
    raise TypeError, "can't convert #{other.class} into an exact number" unless other.is_a?(Numeric)
    whole = other.floor
    part = whole != other ? ((other - whole) * 1_000_000_000).round : 0
    made = dup.__set(@seconds + sign * whole, @nsec + sign * part, @utc_offset, @zone, @dst)
    # The offset of a zone may change between the two times (daylight saving).
    @zone.nil? || utc? ? made : made.localtime
  end

  def cut(digits)
    unit = 10**(9 - [digits, 9].min)
    dup.__set(@seconds, @nsec + yield(@nsec % unit, unit), @utc_offset, @zone, @dst)
  end
end

FoolsGold.run_library("foolsgold/time_text")
FoolsGold.run_library("foolsgold/time_new")
