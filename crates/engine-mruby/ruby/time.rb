# Time's texts: strftime, HTTP dates, ISO 8601 and RFC 2822. The rest of Time is mruby's own.

class Time
  RFC2822_DAY_NAME = %w[Sun Mon Tue Wed Thu Fri Sat].freeze

  class << self
    # The time of an HTTP date in any of its three forms; ArgumentError for anything else.
    def httpdate(text)
      at(FoolsGold::Native.parse_httpdate(text)).utc
    end
  end

  def strftime(form)
    FoolsGold::Native.strftime(form, to_i, nsec, year, month, day, hour, min, sec, wday, yday, utc? ? nil : utc_offset)
  end

  def nsec
    usec * 1000
  end unless method_defined?(:nsec)

  def utc_offset
    return 0 if utc?
    local = Time.gm(year, month, day, hour, min, sec)
    local.to_i - to_i
  end unless method_defined?(:utc_offset)
  alias gmt_offset utc_offset unless method_defined?(:gmt_offset)

  def httpdate
    FoolsGold::Native.httpdate(to_i)
  end

  def iso8601(digits = 0)
    fraction = digits > 0 ? ".%#{digits}N" : ""
    strftime("%Y-%m-%dT%H:%M:%S#{fraction}#{utc? ? 'Z' : '%:z'}")
  end
  alias xmlschema iso8601

  def rfc2822
    strftime("%a, %d %b %Y %T #{utc? ? '-0000' : '%z'}")
  end
  alias rfc822 rfc2822

  def to_s
    strftime(utc? ? "%Y-%m-%d %H:%M:%S UTC" : "%Y-%m-%d %H:%M:%S %z")
  end
  alias inspect to_s
end
