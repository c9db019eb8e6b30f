# Complex numbers. Loaded when the name, a literal (`2i`) or a method that returns one is first used.

class Complex < Numeric
  class << self
    undef_method :new if respond_to?(:new)

    def rect(real, imaginary = 0)
      [real, imaginary].each { |part| raise TypeError, "not a real" unless part.is_a?(Numeric) && part.real? }
      made = allocate
      made.__send__(:fill, real, imaginary)
      made.freeze
    end
    alias rectangular rect

    def polar(size, angle = nil)
      return rect(size, 0) unless angle
      return rect(size, 0.0) if size == 0 || angle == 0
      # sin and cos of these Floats are not exactly 0, and CRuby returns exact parts.
      return rect(-size, 0.0) if angle == Math::PI
      return rect(0.0, size) if angle == Math::PI / 2
      rect(size * Math.cos(angle), size * Math.sin(angle))
    end

    # Parses a number at the beginning of a text; with `strictly` the whole text, and nil where it is no number.
    def __parse(text, strictly)
      # The real part must not be followed by `i` or more digits: "12i" has none.
      number = /\d+(?:_\d+)*(?:\.\d+)?(?:[eE][+-]?\d+)?(?:\/\d+)?/
      found = /\A\s*(?:([+-]?#{number})(?![ij\d.]))?(?:([+-]?#{number}?)[ij])?/.match(text)
      return nil if strictly && (found.to_s.strip.empty? || !found.post_match.strip.empty?)
      behind = found[2] && (found[2].match?(/\d/) ? found[2] : "#{found[2]}1")
      rect(__number(found[1]), __number(behind))
    end

    private

    def __number(text)
      return 0 unless text
      return text.to_r if text.include?("/")
      text.match?(/[.eE]/) ? text.to_f : text.to_i
    end
  end

  attr_reader :real, :imaginary
  alias imag imaginary

  def +(other) = with(:+, other) { |one| Complex.rect(real + one.real, imaginary + one.imaginary) }
  def -(other) = with(:-, other) { |one| Complex.rect(real - one.real, imaginary - one.imaginary) }
  def *(other)
    with(:*, other) do |one|
      Complex.rect(real * one.real - imaginary * one.imaginary, real * one.imaginary + imaginary * one.real)
    end
  end

  def /(other)
    with(:/, other) do |one|
      # By a real number each part is divided by itself, which stays exact for Integers.
      next Complex.rect(parted(real, one.real),
        parted(imaginary, one.real)) if one.imaginary == 0 && !one.imaginary.is_a?(Float)
      below = one.abs2
      top = self * one.conjugate
      Complex.rect(parted(top.real, below), parted(top.imaginary, below))
    end
  end
  alias quo /

  def fdiv(other)
    return self / Complex.rect(other.real.to_f, other.imaginary.to_f) if other.is_a?(Complex)
    Complex.rect(real.fdiv(other), imaginary.fdiv(other))
  end

  def **(other)
    return Complex.rect(1, 0) if other == 0
    if other.is_a?(Integer)
      # By squaring and multiplying, exact for Integers and Rationals; other exponents need polar form and Floats.
      made, square, left = nil, self, other.abs
      loop do
        made = made ? made * square : square if left.odd?
        left >>= 1
        break if left == 0
        square *= square
      end
      return other > 0 ? made : Complex.rect(1, 0) / made
    end
    other = Complex(other)
    size, angle = polar
    log = Math.log(size)
    Complex.polar(Math.exp(other.real * log - other.imaginary * angle), other.imaginary * log + other.real * angle)
  end
  alias pow **

  def -@ = Complex.rect(-real, -imaginary)
  def ==(other)
    return real == other.real && imaginary == other.imaginary if other.is_a?(Complex)
    other.is_a?(Numeric) && imaginary == 0 && real == other
  end

  def eql?(other) = other.is_a?(Complex) && real.eql?(other.real) && imaginary.eql?(other.imaginary)
  def hash = [Complex, real, imaginary].hash

  def <=>(other)
    return nil unless imaginary == 0 && other.is_a?(Numeric) && other.imaginary == 0
    real <=> other.real
  end

  # Of a number with an exact part of 0 the other part's size, which may be exact, too.
  def abs
    return real.abs if exact_zero?(imaginary)
    exact_zero?(real) ? imaginary.abs : Math.hypot(real, imaginary)
  end
  alias magnitude abs
  def abs2 = real * real + imaginary * imaginary
  def arg = Math.atan2(imaginary, real)
  alias angle arg
  alias phase arg
  def polar = [abs, arg]
  def rect = [real, imaginary]
  alias rectangular rect
  def conjugate = Complex.rect(real, -imaginary)
  alias conj conjugate
  def denominator = real.denominator.lcm(imaginary.denominator)
  def numerator
    below = denominator
    Complex.rect(*rect.map { |part| part.numerator * (below / part.denominator) })
  end

  def real? = false
  def zero? = real == 0 && imaginary == 0
  def finite? = real.finite? && imaginary.finite?
  def infinite? = real.infinite? || imaginary.infinite? ? 1 : nil
  def to_c = self
  def clone(**) = self
  def dup = self

  %i[to_i to_f to_r].each do |name|
    define_method(name) do
      # An imaginary part of 0.0 may be the rounded rest of another number.
      exact = !imaginary.is_a?(Float) && imaginary == 0
      raise RangeError, "can't convert #{self} into #{{ to_i: "Integer", to_f: "Float",
        to_r: "Rational" }[name]}" unless exact
      real.__send__(name)
    end
  end

  def to_s = shown(&:to_s)
  def inspect = "(#{shown(&:inspect)})"

  def coerce(other)
    return [other, self] if other.is_a?(Complex)
    unless other.is_a?(Numeric) && other.real?
      raise TypeError, "#{FoolsGold.named(other)} can't be coerced into Complex"
    end
    [Complex.rect(other, 0), self]
  end

  # Methods of Numeric that need an order of numbers, which Complex numbers do not have.
  %i[
    % div divmod floor ceil truncate round remainder modulo step < > <= >= between? clamp positive? negative? i
  ].each do |name|
    undef_method name if method_defined?(name)
  end

  def marshal_dump = [real, imaginary]
  def marshal_load(parts) = fill(*parts)

  private

  def fill(real, imaginary)
    @real = real
    @imaginary = imaginary
  end

  # The text of both parts. The sign of -0.0 shows only in its reciprocal; NaN and Infinity are followed by "*i".
  def shown
    below = imaginary.is_a?(Float) ? !imaginary.nan? && (imaginary < 0 || 1 / imaginary < 0) : imaginary < 0
    behind = yield(imaginary.abs)
    "#{yield(real)}#{below ? "-" : "+"}#{behind}#{"*" unless behind.match?(/\d\z/)}i"
  end

  def exact_zero?(part) = !part.is_a?(Float) && part == 0

  # The quotient of two parts: exact for Integers, and an Integer again where it is whole.
  def parted(top, below)
    made = top.is_a?(Float) || below.is_a?(Float) ? top / below : Rational(top, below)
    made.is_a?(Rational) && made.denominator == 1 ? made.numerator : made
  end

  def with(name, other)
    return yield(other) if other.is_a?(Complex)
    return yield(Complex.rect(other, 0)) if other.is_a?(Numeric) && other.real?
    FoolsGold::Late.coerced(self, name, other, other.respond_to?(:coerce))
  end
end

class Numeric
  def real = self
  def imaginary = 0
  alias imag imaginary
  def abs2 = self * self
  def arg = negative? ? Math::PI : 0
  alias angle arg
  alias phase arg
  def polar = [abs, arg]
  def rect = [self, 0]
  alias rectangular rect
  def conj = self
  alias conjugate conj
  def to_c = Complex.rect(self, 0)
  def i = Complex.rect(0, self)
end

class Float
  # The power of this negative number and a fraction, for Float#** and Integer#**. Half turns have an exact part.
  def __complex_power(exponent)
    size = (-self)**exponent
    turn = exponent % 2
    return Complex.rect(0.0, turn == 0.5 ? size : -size) if turn == 0.5 || turn == 1.5
    Complex.rect(size * Math.cos(Math::PI * exponent), size * Math.sin(Math::PI * exponent))
  end

  # A NaN has a NaN, and -0.0 the angle of a negative number.
  def arg = nan? ? self : negative? || (self == 0 && 1 / self < 0) ? Math::PI : 0
  alias angle arg
  alias phase arg
end

class String
  def to_c = Complex.__parse(self, false)
end

class NilClass
  def to_c = Complex.rect(0, 0)
end

module Kernel
  def Complex(real, imaginary = nil, exception: true)
    parts = [real, imaginary].compact.map do |part|
      part = Complex.__parse(part, true) || raise(ArgumentError,
        "invalid value for convert(): #{part.inspect}") if part.is_a?(String)
      raise TypeError, "can't convert #{part.class} into Complex" unless part.is_a?(Numeric)
      part
    end
    raise TypeError, "can't convert nil into Complex" if real.nil?
    one, two = parts
    return one.is_a?(Complex) ? one : Complex.rect(one, 0) unless two
    return Complex.rect(one, two) if one.real? && two.real?
    one + two * Complex.rect(0, 1)
  rescue ArgumentError, TypeError
    raise if exception
  end
  module_function :Complex
end

Complex::I = Complex.rect(0, 1)
