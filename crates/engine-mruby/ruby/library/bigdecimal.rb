# BigDecimal: decimal numbers of any precision. The arithmetic is in Rust (ruby-stdlib/src/decimal.rs), which takes
# numbers as text: `-125e-2`.

class BigDecimal < Numeric
  VERSION = "3.1.5".freeze
  BASE = 1_000_000_000
  EXCEPTION_ALL, EXCEPTION_INFINITY, EXCEPTION_NaN, EXCEPTION_UNDERFLOW = 255, 1, 2, 4
  EXCEPTION_OVERFLOW, EXCEPTION_ZERODIVIDE = 1, 16
  ROUND_MODE, ROUND_UP, ROUND_DOWN, ROUND_HALF_UP, ROUND_HALF_DOWN = 256, 1, 2, 3, 4
  ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN = 5, 6, 7
  SIGN_NaN, SIGN_POSITIVE_ZERO, SIGN_NEGATIVE_ZERO, SIGN_POSITIVE_FINITE, SIGN_NEGATIVE_FINITE = 0, 1, -1, 2, -2
  SIGN_POSITIVE_INFINITE, SIGN_NEGATIVE_INFINITE = 3, -3
  MODES = {
    up: 1, down: 2, truncate: 2, half_up: 3, default: 3, half_down: 4, ceiling: 5, ceil: 5, floor: 6, half_even: 7,
      banker: 7
  }.freeze
  # Texts of special numbers, and what `sign` returns for them.
  SPECIAL = { "NaN" => SIGN_NaN, "Infinity" => SIGN_POSITIVE_INFINITE, "-Infinity" => SIGN_NEGATIVE_INFINITE,
              "-0" => SIGN_NEGATIVE_ZERO, "0" => SIGN_POSITIVE_ZERO }.freeze
  DIGITS = /\A(-?)(\d+)e(-?\d+)\z/
  # Most places behind the point, or zeros before it, of a number that becomes a Rational.
  PLACES_MAX = 50_000
  Native = FoolsGold::Native
  private_constant :MODES, :SPECIAL, :DIGITS, :PLACES_MAX, :Native

  class << self
    undef_method :new if respond_to?(:new)

    # A number from a text that Rust has written.
    def __of(text)
      number = allocate
      number.__send__(:__text=, text)
      number.freeze
    end

    # The text of any number for Rust; nil for other objects.
    def __text(value, digits = 0)
      case value
      when BigDecimal then value.__text
      when Integer then Native.decimal_add(value.to_s, "0")
      when Float then float_text(value, digits)
      end
    end

    # A number from a Rational or Complex.
    def __from(value, digits, given)
      case value
      when Rational
        raise ArgumentError, "can't omit precision for a Rational." unless given
        __fraction(value, digits)
      when Complex
        raise ArgumentError, "Unable to make a BigDecimal from non-zero imaginary number" if value.imaginary != 0
        given ? BigDecimal(value.real, digits) : BigDecimal(value.real)
      else raise TypeError, "can't convert #{value.class} into BigDecimal"
      end
    end

    def __fraction(value, digits)
      top, below = BigDecimal(value.numerator), BigDecimal(value.denominator)
      digits == 0 ? top / below : top.div(below, digits)
    end

    def mode(which, value = nil)
      return exception_mode(which, value) unless which == ROUND_MODE
      @mode = __mode(value) unless value.nil?
      @mode || ROUND_HALF_UP
    end

    def __mode(value)
      value = value[:half] ? :"half_#{value[:half]}" : :default if value.is_a?(Hash)
      value = MODES[value.to_s.downcase.delete_prefix("round_").to_sym] if value.is_a?(Symbol) || value.is_a?(String)
      raise ArgumentError, "invalid rounding mode" unless value.is_a?(Integer) && value.between?(1, 7)
      value
    end

    def limit(digits = nil)
      before = @limit || 0
      @limit = digits if digits
      before
    end

    def save_rounding_mode
      before = mode(ROUND_MODE)
      yield
    ensure
      @mode = before
    end

    def save_limit
      before = limit
      yield
    ensure
      @limit = before
    end

    def save_exception_mode = yield
    def double_fig = 16
    def _load(text) = BigDecimal(text.split(":", 2).last)

    def interpret_loosely(text)
      found = text.lstrip[/\A[+-]?(Infinity|\d+(_\d+)*(\.\d+(_\d+)*)?([eEdD][+-]?\d+)?|\.\d+([eEdD][+-]?\d+)?)/]
      found ? BigDecimal(found) : __of("0")
    end

    private

    # Exceptions for overflow and so on cannot be turned on; the default, none, is accepted.
    def exception_mode(which, value)
      raise TypeError, "no implicit conversion of #{which.class} into Integer" unless which.is_a?(Integer)
      raise ArgumentError, "invalid exception mode" unless value.nil? || value == true || value == false
      raise NotImplementedError, "BigDecimal.mode: exceptions cannot be chosen. #{FoolsGold::HINT}" if value
      0
    end

    # The text of a Float: with `digits` rounded to them, else the shortest that reads back.
    def float_text(value, digits)
      return value.nan? ? "NaN" : value > 0 ? "Infinity" : "-Infinity" if value.nan? || value.infinite?
      return value.to_s.start_with?("-") ? "-0" : "0" if value == 0
      __normal(digits == 0 ? value.to_s : format("%.#{digits - 1}e", value))
    end

    public

    # The text for Rust of digits with a point and an exponent.
    def __normal(text)
      text = text.delete("_")
      whole, power = text.downcase.tr("d", "e").split("e")
      front, behind = whole.split(".")
      power = power.to_i - behind.to_s.size
      # A bound of ours; CRuby too overflows to infinity or zero.
      return power > 0 ? (text.start_with?("-") ? "-Infinity" : "Infinity") : "0" if power.abs > 1_000_000_000_000
      digits = "#{front}#{behind}"
      # Adding zero brings the text into the normal form of Rust.
      made = Native.decimal_add("#{digits.delete_prefix("+")}e#{power}", "0")
      made == "0" && text.start_with?("-") ? "-0" : made
    end
  end

  def __text = @text

  def sign = SPECIAL[@text] || (@text.start_with?("-") ? SIGN_NEGATIVE_FINITE : SIGN_POSITIVE_FINITE)
  def nan? = @text == "NaN"
  def infinite? = @text.end_with?("y") ? (@text.start_with?("-") ? -1 : 1) : nil
  def finite? = !nan? && !infinite?
  def zero? = @text == "0" || @text == "-0"
  def negative? = sign < -1
  def positive? = sign > 1

  def +(other) = calculated(:+, other) { |text| Native.decimal_add(digits, text) }
  def -(other) = calculated(:-, other) { |text| Native.decimal_add(digits, BigDecimal.__of(text).-@.digits) }
  def *(other) = calculated(:*, other) { |text| Native.decimal_mul(digits, text) }

  def /(other)
    calculated(:/, other) { |text| Native.decimal_divide(digits, text, nil, BigDecimal.mode(ROUND_MODE)) }
  end

  def add(other, digits) = (self + other).__limited(digits)
  def sub(other, digits) = (self - other).__limited(digits)
  def mult(other, digits) = (self * other).__limited(digits)

  def quo(other, digits = 0) = digits > 0 ? div(other, digits) : self / other

  # The quotient: without `digits` an Integer, rounded down.
  def div(other, digits = nil)
    return self / other if digits == 0
    return whole(other) unless digits
    raise ArgumentError, "negative precision" if digits < 0
    calculated(:/, other) { |text| Native.decimal_divide(self.digits, text, digits, BigDecimal.mode(ROUND_MODE)) }
  end

  def divmod(other)
    text = operand(other)
    return coerced(:divmod, other) unless text
    return [BigDecimal::NAN, BigDecimal::NAN] if nan? || text == "NaN" || infinite?
    nothing_by(text)
    # By infinity the quotient, rounded down, is 0, or -1 where the signs differ.
    return [BigDecimal.__of(zero? || (negative? == text.start_with?("-")) ? "0" : "-1e0"), self] if text.end_with?("y")
    Native.decimal_divmod(digits, text).map { |one| BigDecimal.__of(one) }
  end

  def %(other) = divmod(other).last
  alias modulo %

  def remainder(other)
    rest = self % other
    rest.zero? || negative? == (other < 0) ? rest : rest - other
  end

  def **(other) = power(other)

  def power(other, digits = 0)
    exponent = other.is_a?(Integer) ? other : (other.to_i if other.respond_to?(:to_i) && other == other.to_i)
    unless exponent
      raise NotImplementedError, "BigDecimal#power takes whole numbers only. #{FoolsGold::HINT}"
    end
    return BigDecimal::NAN if nan?
    return exponent.zero? ? BigDecimal(1) : unbounded(exponent) if infinite? || zero?
    return far_power(exponent) if exponent.bit_length > 63
    made = BigDecimal.__of(Native.decimal_power(self.digits, exponent.abs, digits))
    # Rust computes exact powers of positive exponents only.
    made = digits > 0 ? BigDecimal(1).div(made, digits) : BigDecimal(1) / made if exponent < 0
    made.__limited(digits)
  end

  def sqrt(digits = 0)
    raise FloatDomainError, "sqrt of 'NaN'(Not a Number)" if nan?
    return self if zero? || infinite? == 1
    raise FloatDomainError, "sqrt of negative value" if negative? || infinite?
    BigDecimal.__of(Native.decimal_sqrt(self.digits, digits))
  end

  def -@ = BigDecimal.__of(nan? ? @text : @text.start_with?("-") ? @text.delete_prefix("-") : "-#{@text}")
  def abs = @text.start_with?("-") ? -self : self

  def <=>(other)
    text = operand(other)
    if text.nil? && other.is_a?(Numeric) && other.respond_to?(:coerce)
      one, two = other.coerce(self)
      return one <=> two
    end
    return nil if text.nil? || nan? || text == "NaN"
    return (infinite? || 0) <=> (BigDecimal.__of(text).infinite? || 0) if infinite? || text.end_with?("y")
    Native.decimal_compare(digits, text)
  end

  def ==(other) = (self <=> other) == 0
  alias === ==
  alias eql? ==

  %i[< <= > >=].each do |name|
    define_method(name) do |other|
      order = self <=> other
      next order.__send__(name, 0) if order
      next false if nan? || (other.respond_to?(:nan?) && other.nan?)
      shown = other.is_a?(Numeric) ? other.inspect : FoolsGold.named(other)
      raise ArgumentError, "comparison of BigDecimal with #{shown} failed"
    end
  end

  # 0 and -0 are equal, and so must be their hashes. All other numbers have one normal text.
  def hash = [BigDecimal, zero? ? "0" : @text].hash
  def coerce(other) = [other.is_a?(Rational) ? BigDecimal.__of(operand(other)) : BigDecimal(other, 0), self]
  def clone(**) = self
  def dup = self

  # The text for Rust, where zero has no sign.
  def digits = @text == "-0" ? "0" : @text

  def __limited(digits)
    raise ArgumentError, "negative precision" if digits < 0
    return self if digits == 0 || !finite? || zero?
    BigDecimal.__of(Native.decimal_limit(@text, digits, BigDecimal.mode(ROUND_MODE)))
  end

  private

  def __text=(text)
    @text = text.freeze
  end

  # The text of any number for Rust; nil for other objects. A fraction is rounded to as many words of CRuby, of nine
  # digits, as this number has.
  def operand(other)
    text = BigDecimal.__text(other)
    return text if text || !other.is_a?(Rational)
    BigDecimal.__fraction(other, words * 9).__text
  end

  def words
    return 1 if zero? || !finite?
    _, _, digits, power = parts
    -(-(digits.size + power)).div(9) - power.div(9)
  end

  # The result of an operation by Rust, or that of special numbers (NaN, infinity), which Rust does not have.
  def calculated(name, other)
    text = operand(other)
    return coerced(name, other) unless text
    endless = !finite? || text == "NaN" || text.end_with?("y") || (name == :/ && (text == "0" || text == "-0"))
    return BigDecimal.__of(endless(name, text)) if endless
    made = BigDecimal.__of(text = yield(text == "-0" ? "0" : text))
    made = BigDecimal.__of("-0") if text == "0" && below_zero?(name, other)
    made.__limited(BigDecimal.limit)
  end

  # Whether a result of zero is negative: zeros have a sign in CRuby.
  def below_zero?(name, other)
    mine, theirs = @text.start_with?("-"), operand(other).start_with?("-")
    return mine != theirs if %i[* /].include?(name)
    zero? && other.zero? && mine && (name == :+ ? theirs : !theirs)
  end

  def coerced(name, other)
    FoolsGold::Late.coerced(self, name, other, other.respond_to?(:coerce) && !other.is_a?(BigDecimal))
  end

  def nothing_by(text)
    raise ZeroDivisionError, "divided by 0" if text == "0" || text == "-0"
  end

  def whole(other)
    text = operand(other)
    return coerced(:div, other) unless text
    raise FloatDomainError, "Computation results in 'NaN' (Not a Number)" if nan? || text == "NaN"
    raise FloatDomainError, "Computation results in '#{@text}'" if infinite?
    divmod(other).first.to_i
  end

  # Results with infinity and quotients by zero are those of Float.
  def endless(name, text)
    made = as_float(@text).__send__(name, as_float(text))
    return made.to_s if made.nan? || made.infinite?
    made < 0 || 1 / made < 0 ? "-0" : "0"
  end

  def as_float(text)
    sign = text.start_with?("-") ? -1 : 1
    return Float::NAN if text == "NaN"
    return sign * Float::INFINITY if text.end_with?("y")
    text.end_with?("0") && !text.include?("e") ? sign * 0.0 : sign * 1.0
  end

  # The power by an exponent of more than 63 bits.
  def far_power(exponent)
    size = abs <=> 1
    return exponent.odd? ? self : abs if size == 0
    sign = "-" if negative? && exponent.odd?
    BigDecimal.__of("#{sign}#{(size > 0) == (exponent > 0) ? "Infinity" : "0"}")
  end

  def unbounded(exponent)
    odd_below = @text.start_with?("-") && exponent.odd?
    large = infinite? ? exponent > 0 : exponent < 0
    BigDecimal.__of("#{"-" if odd_below}#{large ? "Infinity" : "0"}")
  end
end

module Kernel
  # A number from a text or an Integer, or with `digits` from a Float or a Rational. Nil for others where `exception` is
  # false.
  def BigDecimal(value, digits = (omitted = true), exception: true)
    digits = omitted ? 0 : FoolsGold.integer(digits)
    raise ArgumentError, "negative precision" if digits < 0
    text =
      case value
      when BigDecimal, Integer then BigDecimal.__text(value)
      when Float
        raise ArgumentError, "can't omit precision for a Float." if omitted && value.finite?
        raise ArgumentError, "precision too large." if digits > 17
        BigDecimal.__text(value, digits)
      else
        return BigDecimal.__from(value, digits, !omitted) if value.is_a?(Numeric)
        FoolsGold.decimal_text(value)
      end
    made = BigDecimal.__of(text)
    digits > 0 && value.is_a?(Float) ? made.__limited(digits) : made
  rescue ArgumentError, TypeError
    raise if exception
  end
  private :BigDecimal
end

module FoolsGold
  DECIMAL = /\A\s*[+-]?(\d+(_\d+)*(\.\d+(_\d+)*)?|\.\d+(_\d+)*)([eEdD][+-]?\d+)?\s*\z/

  def self.decimal_text(value)
    raise TypeError, "can't convert #{named(value)} into BigDecimal" unless value.respond_to?(:to_str)
    text = value.to_str.strip
    return BigDecimal.__normal(text) if DECIMAL.match?(text)
    return text.delete_prefix("+") if text.match?(/\A(NaN|[+-]?Infinity)\z/)
    raise ArgumentError, "invalid value for BigDecimal(): #{value.inspect}"
  end
end

BigDecimal::INFINITY = BigDecimal.__of("Infinity")
BigDecimal::NAN = BigDecimal.__of("NaN")

# Conversion to text and other numbers, and rounding.
class BigDecimal
  def to_i
    finite_or_raise
    return 0 if zero?
    _, sign, digits, power = parts
    cut = power >= 0 ? digits.to_i * 10**power : digits.size > -power ? digits[0...power].to_i : 0
    sign == "-" ? -cut : cut
  end

  # The fraction of the same value. Its numbers have as many digits as this one has places, which are bounded here.
  def to_r
    finite_or_raise
    return Rational(0, 1) if zero?
    _, sign, digits, power = parts
    raise RangeError, "the exponent #{power} is too large" if power.abs > PLACES_MAX
    made = power < 0 ? Rational(digits.to_i, 10**-power) : Rational(digits.to_i * 10**power, 1)
    sign == "-" ? -made : made
  end

  def to_f
    return SPECIAL[@text] == SIGN_NaN ? Float::NAN : infinite? * Float::INFINITY unless finite?
    zero? ? (@text == "-0" ? -0.0 : 0.0) : @text.to_f
  end

  # Rounds: to an Integer, unless digits behind the point or a mode are given.
  def round(digits = nil, mode = nil, **options)
    whole = mode.nil? && options.empty? && (digits.nil? || digits < 1)
    mode = options unless mode || options.empty?
    made = rounded(digits || 0, mode ? BigDecimal.__mode(mode) : BigDecimal.mode(ROUND_MODE))
    whole ? made.to_i : made
  end

  def floor(digits = nil) = digits ? rounded(digits, ROUND_FLOOR) : rounded(0, ROUND_FLOOR).to_i
  def ceil(digits = nil) = digits ? rounded(digits, ROUND_CEILING) : rounded(0, ROUND_CEILING).to_i
  def truncate(digits = nil) = digits ? rounded(digits, ROUND_DOWN) : to_i
  def fix = rounded(0, ROUND_DOWN)
  def frac = finite? ? self - fix : self

  # The power of ten above the first digit: 3 for 125.
  def exponent
    return 0 if zero? || !finite?
    _, _, digits, power = parts
    digits.size + power
  end

  def precision = zero? || !finite? ? 0 : exponent <= 0 ? -parts[3] : [parts[2].size, exponent].max
  def scale = zero? || !finite? ? 0 : [-parts[3], 0].max
  def precision_scale = [precision, scale]
  def n_significant_digits = zero? || !finite? ? 0 : parts[2].size

  def split
    return [0, "NaN", 10, 0] if nan?
    return [infinite?, "Infinity", 10, 0] if infinite?
    [@text.start_with?("-") ? -1 : 1, zero? ? "0" : parts[2], 10, exponent]
  end

  # The text: with an exponent ("E") or without ("F"). A number before the letter groups that many digits.
  def to_s(form = nil)
    form = form.to_s
    sign = @text.start_with?("-") ? "-" : form[/\A[+ ]/].to_s
    return "#{sign unless nan?}#{@text.delete_prefix("-")}" unless finite?
    return "#{sign}0.0" if zero?
    "#{sign}#{grouped(form.match?(/f\z/i) ? plain : "0.#{parts[2]}",
      form[/\d+/].to_i)}#{"e#{exponent}" unless form.match?(/f\z/i)}"
  end

  def inspect = to_s
  def to_digits = finite? && !zero? ? to_s("F") : to_s
  def to_d = self
  def _dump(_ = nil) = "#{(n_significant_digits + 8) / 9 * 9}:#{self}"

  private

  # The text's parts: sign, digits and power of ten.
  def parts = DIGITS.match(@text).to_a.tap { |all| all[3] = all[3].to_i }

  def plain
    _, _, digits, power = parts
    return "#{digits}#{"0" * power}.0" if power >= 0
    digits.size > -power ? digits.dup.insert(power - 1, ".") : "0.#{"0" * (-power - digits.size)}#{digits}"
  end

  def grouped(text, size)
    return text if size == 0
    whole, rest = text.split(".")
    "#{whole.reverse.scan(/.{1,#{size}}/).join(" ").reverse}.#{rest.scan(/.{1,#{size}}/).join(" ")}"
  end

  def rounded(digits, mode)
    finite_or_raise if digits <= 0 && !finite?
    return self if zero? || !finite?
    text = Native.decimal_round(@text, digits, mode)
    BigDecimal.__of(text == "0" && @text.start_with?("-") ? "-0" : text)
  end

  def finite_or_raise
    raise FloatDomainError, "Computation results in 'NaN' (Not a Number)" if nan?
    raise FloatDomainError, "Computation results in '#{@text}'" if infinite?
  end
end
