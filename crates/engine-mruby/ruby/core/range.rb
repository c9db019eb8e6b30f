# Methods of Range that mruby does not have, or has only for Integers of 64 bits.

class Range
  alias __size size
  alias __cover? cover?
  alias __last last

  def count(*item, &block)
    return super unless item.empty? && !block
    return Float::INFINITY if self.begin.nil? || self.end.nil?
    self.begin.is_a?(Integer) && self.end.is_a?(Integer) ? size : super
  end

  # The last elements of a range of Integers are made without the others.
  def last(*count)
    from, to = self.begin, self.end
    return __last(*count) unless count.size == 1 && from.is_a?(Integer) && to.is_a?(Integer)
    wanted = FoolsGold.integer(count[0])
    raise ArgumentError, "negative array size (or size too big)" if wanted < 0
    behind = exclude_end? ? to : to + 1
    (behind - [wanted, size].min...behind).to_a
  end

  def max(count = nil, &block)
    from, to = self.begin, self.end
    raise RangeError, "cannot get the maximum of endless range" if to.nil?
    if block || count || (exclude_end? && !(Numeric === to))
      raise RangeError, "cannot get the maximum of beginless range with custom comparison method" if from.nil?
      return count ? super(count, &block) : super(&block)
    end
    order = from.nil? ? -1 : from <=> to
    return if order.nil? || order > 0
    return to unless exclude_end?
    raise TypeError, "cannot exclude non Integer end value" unless Integer === to
    return if order == 0
    raise TypeError, "cannot exclude end value with non Integer begin value" unless Integer === from
    to - 1
  end

  def min(count = nil, &block)
    from, to = self.begin, self.end
    raise RangeError, "cannot get the minimum of beginless range" if from.nil?
    if block
      raise RangeError, "cannot get the minimum of endless range with custom comparison method" if to.nil?
      return count ? super(count, &block) : super(&block)
    end
    return first(count) if count
    return from if to.nil?
    order = from <=> to
    order.nil? || order > 0 || (order == 0 && exclude_end?) ? nil : from
  end

  # As in CRuby, numbers and times are compared with the ends, Strings are searched among the elements, and other
  # endless ranges are refused.
  def include?(value)
    from, to = self.begin, self.end
    unless String === from && String === to
      # A range is no element of a range: that one covers another is for cover? to say.
      return false if Range === value
      return __cover?(value) if Numeric === from || Numeric === to || Time === from || Time === to
      return __cover?(value) if from.nil? && to.nil? && (Numeric === value || Time === value)
      raise TypeError, "cannot determine inclusion in beginless/endless ranges" if from.nil? || to.nil?
      return super
    end
    value = FoolsGold.string(value) if !(String === value) && value.respond_to?(:to_str)
    return false unless String === value
    return __cover?(value) && value.size == 1 if from.size == 1 && to.size == 1 && from.ascii_only? && to.ascii_only?
    each { |one| return true if one == value }
    false
  end
  alias member? include?

  def cover?(value)
    return __cover?(value) unless value.is_a?(Range)
    from, to, low, high = self.begin, self.end, value.begin, value.end
    return false if (to && high.nil?) || (from && low.nil?)
    if low && high
      order = low <=> high
      return false if order.nil? || order > 0 || (order == 0 && value.exclude_end?)
    end
    return false if low && !__cover?(low)
    order = to.nil? ? (high.nil? ? 0 : 1) : to <=> high
    return false if order.nil?
    return order >= 0 if exclude_end? == value.exclude_end?
    return order > 0 if exclude_end?
    order >= 0 || __holds_last?(value)
  end

  # Whether the last element of a range that excludes its end lies within this one.
  def __holds_last?(range)
    last = range.max
    return false if last.nil?
    order = self.end <=> last
    order.nil? || order >= 0
  rescue TypeError
    false
  end
  alias __to_a to_a

  def size
    from, to = self.begin, self.end
    unless from.is_a?(Integer) && to.is_a?(Integer)
      return Float::INFINITY if (from.is_a?(Integer) && to.nil?) || (from.nil? && to.is_a?(Numeric))
      return __size
    end
    count = to - from + (exclude_end? ? 0 : 1)
    count < 0 ? 0 : count
  end

  def to_a
    from, to = self.begin, self.end
    return Range.new(from.to_s, to.to_s, exclude_end?).map(&:to_sym) if from.is_a?(Symbol) && to.is_a?(Symbol)
    return __to_a unless from.is_a?(Integer) && to.is_a?(Integer) && (from.bit_length > 62 || to.bit_length > 62)
    made = []
    each { |one| made << one }
    made
  end
  alias entries to_a

  # A range of Integers is walked from its end, also where it has no begin.
  def reverse_each(&block)
    from, to = self.begin, self.end
    return to_enum(:reverse_each) { from.nil? && to.is_a?(Integer) ? Float::INFINITY : size } unless block
    raise TypeError, "can't iterate from #{to.class}" if to.nil?
    return super unless to.is_a?(Integer) && (from.nil? || from.is_a?(Integer))
    at = exclude_end? ? to - 1 : to
    while from.nil? || at >= from
      yield at
      at -= 1
    end
    self
  end

  def minmax(&block)
    block || !self.begin.is_a?(Numeric) || self.end.nil? ? super : [min, max]
  end

  def sum(start = 0, &block)
    return super unless !block && self.begin.is_a?(Integer) && self.end.is_a?(Integer)
    # Gauss's formula: the range may be far longer than a loop could go through.
    start + (self.begin * 2 + size - 1) * size / 2
  end

  def step(by = 1, &block)
    at = self.begin
    by = FoolsGold.integer(by) if Numeric === at && !(Numeric === by)
    raise ArgumentError, "step can't be 0" if by == 0
    return to_enum(:step, by) unless block
    raise ArgumentError, "#step iteration for beginless ranges is meaningless" if at.nil?
    unless at.is_a?(Numeric) || by.is_a?(Integer)
      raise TypeError, "no implicit conversion of Float into Integer" if by.is_a?(Float)
      by = FoolsGold.integer(by)
    end
    raise ArgumentError, "step can't be negative" if by < 0 && !at.is_a?(Numeric)
    return each_with_index { |one, index| yield one if index % by == 0 } unless at.is_a?(Numeric)
    if Float === at || Float === by || Float === self.end
      FoolsGold.step(at.to_f, self.end, by.to_f, exclude_end?, &block)
    else
      FoolsGold.exact_step(at, self.end, by, exclude_end?, &block)
    end
    self
  end
  alias % step

  def overlap?(other)
    raise TypeError, "wrong argument type #{other.class} (expected Range)" unless Range === other
    return false unless __starts_before_end?(other) && other.__starts_before_end?(self)
    from, start = self.begin, other.begin
    return !(self.end <=> other.end).nil? if from.nil? && start.nil?
    unless from.nil? || start.nil?
      order = from <=> start
      return order == 0 if order.nil? || order == 0
    end
    __starts_before_end?(self) && other.__starts_before_end?(other)
  end

  # Whether the other range begins before the end of this one.
  def __starts_before_end?(other)
    return true if self.end.nil? || other.begin.nil?
    order = other.begin <=> self.end
    !order.nil? && (exclude_end? ? order < 0 : order <= 0)
  end
end
