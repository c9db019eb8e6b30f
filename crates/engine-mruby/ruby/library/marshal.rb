# Marshal: serialization in CRuby's format 4.8. Reading is in marshal_load.rb.

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

    # Reads an object from a String or IO. The callable is called with each object, which its result replaces.
    def load(source, callable = nil, freeze: false)
      text = source.respond_to?(:to_str) ? source.to_str : nil
      raise TypeError, "instance of IO needed" unless text || source.respond_to?(:read)
      Load.new(text || source.read, callable, freeze).run
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
        @seen[object] = @seen.size
        thing(object, limit - 1)
      end
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
      if object.respond_to?(:marshal_dump, true) && !object.is_a?(Time)
        @out << "U"
        class_of(object)
        return put(object.__send__(:marshal_dump), limit)
      end
      return own_text(object) if object.respond_to?(:_dump) || object.is_a?(Time)
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

    FoolsGold.run_library("foolsgold/marshal_objects")
    FoolsGold.run_library("foolsgold/marshal_float")
  end

  FoolsGold.wait_for(self, :Load, "foolsgold/marshal_load")
end
