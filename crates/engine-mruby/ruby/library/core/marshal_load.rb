# Marshal.load: reads the output of Marshal.dump, ours or CRuby's.

module Marshal
  class Load
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
      when "[" then array([])
      when "{", "}" then hash({}, type)
      when "f" then done(keep(place, float(bytes)))
      when "l" then done(keep(place, large))
      when "o" then plain
      when "S" then struct
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

    def array(made)
      keep(place, made)
      number.times { made << take }
      done(made)
    end

    def hash(made, type)
      keep(place, made)
      number.times do
        key = take
        made[key] = take
      end
      made.default = take if type == "}"
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
    def struct
      klass = constant
      at = place
      unless klass <= Struct
        return done(keep(at, klass.new(**pairs)))
      end
      made = keep(at, klass.allocate)
      parts = pairs
      raise TypeError, "struct #{klass} not compatible (struct size differs)" unless parts.keys == klass.members
      Struct.instance_method(:__initialize).bind(made).call(*parts.values)
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
      # A Time's fields are instance variables, which must be read before the Time can be built.
      if klass == Time
        at = place
        parts = variables ? pairs : {}
        return done(keep(at, TimeForm.load(raw, parts)))
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
      when "[" then array(klass.allocate)
      # CRuby marks a compare_by_identity Hash as a subclass named Hash.
      when "{", "}" then hash(klass == Hash ? {}.compare_by_identity : klass.allocate, type)
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
end
