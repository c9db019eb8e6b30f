# Numbers and ranges: methods of CRuby's that mruby has not. What needs Rational or Complex is not there.

class Integer
  def even? = self % 2 == 0
  def odd? = self % 2 == 1
  def pred = self - 1
  def ord = self
  def size = 8
  def integer? = true
  def fdiv(other) = other.is_a?(Numeric) ? to_f / other : self + other
  def magnitude = abs
  def numerator = self
  def denominator = 1
  def round(digits = 0, half: :up)
    return self if digits >= 0
    unit = 10**-digits
    low = self - self % unit
    rest = (self % unit) * 2 <=> unit
    up = rest > 0 || (rest == 0 && (half == :even ? (low / unit).odd? : (half == :down ? self < 0 : self > 0)))
    up ? low + unit : low
  end

  def floor(digits = 0) = digits >= 0 ? self : self - self % 10**-digits
  def ceil(digits = 0) = digits >= 0 ? self : -(-self).floor(digits)
  def truncate(digits = 0) = self < 0 ? ceil(digits) : floor(digits)
  def gcdlcm(other) = [gcd(other), lcm(other)]

  def [](bit, length = nil)
    return (self >> bit) & 1 unless length
    (self >> bit) & ((1 << length) - 1)
  end

  def coerce(other)
    return [other, self] if other.is_a?(Integer)
    [Float(other), to_f]
  end

  def gcd(other)
    a, b = abs, other.abs
    a, b = b, a % b until b == 0
    a
  end

  def lcm(other)
    self == 0 || other == 0 ? 0 : (self / gcd(other) * other).abs
  end

  def bit_length
    number = self < 0 ? ~self : self
    bits = 0
    while number > 0
      number >>= 1
      bits += 1
    end
    bits
  end

  # Newton's way, which stays exact beyond what a Float holds.
  def self.sqrt(number)
    raise Math::DomainError, "Numerical argument is out of domain - \"isqrt\"" if number < 0
    return number if number < 2
    root = 1 << ((number.bit_length + 1) / 2)
    while (better = (root + number / root) / 2) < root
      root = better
    end
    root
  end

  def self.try_convert(object) = object.respond_to?(:to_int) ? object.to_int : nil
end

class Float
  def integer? = false
  def fdiv(other) = self / other
  def magnitude = abs
  def coerce(other) = [Float(other), self]
end

class Range
  def step(by = 1, &block)
    return to_enum(:step, by) unless block
    raise ArgumentError, "step can't be 0" if by == 0
    at = first
    return each_with_index { |one, index| yield one if index % by == 0 } unless at.is_a?(Numeric)
    if at.is_a?(Float) || by.is_a?(Float)
      count = ((last - at) / by.to_f + 1e-9).floor
      (0..count).each do |index|
        value = at + index * by
        yield value if value < last || (!exclude_end? && value == last)
      end
      return self
    end
    while self.end.nil? || (by > 0 ? at < self.end : at > self.end) || (!exclude_end? && at == self.end)
      yield at
      at += by
    end
    self
  end
  alias % step

  def bsearch
    low = self.begin
    high = exclude_end? ? self.end - 1 : self.end
    found = nil
    while low <= high
      middle = (low + high) / 2
      answer = yield(middle)
      return middle if answer == 0
      if answer == true || (answer.is_a?(Numeric) && answer < 0)
        found = middle if answer == true
        high = middle - 1
      else
        low = middle + 1
      end
    end
    found
  end

  def overlap?(other) = cover?(other.begin) || other.cover?(self.begin)
end

class Array
  def bsearch(&block)
    found = (0...size).bsearch { |at| block.call(self[at]) }
    found && self[found]
  end

  def self.try_convert(object) = object.respond_to?(:to_ary) ? object.to_ary : nil
end

class Hash
  def self.try_convert(object) = object.respond_to?(:to_hash) ? object.to_hash : nil
end

class String
  def self.try_convert(object) = object.respond_to?(:to_str) ? object.to_str : nil
  def sum(bits = 16) = bytes.sum & ((1 << bits) - 1)
end
