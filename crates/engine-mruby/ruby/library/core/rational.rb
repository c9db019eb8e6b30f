# Rational: fractions of Integers. Loaded when the name, a literal (`1/3r`), a method that returns one or a negative
# power (`2 ** -1`) is first used.

class Rational < Numeric
  class << self
    undef_method :new if respond_to?(:new)

    # A Rational in lowest terms from two Integers.
    def __of(top, below)
      raise ZeroDivisionError, "divided by 0" if below == 0
      top, below = -top, -below if below < 0
      shared = top.gcd(below)
      made = allocate
      made.__send__(:fill, top / shared, below / shared)
      made.freeze
    end

    def __parse(text, strictly)
      pattern = /\A\s*([+-]?\d+(?:_\d+)*)(?:\.(\d+(?:_\d+)*))?(?:[eE]([+-]?\d+))?(?:\/(\d+(?:_\d+)*)(?:\.(\d+))?)?/
      # A number may begin with its point.
      found = pattern.match(text.sub(/\A(\s*[+-]?)\.(?=\d)/) { "#{$1}0." })
      whole = found && (!strictly || found.post_match.strip.empty?)
      return strictly ? nil : __of(0, 1) unless whole
      behind, power = found[2].to_s.delete("_"), found[3].to_i
      # A power of ten would take memory in proportion to the exponent, from a text of a few bytes.
      raise RangeError, "the exponent #{power} is too large" if power.abs > 10_000
      made = __of("#{found[1].delete("_")}#{behind}".to_i, 10**behind.size)
      made *= power < 0 ? __of(1, 10**-power) : 10**power
      found[4] ? made / __parse("#{found[4]}#{".#{found[5]}" if found[5]}", true) : made
    end
  end

  attr_reader :numerator, :denominator

  def +(other) = exact(:+, other) { |one| Rational.__of(numerator * one.denominator + one.numerator * denominator,
    denominator * one.denominator) }
  def -(other) = exact(:-, other) { |one| Rational.__of(numerator * one.denominator - one.numerator * denominator,
    denominator * one.denominator) }
  def *(other) = exact(:*, other) { |one| Rational.__of(numerator * one.numerator, denominator * one.denominator) }
  def /(other) = exact(:/, other) { |one| Rational.__of(numerator * one.denominator, denominator * one.numerator) }
  alias quo /

  def fdiv(other) = to_f / other
  def div(other) = (self / other).floor
  def divmod(other) = [(whole = (self / other).floor), self - other * whole]
  def %(other) = divmod(other).last
  alias modulo %
  def remainder(other) = self - other * (self / other).truncate

  def **(other)
    other = other.numerator if other.is_a?(Rational) && other.denominator == 1
    return to_f**(other.is_a?(Rational) ? other.to_f : other) unless other.is_a?(Integer)
    return Rational.__of(numerator**other, denominator**other) if other >= 0
    Rational.__of(denominator**-other, numerator**-other)
  end
  alias pow **

  def -@ = Rational.__of(-numerator, denominator)
  def abs = negative? ? -self : self
  alias magnitude abs

  def <=>(other)
    case other
    when Integer, Rational then numerator * other.denominator <=> other.numerator * denominator
    # As in CRuby, a Float makes the comparison one of Floats.
    when Float then to_f <=> other
    else
      return nil unless other.is_a?(Numeric) && other.respond_to?(:coerce)
      one, two = other.coerce(self)
      one <=> two
    end
  end

  def ==(other)
    case other
    when Integer, Rational then numerator == other.numerator && denominator == other.denominator
    when Float then to_f == other
    else other == self
    end
  end

  def eql?(other) = other.is_a?(Rational) && self == other
  def hash = [Rational, numerator, denominator].hash
  def zero? = numerator == 0
  def positive? = numerator > 0
  def negative? = numerator < 0
  def infinite? = nil
  def to_i = numerator < 0 ? -(-numerator / denominator) : numerator / denominator
  def to_f = numerator.fdiv(denominator)
  def to_r = self
  def to_c = Complex(self, 0)
  def to_s = "#{numerator}/#{denominator}"
  def inspect = "(#{self})"
  def clone(**) = self
  def dup = self

  def floor(digits = nil) = at(digits) { |one| one.numerator.div(one.denominator) }
  def ceil(digits = nil) = at(digits) { |one| -(-one.numerator).div(one.denominator) }
  def truncate(digits = nil) = at(digits, &:to_i)

  def round(digits = nil, half: :up)
    half = FoolsGold.half(half)
    at(digits) do |one|
      # On the absolute value, so that halves are rounded away from zero for negative numbers too.
      low = one.abs.floor
      order = one.abs - low <=> Rational.__of(1, 2)
      up = order > 0 || (order == 0 && (half == :up || (half == :even && low.odd?)))
      low += 1 if up
      one.negative? ? -low : low
    end
  end

  # The simplest Rational within `width` of this one.
  def rationalize(width = nil)
    return self unless width
    width = width.abs
    Rational.__simplest(self - width, self + width)
  end

  def self.__simplest(low, high)
    return __of(0, 1) if low <= 0 && high >= 0
    # The Stern-Brocot tree as a continued fraction: an Integer in the interval is simplest, else the whole part is
    # split off and the reciprocal of the rest is searched.
    return -__simplest(-high, -low) if high < 0
    whole = low.ceil
    return __of(whole, 1) if whole <= high
    whole -= 1
    1 / __simplest(1 / (high - whole), 1 / (low - whole)) + whole
  end

  def coerce(other)
    case other
    when Integer then [Rational.__of(other, 1), self]
    when Float then [other, to_f]
    when Rational then [other, self]
    else raise TypeError, "#{other.nil? ? "nil" : other.class} can't be coerced into Rational"
    end
  end

  def marshal_dump = [numerator, denominator]
  def marshal_load(parts) = fill(*parts)

  private

  def fill(top, below)
    @numerator = top
    @denominator = below
  end

  def exact(name, other)
    case other
    when Integer, Rational then yield other
    when Float then to_f.__send__(name, other)
    else FoolsGold::Late.coerced(self, name, other, other.is_a?(Numeric) && other.respond_to?(:coerce))
    end
  end

  # Applies a rounding to `digits` behind the point; to an Integer without `digits`.
  def at(digits)
    return yield(self) unless digits
    power = 10**digits.abs
    made = digits > 0 ? Rational.__of(yield(self * power), power) : yield(self / power) * power
    digits > 0 ? made : made.to_i
  end
end

class Numeric
  def to_r = raise(NoMethodError, "undefined method 'to_r' for an instance of #{self.class}")
  def numerator = to_r.numerator
  def denominator = to_r.denominator
end

class Integer
  def to_r = Rational.__of(self, 1)
  def rationalize(_width = nil) = to_r
end

class Float
  # The exact value of the Float.
  def to_r
    raise FloatDomainError, to_s if nan? || infinite?
    part, power = Math.frexp(self)
    power -= 53
    whole = Math.ldexp(part, 53).to_i
    power >= 0 ? Rational.__of(whole * 2**power, 1) : Rational.__of(whole, 2**-power)
  end

  # The simplest Rational that converts to this Float.
  def rationalize(width = nil)
    return to_r.rationalize(width) if width
    return to_r if self == 0 || self % 1 == 0
    part, power = Math.frexp(self)
    # Half a unit of the last place to both sides: all Rationals in between convert to this Float.
    twice = Math.ldexp(part, 53).to_i * 2
    below = 2**(54 - power)
    Rational.__simplest(Rational.__of(twice - 1, below), Rational.__of(twice + 1, below))
  end
end

class String
  def to_r = Rational.__parse(self, false)
end

class NilClass
  def to_r = Rational.__of(0, 1)
  def rationalize(_width = nil) = to_r
end

module Kernel
  def Rational(top, below = 1, exception: true)
    one, two = [top, below].map do |value|
      case value
      when Integer, Rational then value
      when Float then value.to_r
      when String then Rational.__parse(value, true) || raise(ArgumentError,
        "invalid value for convert(): #{value.inspect}")
      when nil then raise TypeError, "can't convert nil into Rational"
      else
        raise TypeError, "can't convert #{value.class} into Rational" unless value.respond_to?(:to_r)
        value.to_r
      end
    end
    made = one.is_a?(Integer) && two.is_a?(Integer) ? Rational.__of(one, two) : one / two
    made.is_a?(Integer) ? made.to_r : made
  rescue ArgumentError, TypeError
    raise if exception
  end
  module_function :Rational
end
