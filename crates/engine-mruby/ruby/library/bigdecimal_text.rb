# BigDecimal: conversion to text and other numbers, and rounding.

class BigDecimal
  def to_i
    finite_or_raise
    return 0 if zero?
    _, sign, digits, power = parts
    cut = power >= 0 ? digits.to_i * 10**power : digits.size > -power ? digits[0...power].to_i : 0
    sign == "-" ? -cut : cut
  end
  alias to_int to_i

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
