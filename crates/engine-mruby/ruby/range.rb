# Ranges: methods of CRuby's that mruby has not, or that stop at 64 bits.

class Range
  alias __size size
  alias __to_a to_a

  def size
    from, to = self.begin, self.end
    return from.is_a?(Integer) && to.nil? ? Float::INFINITY : __size unless from.is_a?(Integer) && to.is_a?(Integer)
    count = to - from + (exclude_end? ? 0 : 1)
    count < 0 ? 0 : count
  end

  def to_a
    from, to = self.begin, self.end
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
