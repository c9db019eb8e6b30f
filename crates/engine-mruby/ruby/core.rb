# Small methods of core classes that CRuby has and mruby has not, where they are simple and Rack code uses them.

class Integer
  def even? = self % 2 == 0
  def odd? = self % 2 == 1
  def pred = self - 1
  def ord = self
  def size = 8
  def integer? = true
  def fdiv(other) = to_f / other

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
end

class Float
  def integer? = false
  def to_int = to_i
  def fdiv(other) = self / other
end

class Symbol
  def start_with?(*parts) = to_s.start_with?(*parts)
  def end_with?(*parts) = to_s.end_with?(*parts)
  def [](*args) = to_s[*args]
  def succ = to_s.succ.to_sym
  alias next succ
  alias id2name to_s
end

class Array
  def to_ary = self

  def sort_by!(&block)
    return to_enum(:sort_by!) unless block
    replace(sort_by(&block))
  end
end

class Hash
  def to_hash = self

  def assoc(key)
    key?(key) ? [key, self[key]] : nil
  end

  def rassoc(value)
    each { |key, mine| return [key, mine] if mine == value }
    nil
  end
end

module Enumerable
  def each_entry(&block)
    return to_enum(:each_entry) unless block
    each(&block)
  end

  def slice_when
    result = []
    each_cons(2).with_index do |(left, right), index|
      result << [left] if index == 0
      yield(left, right) ? result << [right] : result.last << right
    end
    result.empty? && first ? [[first]].each : result.each
  end

  def chunk_while
    slice_when { |left, right| !yield(left, right) }
  end
end

# Strings are bytes that are usually UTF-8, and carry no encoding: what would change one leaves the bytes alone.
class String
  def force_encoding(*)
    self
  end

  def b
    dup
  end

  def ascii_only?
    bytes.all? { |byte| byte < 128 }
  end

  def scrub(*)
    dup
  end
end

module Kernel
  # Nothing is private here, so it is `send`.
  def public_send(name, *args, &block)
    __send__(name, *args, &block)
  end
end
