# Numeric#step with keywords and without the drift of added Floats; String#succ for letters beyond ASCII, and for
# letters and digits beside other characters.

module FoolsGold
  # The number of steps; for Floats as CRuby counts them, with an allowance for rounding errors. With `open`, the limit
  # is excluded.
  def self.steps(start, limit, by, open = false)
    return [(limit - start).div(by) + 1, 0].max if !open && [start, limit, by].all?(Integer)
    return 0 if by > 0 ? start > limit : start < limit
    return 1 if by.to_f.infinite?
    count = (limit - start) / by.to_f
    return count.nan? ? 0 : count unless count.finite?
    lost = (start.abs + limit.abs + (limit - start).abs) / by.abs.to_f * Float::EPSILON
    lost = [lost, 0.5].min
    return (count + lost).floor + 1 unless open
    return 0 if count <= 0
    whole = count < 1 ? 0 : (count - lost).floor
    after = (whole + 1) * by + start
    whole += 1 if start < limit ? after < limit : start > limit && after > limit
    whole + 1
  end

  def self.step(start, limit, by, open = false)
    return yield(start) while true if by == 0
    if start.is_a?(Float) || limit.is_a?(Float) || by.is_a?(Float)
      start, by = start.to_f, by.to_f
    elsif ![start, limit || 0, by].all?(Integer)
      return exact_step(start, limit, by, open) { |one| yield one }
    end
    if limit.nil?
      at = -1
      yield start + at * by while at += 1
    end
    count = steps(start, limit, by, open)
    return count.times { yield start } if by.is_a?(Float) && by.infinite?
    at = -1
    while (at += 1) < count
      # A product instead of a sum, whose rounding errors would add up.
      one = start + at * by
      one = limit.to_f if one.is_a?(Float) && (by > 0 ? one > limit : one < limit)
      yield one
    end
  end

  # Steps of Rationals and other exact numbers: sums, as in CRuby.
  def self.exact_step(one, limit, by, open)
    while limit.nil? || (by > 0 ? one < limit : one > limit) || (!open && one == limit)
      yield one
      one += by
    end
  end

  # The successor of a text: its last letter or digit is incremented, or its last character if it has neither. A `z`,
  # `Z` or `9` wraps and carries to the next letter or digit on its left. Over other characters it carries only from a
  # digit to a digit or from a letter to a letter, except that a letter beyond ASCII takes any carry. Where none takes
  # it, an `a`, `A` or `1` is inserted.
  def self.succ(text)
    signs = text.chars
    at, last, place = signs.size, nil, nil
    apart = false
    while (at -= 1) >= 0
      sign = signs[at]
      kind = kind_of_sign(sign)
      next apart = true unless kind
      break if apart && last && kind != :other && (kind == :digit) != (last == :digit)
      apart, last, place = false, kind, at
      wraps = { "z" => "a", "Z" => "A", "9" => "0" }[sign]
      signs[at] = wraps || sign_after(sign)
      return signs.join unless wraps
    end
    return signs[0...-1].join + sign_after(signs[-1]) unless last
    signs.insert(place, { digit: "1", small: "a", large: "A" }[last]).join
  end

  # The next character; of a letter the next letter, which may stand one character further.
  def self.sign_after(sign)
    return (sign.ord + 1).chr if sign.ascii_only?
    after = [sign.ord + 1, sign.ord + 2].map { |code| [code].pack("U") }
    (kind_of_sign(sign) && after.find { |one| kind_of_sign(one) }) || after[0]
  end

  def self.kind_of_sign(sign)
    return :small if sign >= "a" && sign <= "z"
    return :large if sign >= "A" && sign <= "Z"
    return :digit if sign >= "0" && sign <= "9"
    :other if !sign.ascii_only? && sign.match?(/\p{Alnum}/)
  end

  # Numeric#step.
  module Steps
    def step(limit = nil, step = nil, by: nil, to: nil, &block)
      raise ArgumentError, "to is given twice" if limit && to
      raise ArgumentError, "step is given twice" if step && by
      limit, step = limit || to, step || by
      raise ArgumentError, "step can't be 0" if step == 0
      raise ArgumentError, "comparison of String with 0 failed" if String === step
      return step ? to_enum(:step, limit, step) : to_enum(:step, *limit) unless block
      FoolsGold.step(self, limit, step || 1, &block)
      self
    end
  end
end

[Numeric, Integer, Float].each do |number|
  number.class_eval { define_method(:step, FoolsGold::Steps.instance_method(:step)) }
end

class String
  alias __succ succ

  def succ
    ours = ascii_only? ? count("^a-zA-Z0-9") > 0 && count("a-zA-Z0-9") > 0 : !__binary? && valid_encoding?
    ours ? FoolsGold.succ(self) : __succ
  end
  alias next succ

  def succ! = replace(succ)
  alias next! succ!
end
