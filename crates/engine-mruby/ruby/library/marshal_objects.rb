# Marshal.dump for each class, and the format of Time.

module Marshal
  class Dump
    private

    def core(object, limit)
      case object
      when Float then @out << "f" and bytes(float(object))
      when String then string(object, limit)
      when Regexp
        @out << "I/"
        bytes(object.source)
        # 16 is FIXEDENCODING, which CRuby sets for a source beyond ASCII.
        @out << (object.options & 7 | (object.source.ascii_only? ? 0 : 16)).chr
        number(1)
        encoding(object.source.ascii_only? ? "F" : "T")
      when Array
        subclass(object, Array)
        @out << "["
        number(object.size)
        object.each { |one| put(one, limit) }
      when Hash then hash(object, limit)
      when Class then @out << "c" and bytes(named("c", object.to_s))
      when Module then @out << "m" and bytes(named("m", object.to_s))
      when Struct then struct(object, limit)
      else return false
      end
      true
    end

    def subclass(object, base)
      # "C" stands before the type byte of the core class.
      return if object.instance_of?(base)
      @out << "C"
      class_of(object)
    end

    def string(object, limit)
      names = object.instance_variables
      @out << "I" unless object.__binary? && names.empty?
      subclass(object, String)
      @out << "\""
      bytes(object)
      return if object.__binary? && names.empty?
      number(names.size + (object.__binary? ? 0 : 1))
      encoding("T") unless object.__binary?
      names.each { |name| pair(name, object.instance_variable_get(name), limit) }
    end

    def hash(object, limit)
      raise TypeError, "can't dump hash with default proc" if object.default_proc
      subclass(object, Hash)
      if object.compare_by_identity?
        @out << "C"
        symbol(:Hash)
      end
      @out << (object.default.nil? ? "{" : "}")
      number(object.size)
      object.each do |key, value|
        put(key, limit)
        put(value, limit)
      end
      put(object.default, limit) unless object.default.nil?
    end

    def struct(object, limit)
      @out << "S"
      class_of(object)
      number(object.members.size)
      object.members.each { |name| pair(name, object[name], limit) }
    end

    # Writes any other object by its instance variables.
    def plain(object, limit)
      parts = case object
              when Range then { excl: object.exclude_end?, begin: object.begin, end: object.end }
              when Exception then { mesg: object.message, bt: object.backtrace, **variables(object) }
              when Data then object.to_h
              # Objects with native state, which has no bytes that another process could read.
              when Proc, Method, UnboundMethod, MatchData, Fiber, FoolsGold::Handle, StringIO, FoolsGold::LogIO
                raise TypeError, "no _dump_data is defined for class #{object.class}"
              else variables(object)
              end
      raise TypeError, "no _dump_data is defined for class #{object.class}" if parts.value?(FoolsGold::Handle)
      @out << (object.is_a?(Data) ? "S" : "o")
      class_of(object)
      pairs(parts, limit)
    end

    def variables(object)
      object.instance_variables.map { |name| [name, object.instance_variable_get(name)] }.to_h
    end

    def pairs(parts, limit)
      number(parts.size)
      parts.each { |name, value| pair(name, value, limit) }
    end

    def pair(name, value, limit)
      symbol(name)
      put(value, limit)
    end
  end

  # CRuby's format of a Time: two words of four bytes, and instance variables for what they have no room for.
  module TimeForm
    def self.dump(time)
      utc = time.getutc
      # Bit 31 marks this format, bit 30 UTC; then year, month, day and hour, and in the second word minute, second and
      # microsecond.
      first = (time.utc? ? 3 << 30 : 1 << 31) | (utc.year - 1900) << 14
      [first | (utc.mon - 1) << 10 | utc.mday << 5 | utc.hour, utc.min << 26 | utc.sec << 20 | utc.usec].pack("VV")
    end

    def self.variables(time)
      found = {}
      found[:offset] = time.utc_offset unless time.utc?
      rest = time.nsec % 1000
      found.merge!(nano_num: rest, nano_den: 1) if rest > 0
      found.merge!(zone: time.zone)
    end

    def self.load(bytes, parts)
      first, second = bytes.unpack("VV")
      raise TypeError, "marshaled time format differ" unless second
      time = Time.utc((first >> 14 & 0xffff) + 1900, (first >> 10 & 15) + 1, first >> 5 & 31, first & 31, second >> 26,
                      second >> 20 & 63, second & 0xfffff)
      rest = parts[:nano_num] ? parts[:nano_num] / (parts[:nano_den] || 1) : 0
      offset = parts[:offset]
      zone = first[30] == 1 ? :utc : parts[:zone]
      time.__set(time.to_i, time.nsec + rest, offset || 0, zone)
      return time if offset || zone == :utc
      time.localtime
    end
  end
end
