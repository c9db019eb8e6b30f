# Objects that stand for an Array by their `to_ary`.

module FoolsGold
  # Of a class made from Array it is the plain one that mruby's own methods take.
  def self.array(object)
    return object if object.instance_of?(Array)
    return [*object] if object.is_a?(Array)
    return object.to_ary if object.respond_to?(:to_ary)
    raise TypeError, "no implicit conversion of #{object.nil? ? "nil" : object.class} into Array"
  end

  # The Integer that stands for an object where one is asked for.
  def self.integer(object)
    return object if Integer === object
    number = object.to_int if Kernel === object && object.respond_to?(:to_int)
    return number if Integer === number
    kind = object.class
    raise TypeError, "can't convert #{kind} into Integer (#{kind}#to_int gives #{number.class})" if number
    raise TypeError, "no implicit conversion from nil to integer" if NilClass === object
    raise TypeError, "no implicit conversion of #{named(object)} into Integer"
  end

  def self.plain_number?(value)
    case value
    when Integer, Float, String, nil, true, false then true
    else !(Kernel === value)
    end
  end

  # What Integer() makes of an object: by to_int, by to_str, or by to_i.
  def self.to_integer(object)
    number = object.to_int if object.respond_to?(:to_int)
    return number if Integer === number
    return Integer(object.to_str) if object.respond_to?(:to_str)
    number = object.to_i if object.respond_to?(:to_i)
    return number if Integer === number
    raise TypeError, "can't convert #{object.class} into Integer" unless object.respond_to?(:to_i)
    raise TypeError, "can't convert #{object.class} to Integer (#{object.class}#to_i gives #{number.class})"
  end

  # What Float() makes of an object.
  def self.to_float(object)
    raise TypeError, "can't convert #{object.class} into Float" unless object.respond_to?(:to_f) && !(Symbol === object)
    number = object.to_f
    return number if Float === number
    raise TypeError, "can't convert #{object.class} to Float (#{object.class}#to_f gives #{number.class})"
  end

  # `0x1.8p3` as a Float; nil where it is no such number.
  def self.hex_float(text)
    parts = /\A\s*([-+]?)0x(\h+(?:_\h+)*)(?:\.(\h+(?:_\h+)*))?(?:p([-+]?\d+(?:_\d+)*))?\s*\z/i.match(text)
    return unless parts
    whole, fraction = parts[2].delete("_"), parts[3].to_s.delete("_")
    size = (whole + fraction).hex * 2.0**(parts[4].to_s.delete("_").to_i - 4 * fraction.size)
    parts[1] == "-" ? -size : size
  end

  # The String that stands for an object where one is asked for.
  def self.string(object)
    return object if String === object
    text = object.to_str if Kernel === object && object.respond_to?(:to_str)
    return text if String === text
    raise TypeError, "can't convert #{object.class} into String (#{object.class}#to_str gives #{text.class})" if text
    raise TypeError, "no implicit conversion of #{named(object)} into String"
  end

  # The String that stands for an object where a path is asked for.
  def self.path(object)
    object = object.to_path if object.respond_to?(:to_path)
    string(object)
  end

  # What an object is called in a message of a conversion.
  def self.named(object)
    case object
    when nil then "nil"
    when true, false then object.to_s
    else object.class
    end
  end

  # The Array that stands for an object, or nil.
  def self.listed(object)
    return unless object.respond_to?(:to_ary, true)
    list = object.__send__(:to_ary)
    return list if list.nil? || Array === list
    raise TypeError, "can't convert #{object.class} to Array (#{object.class}#to_ary gives #{list.class})"
  end

  # The Hash that stands for an object where one is asked for.
  def self.hash(object)
    return object if Hash === object
    made = object.to_hash if Kernel === object && object.respond_to?(:to_hash)
    return made if Hash === made
    raise TypeError, "no implicit conversion of #{named(object)} into Hash"
  end

  # Puts into `made` what is in the list and, as deep as asked for, in its lists.
  def self.flatten(list, depth, made, outer)
    raise ArgumentError, "tried to flatten recursive array" if outer.any? { |one| one.equal?(list) }
    outer.push(list)
    list.each do |one|
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
    raise FrozenError, "can't modify frozen #{self.class}: #{inspect}" if frozen?
    return if depth == 0 || none? { |one| Array === one || (Kernel === one && one.respond_to?(:to_ary)) }
    replace(flatten(depth))
  end

  def fill(*args, &block)
    raise FrozenError, "can't modify frozen #{self.class}: #{inspect}" if frozen?
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
      raise ArgumentError, "argument too big" if stop > 2**60
    end
    while start < stop
      self[start] = block ? block.call(start) : value
      start += 1
    end
    self
  end

  def |(other) = __union(FoolsGold.array(other))
  def &(other) = __both(FoolsGold.array(other))
end
