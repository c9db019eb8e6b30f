# Small methods of core classes that mruby does not have and Rack code uses.

class Symbol
  def start_with?(*parts) = to_s.start_with?(*parts)
  def end_with?(*parts) = to_s.end_with?(*parts)
  def succ = to_s.succ.to_sym
  alias next succ
  alias id2name to_s
  def swapcase = to_s.swapcase.to_sym
  def casecmp(other) = Symbol === other ? to_s.casecmp(other.to_s) : nil
  def casecmp?(other) = Symbol === other ? to_s.casecmp?(other.to_s) : nil

  # The Symbol is in a variable, since a method that is defined with this block has another self.
  def to_proc
    name = self
    # A name such as `format` or `open`, under which most objects have a private method, is looked at in each call.
    return __public_to_proc if FoolsGold.visibility(Object, name) == :private
    found = lambda do |object, *args, &block|
      args.empty? && !block ? object.__send__(name) : object.__send__(name, *args, &block)
    end
    found.ruby2_keywords
  end

  # A lambda that calls the method of this name where it is public, and `method_missing` where it is not.
  def __public_to_proc
    name = self
    found = lambda do |object, *args, &block|
      next object.__send__(name, *args, &block) if FoolsGold.visible?(object, name)
      object.__send__(:method_missing, name, *args, &block)
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
    each { |key, mine| return [key, mine] if mine == value || mine.equal?(value) }
    nil
  end
end

module Comparable
  # The order may be any number, such as the 0.0 of a difference of Floats.
  def ==(other)
    return true if equal?(other)
    order = self <=> other
    Numeric === order && order == 0
  end

  # Between two bounds, either of which may be nil, or in a Range, which may have no begin or no end.
  def clamp(low, *high)
    raise ArgumentError, "wrong number of arguments (given #{high.size + 1}, expected 1..2)" if high.size > 1
    from, to = low, high[0]
    if high.empty?
      raise TypeError, "wrong argument type #{low.class} (expected Range)" unless low.is_a?(Range)
      from, to = low.begin, low.end
      raise ArgumentError, "cannot clamp with an exclusive range" if to && low.exclude_end?
    end
    if from && to && FoolsGold.compare(from, to) > 0
      raise ArgumentError, "min argument must be less than or equal to max argument"
    end
    return from if from && FoolsGold.compare(self, from) < 0
    to && FoolsGold.compare(self, to) > 0 ? to : self
  end
end

module Enumerable
  def to_set(klass = Set, *args, &block) = klass.new(self, *args, &block)
end
