# Methods of numbers that mruby does not have. Those of Rational and Complex are in library/.

class Numeric
  def coerce(other) = other.instance_of?(self.class) ? [other, self] : [Float(other), Float(self)]
  def fdiv(other) = Float(self) / other
end

class Integer
  def even? = self % 2 == 0
  def odd? = self % 2 == 1
  def pred = self - 1
  def ord = self
  def size = self < 2**63 && self >= -2**63 ? 8 : (abs.bit_length + 7) / 8
  def infinite? = nil
  def frozen? = true
  def integer? = true
  def magnitude = abs
  def numerator = self
  def denominator = 1
  def round(digits = 0, half: :up)
    digits = FoolsGold.integer(digits)
    half = FoolsGold.half(half)
    return self if digits >= 0
    unit = 10**-digits
    low = self - self % unit
    # Compared with the double, so that no Float is needed.
    rest = (self % unit) * 2 <=> unit
    up = rest > 0 || (rest == 0 && (half == :even ? (low / unit).odd? : (half == :down ? self < 0 : self > 0)))
    up ? low + unit : low
  end

  def floor(digits = 0) = digits >= 0 ? self : self - self % 10**-digits
  def ceil(digits = 0) = digits >= 0 ? self : -(-self).floor(digits)
  def truncate(digits = 0) = self < 0 ? ceil(digits) : floor(digits)
  def gcdlcm(other) = [gcd(other), lcm(other)]
  def quo(other) = Float === other ? self / other : Rational(self, 1) / other

  def [](bit, length = nil)
    return 0 if Integer === bit && bit < 0 && !length
    return (self >> bit) & (length ? (1 << length) - 1 : 1) unless bit.is_a?(Range)
    low, high = bit.begin, bit.end
    return __low_bits(high + (bit.exclude_end? ? 0 : 1)) if low.nil?
    return self >> low unless high
    length = high - low + (bit.exclude_end? ? 0 : 1)
    length < 0 ? self >> low : (self >> low) & ((1 << length) - 1)
  end

  # The lowest `count` bits, for a range without a begin: 0, or an ArgumentError where one of them is set.
  def __low_bits(count)
    return 0 if count < 1 || self & (1 << count) - 1 == 0
    raise ArgumentError, "The beginless range for Integer#[] results in infinity"
  end

  def coerce(other)
    return [other, self] if other.is_a?(Integer)
    [Float(other), to_f]
  end

  def gcd(other)
    raise TypeError, "not an integer" unless other.is_a?(Integer)
    a, b = abs, other.abs
    a, b = b, a % b until b == 0
    a
  end

  def lcm(other)
    self == 0 || other == 0 ? 0 : (self / gcd(other) * other).abs
  end

  # Newton's method, which is exact for Integers that no Float can hold.
  def self.sqrt(number)
    number = FoolsGold.integer(number)
    raise Math::DomainError, "Numerical argument is out of domain - \"isqrt\"" if number < 0
    return number if number < 2
    root = 1 << ((number.bit_length + 1) / 2)
    while (better = (root + number / root) / 2) < root
      root = better
    end
    root
  end

  alias __fdiv fdiv
  alias __pow pow
  alias __digits digits

  def fdiv(other)
    return __fdiv(other) if Integer === other || Float === other || !(Numeric === other)
    one, two = other.coerce(self)
    Float(one.fdiv(two))
  end

  def pow(exponent, *modulus)
    return self**exponent if modulus.empty?
    unless Integer === exponent
      raise TypeError, "Integer#pow() 2nd argument not allowed unless a 1st argument is integer"
    end
    if exponent < 0
      raise RangeError, "Integer#pow() 1st argument cannot be negative when 2nd argument specified"
    end
    unless Integer === modulus[0]
      raise TypeError, "Integer#pow() 2nd argument not allowed unless all arguments are integers"
    end
    modulus, *more = modulus
    return __pow(exponent, modulus, *more) if !more.empty? || exponent.bit_length * modulus.bit_length < 2**20
    FoolsGold.power_modulo(self, exponent, modulus)
  end

  # The digits of a large Integer come from its text: a division for each of them takes time and memory.
  def digits(base = 10)
    base = FoolsGold.integer(base)
    return __digits(base) if self < 0 || base < 2
    return [self] if self < base
    return __digits(base) if self < 2**62 || base > 36
    to_s(base).reverse.each_char.map { |digit| digit.to_i(base) }
  end

  def self.try_convert(object) = object.respond_to?(:to_int) ? object.to_int : nil

  # A power with a negative exponent, for `**` (c/numbers.c): a Rational, or an Integer for the powers of 1 and -1.
  def __fraction_power(exponent)
    return exponent.even? ? 1 : self if self == 1 || self == -1
    Rational(self, 1)**exponent
  end
end

module FoolsGold
  # The direction in which `round` rounds halves: :up, :even or :down, from a Symbol or String in upper or lower case.
  # It is :up for nil.
  def self.half(mode)
    return :up if mode.nil? || mode == :up
    name = mode.is_a?(Symbol) || !mode.respond_to?(:to_str) ? mode : mode.to_str
    found = %i[up even down].find { |one| one.to_s == name.to_s.downcase }
    found || raise(ArgumentError, "invalid rounding mode: #{mode}")
  end

  # The power by squaring, which the request's deadline can interrupt; mruby's own is one step, of minutes for thousands
  # of digits.
  def self.power_modulo(base, exponent, modulus)
    made, square = 1 % modulus, base % modulus
    exponent.to_s(2).reverse.each_char do |bit|
      made = made * square % modulus if bit == "1"
      square = square * square % modulus
    end
    made
  end
end

module Math
  # The logarithm of an Integer that no Float can hold is that of its upper 53 bits, plus the number of the other bits
  # times the logarithm of 2.
  %i[log log2 log10].each do |name|
    plain = method(name)
    unit = plain.call(2)
    define_singleton_method(name) do |number, *base|
      next plain.call(number, *base) unless number.is_a?(Integer) && number.bit_length > 1000
      low = number.bit_length - 53
      found = plain.call(number >> low) + low * unit
      next found if base.empty?
      base == [2] ? log2(number) : found / log(*base)
    end
  end

  plain = method(:cbrt)
  # CRuby improves the root of the C library by one step of Newton's method.
  define_singleton_method(:cbrt) do |number|
    root = plain.call(number)
    root == 0 || !root.finite? ? root : (2.0 * root + number.to_f / root / root) / 3.0
  end
end

class Float
  %i[& | ^ ~ << >>].each { |name| undef_method name }
  alias === ==
  alias __div div

  def div(other)
    return __div(other) if Integer === other || Float === other || !(Numeric === other)
    raise ZeroDivisionError, "divided by 0" if other == 0
    (self / other).floor
  end

  def fdiv(other) = self / other
  alias quo fdiv
  def magnitude = abs
  def -@ = -0.0 - self
  def coerce(other) = [Float(other), self]
end

[Integer, Float].each do |number|
  number.class_eval do
    alias_method :__remainder, :remainder

    # Computed from the modulo, as in CRuby: a Float is rounded otherwise than by C's remainder, and a divisor of zero
    # raises.
    def remainder(other)
      return __remainder(other) if (Integer === self && Integer === other) || !(Numeric === other)
      rest = self % other
      return rest if rest == 0 || (rest < 0) == (self < 0)
      other.infinite? ? self : rest - other
    end
  end
end

class Array
  def self.try_convert(object) = object.respond_to?(:to_ary) ? object.to_ary : nil
end

class Hash
  def self.try_convert(object) = object.respond_to?(:to_hash) ? object.to_hash : nil
end

class String
  def self.try_convert(object) = object.respond_to?(:to_str) ? object.to_str : nil
  def sum(bits = 16) = bytes.sum & ((1 << bits) - 1)
end
