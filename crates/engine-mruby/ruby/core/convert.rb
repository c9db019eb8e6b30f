# Implicit conversions (to_ary, to_int, to_str, to_path, to_hash, to_f) with CRuby's errors, and the methods of Array
# that need them.

module FoolsGold
  # A plain Array, since mruby's own methods in C take no subclass of it. TypeError where there is no to_ary.
  def self.array(object)
    return object if object.instance_of?(Array)
    return [*object] if object.is_a?(Array)
    return object.to_ary if object.respond_to?(:to_ary)
    raise TypeError, "no implicit conversion of #{object.nil? ? "nil" : object.class} into Array"
  end

  # Raises the error for a change of a frozen object, of the kind that the message names.
  def self.refuse_change(object, kind = object.class)
    raise FrozenError.new("can't modify frozen #{kind}: #{object.inspect}", receiver: object)
  end

  # The Integer of an object by `to_int`, or a TypeError. `===` instead of is_a?, since the object may be a BasicObject.
  def self.integer(object)
    return object if Integer === object
    number = object.to_int if Kernel === object && object.respond_to?(:to_int)
    return number if Integer === number
    kind = object.class
    raise TypeError, "can't convert #{kind} into Integer (#{kind}#to_int gives #{number.class})" if number
    raise TypeError, "no implicit conversion from nil to integer" if NilClass === object
    raise TypeError, "no implicit conversion of #{named(object)} into Integer"
  end

  # Whether mruby's own Integer() and Float() take the value as it is: plain values, and BasicObjects, which they
  # refuse.
  def self.plain_number?(value)
    case value
    when Integer, Float, String, nil, true, false then true
    else !(Kernel === value)
    end
  end

  # The conversion of Kernel#Integer: by to_int, to_str or to_i.
  def self.to_integer(object)
    number = object.to_int if object.respond_to?(:to_int)
    return number if Integer === number
    return Integer(object.to_str) if object.respond_to?(:to_str)
    number = object.to_i if object.respond_to?(:to_i)
    return number if Integer === number
    raise TypeError, "can't convert #{object.class} into Integer" unless object.respond_to?(:to_i)
    raise TypeError, "can't convert #{object.class} to Integer (#{object.class}#to_i gives #{number.class})"
  end

  # The conversion of Kernel#Float: by to_f, which nil and Symbols must not use.
  def self.to_float(object)
    raise TypeError, "can't convert #{object.class} into Float" unless object.respond_to?(:to_f) && !(Symbol === object)
    number = object.to_f
    return number if Float === number
    raise TypeError, "can't convert #{object.class} to Float (#{object.class}#to_f gives #{number.class})"
  end

  # The Float of a hexadecimal text such as `0x1.8p3`; nil for other texts.
  def self.hex_float(text)
    parts = /\A\s*([-+]?)0x(\h+(?:_\h+)*)(?:\.(\h+(?:_\h+)*))?(?:p([-+]?\d+(?:_\d+)*))?\s*\z/i.match(text)
    return unless parts
    whole, fraction = parts[2].delete("_"), parts[3].to_s.delete("_")
    size = (whole + fraction).hex * 2.0**(parts[4].to_s.delete("_").to_i - 4 * fraction.size)
    parts[1] == "-" ? -size : size
  end

  # The String of an object by `to_str`, or a TypeError.
  def self.string(object)
    return object if String === object
    text = object.to_str if Kernel === object && object.respond_to?(:to_str)
    return text if String === text
    raise TypeError, "can't convert #{object.class} into String (#{object.class}#to_str gives #{text.class})" if text
    raise TypeError, "no implicit conversion of #{named(object)} into String"
  end

  # The String of a path by `to_path` or `to_str`, or a TypeError.
  def self.path(object)
    object = object.to_path if object.respond_to?(:to_path)
    string(object)
  end

  # The name of an object in the message of a failed conversion.
  def self.named(object)
    case object
    when nil then "nil"
    when true, false then object.to_s
    else object.class
    end
  end

  # The Array of an object by `to_ary`, which may be private as in CRuby; nil where it has none or returns nil.
  def self.listed(object)
    return unless object.respond_to?(:to_ary, true)
    list = object.__send__(:to_ary)
    return list if list.nil? || Array === list
    raise TypeError, "can't convert #{object.class} to Array (#{object.class}#to_ary gives #{list.class})"
  end

  # The Hash of an object by `to_hash`, or a TypeError.
  def self.hash(object)
    return object if Hash === object
    made = object.to_hash if Kernel === object && object.respond_to?(:to_hash)
    return made if Hash === made
    raise TypeError, "no implicit conversion of #{named(object)} into Hash"
  end

  # Appends the elements of a list to `made`, and those of lists in it down to `depth` levels (-1 for all). `outer` are
  # the lists around it, where an ArgumentError ends a circle.
  def self.flatten(list, depth, made, outer)
    raise ArgumentError, "tried to flatten recursive array" if outer.any? { |one| one.equal?(list) }
    outer.push(list)
    array(list).each do |one|
      part = one if Array === one
      part ||= listed(one) if depth != 0 && Kernel === one
      part && depth != 0 ? flatten(part, depth - 1, made, outer) : made << one
    end
    outer.pop
    made
  end
end

class Array
  alias __minus -
  alias __union |
  alias __both &

  def -(other) = __minus(FoolsGold.array(other))
  def flatten(depth = nil) = FoolsGold.flatten(self, depth.nil? ? -1 : FoolsGold.integer(depth), [], [])

  def flatten!(depth = nil)
    FoolsGold.refuse_change(self) if frozen?
    return if depth == 0 || none? { |one| Array === one || (Kernel === one && one.respond_to?(:to_ary)) }
    replace(flatten(depth))
  end

  def fill(*args, &block)
    FoolsGold.refuse_change(self) if frozen?
    range = block ? 0..2 : 1..3
    unless range.include?(args.size)
      raise ArgumentError, "wrong number of arguments (given #{args.size}, expected #{range.begin}..#{range.end})"
    end
    value = args.shift unless block
    from, count = args
    if Range === from
      raise TypeError, "no implicit conversion of Range into Integer" if count
      start = from.begin.nil? ? 0 : FoolsGold.integer(from.begin)
      start += size if start < 0
      raise RangeError, "#{from.inspect} out of range" if start < 0
      stop = from.end.nil? ? size : FoolsGold.integer(from.end)
      stop += size if stop < 0
      stop += 1 unless from.end.nil? || from.exclude_end?
    else
      start = from.nil? ? 0 : FoolsGold.integer(from)
      start = [start + size, 0].max if start < 0
      stop = count.nil? ? size : start + FoolsGold.integer(count)
      # Before the loop, which would otherwise fill the memory up to its limit first.
      raise ArgumentError, "argument too big" if stop > 2**60
    end
    return self unless start < stop
    self[stop - 1] = nil if stop > size
    while start < stop
      made = block ? block.call(start) : value
      # The block may have taken away what was to be filled.
      break if start >= size
      self[start] = made
      start += 1
    end
    self
  end

  def |(other) = __union(FoolsGold.array(other))
  def &(other) = __both(FoolsGold.array(other))
end
