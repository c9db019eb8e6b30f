# Small methods of core classes that mruby does not have and Rack code uses.

class Symbol
  def start_with?(*parts) = to_s.start_with?(*parts)
  def end_with?(*parts) = to_s.end_with?(*parts)
  def [](*args) = to_s[*args]
  def succ = to_s.succ.to_sym
  alias next succ
  alias id2name to_s
  def swapcase = to_s.swapcase.to_sym
  alias slice []

  # The Symbol is in a variable, since a method that is defined with this block has another self.
  def to_proc
    name = self
    found = lambda do |object, *args, &block|
      args.empty? && !block ? object.__send__(name) : object.__send__(name, *args, &block)
    end
    found.ruby2_keywords
  end
end

class Array
  alias __shuffle shuffle
  alias __sample sample

  def shuffle(random: nil) = random ? sort_by { random.rand } : __shuffle
  def shuffle!(random: nil) = replace(shuffle(random: random))

  def sample(count = nil, random: nil)
    return count ? __sample(count) : __sample unless random
    return shuffle(random: random).first(count) if count
    empty? ? nil : self[random.rand(size)]
  end

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

module Comparable
  alias __clamp clamp

  # A Range may have no begin or no end.
  def clamp(low, high = nil)
    return __clamp(low, high) if high || !low.is_a?(Range)
    raise ArgumentError, "cannot clamp with an exclusive range" if low.end && low.exclude_end?
    return low.begin if low.begin && (self <=> low.begin) < 0
    low.end && (self <=> low.end) > 0 ? low.end : self
  end
end

module Enumerable
  def to_set(klass = Set, *args, &block) = klass.new(self, *args, &block)
end
