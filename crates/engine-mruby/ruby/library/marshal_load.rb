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

    FoolsGold.run_library("foolsgold/marshal_read")
  end
end
