# The strict forms of a date: iso8601, rfc3339, xmlschema, rfc2822, httpdate and jisx0301. A text of another form has no
# fields. Date._parse, which guesses, is in Rust (ruby-stdlib/src/time/guess.rs).

class Date
  module Forms
    DAYS = "sun|mon|tue|wed|thu|fri|sat"
    MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
    LONG_DAYS = "sunday|monday|tuesday|wednesday|thursday|friday|saturday"
    CLOCK = '(?<hour>\d\d):(?<min>\d\d):(?<sec>\d\d)'
    FRACTION = '(?:[.,](?<fraction>\d+))?'
    ZONE = '(?<zone>z|[-+]\d\d(?::?\d\d)?)?'
    COLON_ZONE = '(?<zone>z|[-+]\d\d:\d\d)?'
    LONG_CLOCK = "(?<hour>\\d\\d):(?<min>\\d\\d)(?::(?<sec>\\d\\d)#{FRACTION})?".freeze
    SHORT_CLOCK = "(?<hour>\\d\\d)(?<min>\\d\\d)(?:(?<sec>\\d\\d)#{FRACTION})?".freeze
    SHORT_ZONE = '(?<zone>z|[-+]\d\d(?:\d\d)?)?'
    YEAR = '(?<year>[-+]?(?:\d{4}|\d\d))'
    LONG = ['(?<year>[-+]?\d{2,}|-)-(?<mon>\d\d)?(?:-(?<mday>\d\d))?', '(?<year>[-+]?\d{2,})?-(?<yday>\d{3})',
            '(?<cwyear>\d{4}|\d\d)?-w(?<cweek>\d\d)-(?<cwday>\d)', '-w-(?<cwday>\d)'].freeze
    SHORT = ['(?<year>[-+]?(?:\d{4}|\d\d)|--)(?<mon>\d\d|-)(?<mday>\d\d)', "#{YEAR}(?<yday>\\d{3})", '-(?<yday>\d{3})',
             '(?<cwyear>\d{4}|\d\d)w(?<cweek>\d\d)(?<cwday>\d)', '-w(?<cweek>\d\d)(?<cwday>\d)'].freeze

    # The patterns of each form, which are tried in this order.
    ALL = {
      iso8601: [
        *LONG.map { |day| "#{day}(?:t#{LONG_CLOCK}#{ZONE})?" },
        *SHORT.map { |day| "#{day}(?:t?#{SHORT_CLOCK}#{SHORT_ZONE})?" },
        "(?<hour>\\d\\d):(?<min>\\d\\d)(?::(?<sec>\\d\\d)#{FRACTION}#{ZONE})?",
        "(?<hour>\\d\\d)(?<min>\\d\\d)(?:(?<sec>\\d\\d)#{FRACTION}#{SHORT_ZONE})?"
      ],
      rfc3339: [
        "(?<year>-?\\d{4})-(?<mon>\\d\\d)-(?<mday>\\d\\d)(?:t|\\s)#{CLOCK}(?:\\.(?<fraction>\\d+))?" \
          '(?<zone>z|[-+]\d\d:\d\d)'
      ],
      xmlschema: [
        "(?<year>-?\\d{4,})(?:-(?<mon>\\d\\d)(?:-(?<mday>\\d\\d))?)?" \
          "(?:t#{CLOCK}(?:\\.(?<fraction>\\d+))?)?#{COLON_ZONE}",
        "#{CLOCK}(?:\\.(?<fraction>\\d+))?#{COLON_ZONE}",
        "--(?<mon>\\d\\d)(?:-(?<mday>\\d\\d))?#{COLON_ZONE}",
        "---(?<mday>\\d\\d)#{COLON_ZONE}"
      ],
      rfc2822: [
        "(?:(?<wday>#{DAYS})\\s*,\\s+)?(?<mday>\\d{1,2})\\s+(?<mon>#{MONTHS})\\s+(?<year>-?\\d{2,})\\s+" \
          '(?<hour>\d\d):(?<min>\d\d)(?::(?<sec>\d\d))?\s*' \
          '(?<zone>[-+]\d{4}|ut|gmt|e[sd]t|c[sd]t|m[sd]t|p[sd]t|[a-ik-z])'
      ],
      httpdate: [
        "(?<wday>#{DAYS})\\s*,\\s+(?<mday>\\d\\d)\\s+(?<mon>#{MONTHS})\\s+(?<year>-?\\d{4})\\s+#{CLOCK}" \
          '\s+(?<zone>gmt)',
        "(?<wday>#{LONG_DAYS})\\s*,\\s+(?<mday>\\d\\d)\\s*-\\s*(?<mon>#{MONTHS})\\s*-\\s*(?<year>\\d\\d)\\s+#{CLOCK}" \
          '\s+(?<zone>gmt)',
        "(?<wday>#{DAYS})\\s+(?<mon>#{MONTHS})\\s+(?<mday>\\d{1,2})\\s+#{CLOCK}\\s+(?<year>\\d{4})"
      ],
      jisx0301: [
        "(?<era>[mtshr])?(?<year>\\d\\d)\\.(?<mon>\\d\\d)\\.(?<mday>\\d\\d)(?:t(?:#{LONG_CLOCK}#{ZONE})?)?"
      ]
    }.transform_values { |forms| forms.map { |form| /\A\s*(?:#{form})\s*\z/i } }.freeze

    # The years before the first one of each Japanese era.
    ERAS = { "m" => 1867, "t" => 1911, "s" => 1925, "h" => 1988, "r" => 2018 }.freeze
    # As CRuby orders the fields of iso8601.
    ORDER = %i[mday yday cweek cwday year cwyear mon hour min sec sec_fraction zone offset].freeze

    class << self
      # The fields of a text of one of these forms, as a Hash; an empty one for every other text.
      def read(name, text, limit)
        return {} if text.nil?
        text = FoolsGold.string(text.is_a?(Symbol) ? text.to_s : text)
        if limit && text.bytesize > limit
          raise ArgumentError, "string length (#{text.bytesize}) exceeds the limit #{limit}"
        end
        found = nil
        ALL[name].find { |form| found = form.match(text) }
        return name == :jisx0301 ? read(:iso8601, text, limit) : {} unless found
        name == :iso8601 ? fields(found).slice(*ORDER) : fields(found)
      end

      private

      def fields(found)
        made = {}
        found.names.each do |name|
          next unless (text = found[name])
          case name
          when "era" then next
          when "zone"
            made[:zone] = text
            made[:offset] = Date._parse("00:00 #{text}")[:offset]
          when "fraction" then made[:sec_fraction] = Rational(text.ljust(9, "0")[0, 9].to_i, 1_000_000_000)
          when "wday" then made[:wday] = DAYS.index(text[0, 3].downcase) / 4
          else
            number = name == "mon" && (at = MONTHS.index(text.downcase)) ? at / 4 + 1 : text[/\d+\z/] && text.to_i
            made[name.to_sym] = name.end_with?("year") ? whole_year(text, number, found) : number if number
          end
        end
        made
      end

      # A year of two digits is one of 1969 to 2068, or one of a Japanese era.
      def whole_year(text, number, found)
        return number + ERAS[(found["era"] || "h").downcase] if found.names.include?("era")
        return number if text.size > 3
        number + (number < 69 ? 2000 : 1900)
      end
    end
  end

  class << self
    Forms::ALL.each_key do |name|
      define_method("_#{name}") { |text, limit: 128| Forms.read(name, text, limit) }
    end
    alias _rfc822 _rfc2822
  end
end
