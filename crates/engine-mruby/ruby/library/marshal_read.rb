# Marshal.load: a method for each type of value.

module Marshal
  class Load
    private

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
        made.__send__(:set_message, parts.delete(:mesg)) if made.respond_to?(:set_message, true)
        message = parts.delete(:mesg)
        made.define_singleton_method(:message) { message } if message
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
      Struct.instance_method(:initialize).bind(made).call(*parts.values)
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
