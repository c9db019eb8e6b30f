# Parsing of Times: Time.parse, strptime, iso8601 and rfc2822 (`require "time"`).

class Time
  UTC = %w[Z UTC UT -00:00 -0000 -00].freeze
  # A text must have one of these fields. A zone, a day of the week or the number of a week alone is no time.
  FIELDS = %i[year yday mon mday hour min sec sec_fraction].freeze
  ZONES = { "UTC" => 0, "Z" => 0, "UT" => 0, "GMT" => 0, "EST" => -5, "EDT" => -4, "CST" => -6, "CDT" => -5,
            "MST" => -7, "MDT" => -6, "PST" => -8, "PDT" => -7 }.freeze

  class << self
    # Fields that are missing before the first one in the text are those of now; missing ones behind it are the least,
    # such as 0 seconds.
    def parse(text, now = nil)
      # The block gets a year of two digits as it is.
      parts = Date._parse(text, !block_given?)
      year = parts[:year]
      year = yield(year) if year && block_given?
      informed!(parts, text)
      __from_parts(parts.merge({ year: year }.compact), now || self.now)
    end

    def strptime(text, form, now = nil)
      parts = Date._strptime(text, form)
      if parts.nil? || (parts.keys - %i[leftover zone offset]).empty?
        raise ArgumentError, "invalid date or strptime format - `#{text}' `#{form}'"
      end
      return at_seconds(parts) if parts[:seconds]
      parts[:year] = yield(parts[:year]) if parts[:year] && block_given?
      if parts[:yday] || parts[:cweek] || parts[:wnum0] || parts[:wnum1]
        date = Date.strptime(text, form)
        parts = parts.merge(year: date.year, mon: date.month, mday: date.day, yday: nil)
      end
      informed!(parts, text)
      __from_parts(parts, now || self.now)
    end

    # Parses a time of RFC 3339 or XML Schema (dateTime).
    def iso8601(text)
      form = /\A\s*(-?\d+)-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?(Z|[-+]\d\d(?::?\d\d)?)?\s*\z/i
      found = form.match(text) || raise(ArgumentError, "invalid xmlschema format: #{text.inspect}")
      fields = found.captures.first(6).compact.map(&:to_i)
      return __made(fields, found[7], nil) unless found[8]
      zone = found[8].upcase
      __made(fields, found[7], zone == "Z" || zone == "-00:00" ? "UTC" : zone)
    end
    alias xmlschema iso8601

    def rfc2822(text)
      # As in CRuby, other text may follow the zone. So the first letter of a zone that is not listed is taken for a
      # military zone.
      form = /\A\s*(?:(?:sun|mon|tue|wed|thu|fri|sat)\s*,\s*)?
              (\d{1,2})\s+(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\s+(\d{2,})\s+
              (\d{2})\s*:\s*(\d{2})(?:\s*:\s*(\d\d))?\s+([-+]\d{4}|ut|gmt|[ecmp][sd]t|[a-ik-z])/xi
      found = form.match(text) || raise(ArgumentError, "not RFC 2822 compliant date: #{text.inspect}")
      year = found[3].to_i
      year += year < 50 ? 2000 : 1900 if found[3].size < 4
      zone = found[7].upcase
      fields = [year, found[2], found[1].to_i, found[4].to_i, found[5].to_i, found[6].to_i]
      __made(fields, nil, UTC.include?(zone) ? "UTC" : zone_offset(zone) || 0)
    end
    alias rfc822 rfc2822

    # Seconds of an offset, of a zone's name of RFC 2822, or of a name that the local zone has in the year; nil for
    # other names.
    def zone_offset(zone, year = nil)
      zone = zone.upcase
      found = /\A([-+])(\d\d):?(\d\d)(?::?(\d\d))?\z/.match(zone) || /\A([-+])(\d\d)\z/.match(zone)
      return letter(zone) if zone.size == 1 && zone != "Z" && zone != "J" && zone.between?("A", "Y")
      return ZONES[zone] * 3600 if ZONES[zone]
      unless found
        days = [1, 7].map { |month| local(year || now.year, month, 1) }
        return days.find { |day| day.zone.to_s.upcase == zone }&.utc_offset
      end
      seconds = found[2].to_i * 3600 + found[3].to_i * 60 + found[4].to_i
      found[1] == "-" ? -seconds : seconds
    end

    def __from_parts(parts, now)
      if (day = parts[:yday])
        year = parts[:year] || now.year
        raise ArgumentError, "yday #{day} out of range" unless Date.valid_ordinal?(year, day)
        date = Date.ordinal(year, day)
        parts = parts.merge(mon: date.month, mday: date.day)
      end
      name = parts[:zone]
      zone = name && zone_offset(name, parts[:year] || now.year)
      names = %i[year mon mday hour min sec]
      given = names.index { |name| parts[name] } || 6
      # A missing date is that of `now` in the zone of the text, otherwise in the local zone. `now` may be a Date, which
      # has no zone.
      now = zone ? now.getlocal(zone) : now.getlocal if given > 0 && now.respond_to?(:getlocal)
      values = names.each_with_index.map do |name, at|
        parts[name] || (at < given ? now.__send__(name) : (at < 3 ? 1 : 0))
      end
      fraction = parts[:sec_fraction]
      zone = "UTC" if name && UTC.include?(name.upcase)
      made = __made(values, nil, zone)
      fraction ? made + fraction : made
    end

    def __made(fields, fraction, zone)
      all = [nil, 1, 1, 0, 0, 0].each_with_index.map { |otherwise, at| fields[at] || otherwise }
      made = zone ? __home(new(*all, zone)) : local(*all)
      fraction ? made.__fraction(fraction) : made
    end

    # The time in the local zone, which has a name, where its offset is the same. CRuby does so too.
    def __home(time)
      home = time.utc? ? time : time.getlocal
      home.utc_offset == time.utc_offset ? home : time
    end

    private

    def informed!(parts, text)
      return if FIELDS.any? { |name| parts[name] }
      raise ArgumentError, "no time information in #{text.inspect}"
    end

    def at_seconds(parts)
      made = at(parts[:seconds])
      part = parts[:sec_fraction]
      made += parts[:seconds] < 0 ? -part : part if part
      zone = parts[:zone]
      return made.utc if zone && UTC.include?(zone.upcase)
      offset = zone && zone_offset(zone)
      offset && offset != made.utc_offset ? made.localtime(offset) : made
    end
  end
end
