# Marshal: serialization in CRuby's format 4.8.

module Marshal
  MAJOR_VERSION = 4
  MINOR_VERSION = 8

  class << self
    def dump(object, io = nil, limit = -1)
      io, limit = nil, io if io.is_a?(Integer)
      out = Dump.new(limit).run(object)
      return out unless io
      raise TypeError, "instance of IO needed" unless io.respond_to?(:write)
      io.write(out)
      io
    end

    # Reads an object from a String or IO; from an IO the next one, at its position. The callable is called with each
    # object, which its result replaces.
    def load(source, callable = nil, freeze: false)
      return Load.new(source.to_str, callable, freeze).run if source.respond_to?(:to_str)
      raise TypeError, "instance of IO needed" unless source.respond_to?(:read)
      from = source.pos if source.respond_to?(:pos=)
      text = source.read
      raise EOFError, "end of file reached" if text.empty?
      reader = Load.new(text, callable, freeze)
      found = reader.run
      source.pos = from + reader.at if from
      found
    end
    alias restore load
  end

  # Writes an object. One that was written before is written as a reference.
  class Dump
    def initialize(limit)
      @limit = limit
      @out = "\x04\x08".b
      @symbols = {}
      # By identity: two equal Strings are two objects.
      @seen = {}.compare_by_identity
    end

    def run(object)
      put(object, @limit)
      @out
    end

    private

    def put(object, limit)
      raise ArgumentError, "exceed depth limit" if limit == 0
      case object
      when nil then @out << "0"
      when true then @out << "T"
      when false then @out << "F"
      when Symbol then symbol(object)
      when Integer then integer(object)
      else
        if (at = @seen[object])
          @out << "@"
          return number(at)
        end
        return time(object) if object.is_a?(Time)
        @seen[object] = @seen.size
        thing(object, limit - 1)
      end
    end

    # A Time has its index behind the objects among its variables, such as the zone's name.
    def time(object)
      own_text(object)
      @seen[object] = @seen.size
    end

    # See Load#number.
    def number(value)
      return @out << "\0" if value == 0
      return @out << (value + 5).chr if value.between?(1, 122)
      return @out << ((value - 5) & 255).chr if value.between?(-123, -1)
      count = [8, 16, 24, 32].find { |bits| value.between?(-(1 << bits), (1 << bits) - 1) } / 8
      @out << ((value < 0 ? -count : count) & 255).chr
      count.times { |at| @out << ((value >> 8 * at) & 255).chr }
    end

    def integer(value)
      if value.between?(-(1 << 30), (1 << 30) - 1)
        @out << "i"
        return number(value)
      end
      # Large Integers have an index like objects, but are never written as references.
      @seen[Object.new] = @seen.size
      words = (value.abs.bit_length + 15) / 16
      @out << "l" << (value < 0 ? "-" : "+")
      number(words)
      (words * 2).times { |at| @out << ((value.abs >> 8 * at) & 255).chr }
    end

    def bytes(text)
      number(text.bytesize)
      @out << text.b
    end

    def symbol(name)
      if (at = @symbols[name])
        @out << ";"
        return number(at)
      end
      plain = name.to_s.ascii_only?
      @out << "I" unless plain
      @symbols[name] = @symbols.size
      @out << ":"
      bytes(name.to_s)
      utf8 unless plain
    end

    def utf8
      number(1)
      encoding("T")
    end

    # The encoding of a text: T for UTF-8, F for ASCII.
    def encoding(mark)
      symbol(:E)
      @out << mark
    end

    def named(type, name)
      return name unless name.start_with?("#<")
      raise TypeError, "can't dump anonymous #{type == 'm' ? 'module' : 'class'} #{name}"
    end

    def class_of(object) = symbol(named("c", object.class.to_s).to_sym)

    def thing(object, limit)
      if object.respond_to?(:marshal_dump, true)
        @out << "U"
        class_of(object)
        return put(object.__send__(:marshal_dump), limit)
      end
      return own_text(object) if object.respond_to?(:_dump)
      # Reading could not give the methods back.
      raise TypeError, "singleton can't be dumped" unless object.singleton_methods(false).empty? || object.is_a?(Module)
      core(object, limit) || plain(object, limit)
    end

    # An object of a class with _dump, which returns its bytes.
    def own_text(object)
      text = object.is_a?(Time) ? TimeForm.dump(object) : object._dump(-1)
      raise TypeError, "_dump() must return string" unless text.is_a?(String)
      extra = object.is_a?(Time) ? TimeForm.variables(object) : nil
      @out << "I" if extra || !text.__binary?
      @out << "u"
      class_of(object)
      bytes(text)
      return pairs(extra, -1) if extra
      utf8 unless text.__binary?
    end

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
      when Array, Hash, Struct then varied(object, limit)
      when Class then @out << "c" and bytes(named("c", object.to_s))
      when Module then @out << "m" and bytes(named("m", object.to_s))
      else return false
      end
      true
    end

    # Writes a collection, with its instance variables behind it if it has any.
    def varied(object, limit)
      parts = variables(object)
      @out << "I" unless parts.empty?
      case object
      when Array then array(object, limit)
      when Hash then hash(object, limit)
      else struct(object, limit)
      end
      pairs(parts, limit) unless parts.empty?
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

    def array(object, limit)
      subclass(object, Array)
      @out << "["
      number(object.size)
      object.each { |one| put(one, limit) }
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

    # The text of a Float: the shortest that reads back as the same number.
    def float(value)
      return "nan" if value.nan?
      return value > 0 ? "inf" : "-inf" if value.infinite?
      sign = value < 0 || 1 / value < 0 ? "-" : ""
      return "#{sign}0" if value == 0
      whole, fraction, power = value.abs.to_s.match(/(\d+)\.(\d+)(?:e(.*))?/).captures
      digits = "#{whole}#{fraction}".sub(/\A0+/, "")
      point = digits.size - fraction.size + power.to_i
      digits = digits.sub(/0+\z/, "")
      "#{sign}#{placed(digits, point)}"
    end

    # With an exponent below 1e-4, and where zeros would have to be added before the point.
    def placed(digits, point)
      if point > digits.size || point < -3
        rest = digits[1..-1]
        return "#{digits[0]}#{".#{rest}" unless rest.empty?}e#{point - 1}"
      end
      return "0.#{'0' * -point}#{digits}" if point <= 0
      point == digits.size ? digits : "#{digits[0, point]}.#{digits[point..-1]}"
    end
  end

  # Reads the output of Marshal.dump, ours or CRuby's.
  class Load
    # Number of bytes that were read.
    attr_reader :at

    def initialize(text, callable, freeze)
      @text = text
      @at = 2
      @callable = callable
      @freeze = freeze
      @symbols = []
      @objects = []
      major, minor = text.getbyte(0), text.getbyte(1)
      raise ArgumentError, "marshal data too short" unless minor
      return if major == MAJOR_VERSION && minor <= MINOR_VERSION
      raise TypeError, "incompatible marshal file format (can't be read)\n\tformat version 4.8 required; " \
        "#{major}.#{minor} given"
    end

    def run = take

    private

    def byte
      found = @text.getbyte(@at) || raise(ArgumentError, "marshal data too short")
      @at += 1
      found
    end

    # Marshal's Integers: 0, small ones shifted by 5 in one byte, else the count of the little-endian bytes that follow,
    # negative for a negative number.
    def number
      first = byte
      first -= 256 if first > 127
      return 0 if first == 0
      return first - 5 if first > 4
      return first + 5 if first < -4
      value = 0
      first.abs.times { |at| value |= byte << 8 * at }
      first < 0 ? value - (1 << 8 * -first) : value
    end

    def bytes(count = number)
      raise ArgumentError, "marshal data too short" if count < 0 || @at + count > @text.bytesize
      @at += count
      @text.byteslice(@at - count, count).b
    end

    # Reserves the index of an object before its parts are read, which may refer to it.
    def place
      @objects << nil
      @objects.size - 1
    end

    def keep(at, object) = @objects[at] = object

    # An object that is complete: frozen if asked for, and passed through the callable.
    def done(object)
      object = object.freeze if @freeze && !object.is_a?(Module)
      @callable ? @callable.call(object) : object
    end

    def take(variables = false)
      case (type = byte.chr)
      when "0" then done(nil)
      when "T" then done(true)
      when "F" then done(false)
      when "i" then done(number)
      when ":", ";" then done(symbol_of(type))
      when "@" then reference
      when "I" then with_variables
      else object(type, variables)
      end
    end

    def reference
      at = number
      raise ArgumentError, "dump format error (unlinked)" unless at.between?(0, @objects.size - 1)
      done(@objects[at])
    end

    # A Symbol, also one with an encoding ("I"), whose variables are skipped: Symbols are UTF-8 here.
    def symbol(type = byte.chr)
      return symbol_of(type) unless type == "I"
      byte
      found = bytes.force_encoding("UTF-8").to_sym
      @symbols << found
      number.times { symbol && take }
      found
    end

    def symbol_of(type)
      case type
      when ":"
        @symbols << bytes.force_encoding("UTF-8").to_sym
        @symbols.last
      when ";" then @symbols[number] || raise(ArgumentError, "bad symbol")
      else raise ArgumentError, "dump format error for symbol(0x#{type.ord.to_s(16)})"
      end
    end

    # Reads an object with instance variables, one of which is a String's encoding.
    def with_variables
      # 58 is ":", a Symbol with an encoding: `symbol` reads it from its "I" on.
      if @text.getbyte(@at) == 58
        @at -= 1
        return done(symbol)
      end
      take(true)
    end

    def variables_of(object)
      number.times do
        name = symbol
        value = take
        case name
        when :E then object.force_encoding("UTF-8") if object.is_a?(String)
        when :encoding then object.is_a?(String) && object.force_encoding(value)
        else object.instance_variable_set(name, value)
        end
      end
      object
    end

    def constant(name = symbol)
      name.to_s.split("::").inject(Object) { |at, part| at.const_get(part) }
    rescue NameError
      raise ArgumentError, "undefined class/module #{name}"
    end

    def object(type, variables)
      case type
      when "\"" then text(String, variables)
      when "[" then array([], variables)
      when "{", "}" then hash({}, type, variables)
      when "f" then done(keep(place, float(bytes)))
      when "l" then done(keep(place, large))
      when "o" then plain
      when "S" then struct(variables)
      when "U" then user
      when "u" then own_text(variables)
      when "C" then subclass(variables)
      when "c", "M", "m" then done(keep(place, constant(bytes.force_encoding("UTF-8"))))
      when "/" then regexp(variables)
      when "e" then extended(variables)
      else raise ArgumentError, "dump format error(0x#{type.ord.to_s(16)})"
      end
    end

    # Each object gets its index before its parts are read (`place`), in the order in which CRuby's writer counts them.
    def text(klass, variables)
      at = place
      found = klass == String ? bytes : klass.allocate.replace(bytes)
      keep(at, found)
      variables_of(found) if variables
      done(found)
    end

    def array(made, variables)
      keep(place, made)
      number.times { made << take }
      variables_of(made) if variables
      done(made)
    end

    def hash(made, type, variables)
      keep(place, made)
      number.times do
        key = take
        made[key] = take
      end
      made.default = take if type == "}"
      variables_of(made) if variables
      done(made)
    end

    def float(text)
      { "nan" => Float::NAN, "inf" => Float::INFINITY, "-inf" => -Float::INFINITY }[text] || text.to_f
    end

    def large
      sign = byte.chr
      value = 0
      bytes(number * 2).each_byte.with_index { |one, at| value |= one << 8 * at }
      sign == "-" ? -value : value
    end

    # An object by its instance variables. The message and backtrace of an exception are among them as "mesg" and "bt".
    def plain
      klass = constant
      return range(klass) if klass <= Range
      at = place
      made = klass.allocate
      keep(at, made)
      parts = pairs
      if klass <= Exception
        made = keep(at, klass.allocate)
        Exception.instance_method(:initialize).bind(made).call(parts.delete(:mesg))
        trace = parts.delete(:bt)
        made.set_backtrace(trace) if trace
      end
      parts.each { |name, value| made.instance_variable_set(name, value) }
      done(made)
    end

    def pairs = Array.new(number) { [symbol, take] }.to_h

    def range(klass)
      at = place
      parts = pairs
      done(keep(at, klass.new(parts[:begin], parts[:end], parts[:excl])))
    end

    # Data has the same type byte as Struct, and is built by keywords since it is immutable.
    def struct(variables)
      klass = constant
      at = place
      unless klass <= Struct
        return done(keep(at, klass.new(**pairs)))
      end
      made = keep(at, klass.allocate)
      parts = pairs
      raise TypeError, "struct #{klass} not compatible (struct size differs)" unless parts.keys == klass.members
      Struct.instance_method(:__initialize).bind(made).call(*parts.values)
      variables_of(made) if variables
      done(made)
    end

    def user
      klass = constant
      at = place
      made = keep(at, klass.allocate)
      wanting = "instance of #{klass} needs to have method 'marshal_load'"
      raise TypeError, wanting unless made.respond_to?(:marshal_load, true)
      made.__send__(:marshal_load, take)
      done(made)
    end

    def own_text(variables)
      klass = constant
      raw = bytes
      # A Time's fields are instance variables, which must be read before the Time can be built and gets its index.
      if Class === klass && klass <= Time
        parts = variables ? pairs : {}
        return done(keep(place, TimeForm.load(klass, raw, parts)))
      end
      variables_of(raw) if variables
      raise TypeError, "class #{klass} needs to have method '_load'" unless klass.respond_to?(:_load)
      found = klass._load(raw)
      keep(place, found)
      done(found)
    end

    # Reads a String, Array or Hash of a subclass.
    def subclass(variables)
      klass = constant
      case (type = byte.chr)
      when "\"" then text(klass, variables)
      when "[" then array(klass.allocate, variables)
      # CRuby marks a compare_by_identity Hash as a subclass named Hash.
      when "{", "}" then hash(klass == Hash ? {}.compare_by_identity : klass.allocate, type, variables)
      else raise ArgumentError, "dump format error (user class)"
      end
    end

    def regexp(variables)
      at = place
      source = bytes
      options = byte
      variables_of(source) if variables
      done(keep(at, Regexp.new(source, options)))
    end

    def extended(variables)
      mod = constant
      made = take(variables)
      made.extend(mod)
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
      zone = time.zone
      # An object that stands for a zone is written as its name.
      time.instance_variables.each { |name| found[name] = time.instance_variable_get(name) }
      found.merge!(zone: zone.nil? || String === zone ? zone : zone.name)
    end

    def self.load(klass, bytes, parts)
      first, second = bytes.unpack("VV")
      raise TypeError, "marshaled time format differ" unless second
      time = Time.utc((first >> 14 & 0xffff) + 1900, (first >> 10 & 15) + 1, first >> 5 & 31, first & 31, second >> 26,
                      second >> 20 & 63, second & 0xfffff)
      rest = parts[:nano_num] ? parts[:nano_num] / (parts[:nano_den] || 1) : 0
      offset = parts[:offset]
      zone = first[30] == 1 ? :utc : parts[:zone]
      made = klass.allocate.__set(time.to_i, time.nsec + rest, offset || 0, zone)
      made = made.localtime unless offset || zone == :utc
      parts.each { |name, value| made.instance_variable_set(name, value) if name.start_with?("@") }
      made
    end
  end
end
