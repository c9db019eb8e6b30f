# Ranges: methods of CRuby's that mruby has not, or that stop at 64 bits.

class Range
  alias __size size
  alias __max max
  alias __min min
  alias __cover? cover?
  alias __include? include?

  def count(*item, &block) = item.empty? && !block && self.end.nil? ? Float::INFINITY : super

  def max(count = nil, &block)
    return super if count
    return __max(&block) if block || exclude_end? || !(String === self.end)
    order = self.begin <=> self.end
    order && order <= 0 ? self.end : nil
  end

  def min(count = nil, &block) = count ? super : __min(&block)

  # Texts are looked for among those that the range has, not between its ends.
  def include?(value)
    from, to = self.begin, self.end
    return __include?(value) unless from.is_a?(String) || to.is_a?(String)
    raise TypeError, "cannot determine inclusion in beginless/endless ranges" unless from && to
    return false unless value.is_a?(String) && __cover?(value)
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
    return true if to.nil?
    order = to <=> high
    return false unless order
    return order >= 0 if exclude_end? == value.exclude_end? || order >= 0 && value.exclude_end?
    return order > 0 if exclude_end?
    low.is_a?(Integer) && high.is_a?(Integer) && to >= high - 1
  end
  alias __to_a to_a

  def size
    from, to = self.begin, self.end
    return from.is_a?(Integer) && to.nil? ? Float::INFINITY : __size unless from.is_a?(Integer) && to.is_a?(Integer)
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

  def minmax(&block)
    block || !self.begin.is_a?(Numeric) || self.end.nil? ? super : [min, max]
  end

  def sum(start = 0, &block)
    return super unless !block && self.begin.is_a?(Integer) && self.end.is_a?(Integer)
    start + (self.begin * 2 + size - 1) * size / 2
  end

  def step(by = 1, &block)
    return to_enum(:step, by) unless block
    raise ArgumentError, "step can't be 0" if by == 0
    at = self.begin
    raise ArgumentError, "#step iteration for beginless ranges is meaningless" if at.nil?
    unless at.is_a?(Numeric) || by.is_a?(Integer)
      raise TypeError, "no implicit conversion of Float into Integer" if by.is_a?(Float)
      by = FoolsGold.integer(by)
    end
    raise ArgumentError, "step can't be negative" if by < 0 && !at.is_a?(Numeric)
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

  def overlap?(other) = cover?(other.begin) || other.cover?(self.begin)
end
