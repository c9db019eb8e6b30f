# Binary search in Arrays and ranges: of Integers, also endless ones, and of Floats, which are searched by their bits.

module FoolsGold
  # An Integer for a Float, in the order of the Floats: the bits of a positive Float grow with it, those of a negative
  # one are reversed.
  def self.rank_of(float)
    bits = [float].pack("D").unpack1("q")
    bits < 0 ? -(bits + 2**63) : bits
  end

  def self.ranked(rank) = [rank < 0 ? -rank - 2**63 : rank].pack("q").unpack1("D")
end

class Range
  def bsearch(&block)
    return to_enum(:bsearch) unless block
    from, to = self.begin, self.end
    unless [from, to].any?(Float)
      low, high = from && from.to_int, to && to.to_int
      raise TypeError, "can't do binary search for #{from.class}" unless low || high
      return __open_search(low || high, low ? 1 : -1, &block) unless low && high
      return __search(low, high - (exclude_end? ? 1 : 0), &block)
    end
    low, high = FoolsGold.rank_of((from || -Float::INFINITY).to_f), FoolsGold.rank_of((to || Float::INFINITY).to_f)
    found = __search(low, high - (exclude_end? ? 1 : 0)) { |rank| yield FoolsGold.ranked(rank) }
    found && FoolsGold.ranked(found)
  end

  private

  # Binary search without an end: steps that double find one that is far enough.
  def __open_search(start, step)
    loop do
      answer = yield(start + step)
      left = answer == true || (answer.is_a?(Numeric) && answer <= 0)
      break if left == (step > 0)
      step *= 2
    end
    low, high = [start, start + step].sort
    __search(low, high) { |at| yield at }
  end

  # The block returns true or false (find-minimum: the first true), or a number (find-any: 0 for a match), as in CRuby,
  # which asks for the lower of two elements in the middle of a range, and for the upper one in an Array (`upper` is 1).
  def __search(low, high, upper = 0)
    found = nil
    while low <= high
      middle = (low + high + upper) / 2
      case answer = yield(middle)
      when true
        found = middle
        high = middle - 1
      when false, nil then low = middle + 1
      when Numeric
        return middle if answer == 0
        answer < 0 ? high = middle - 1 : low = middle + 1
      else raise TypeError, "wrong argument type #{answer.class} (must be numeric, true, false or nil)"
      end
    end
    found
  end
end

class Array
  def bsearch(&block)
    return to_enum(:bsearch) unless block
    found = bsearch_index(&block)
    found && self[found]
  end

  def bsearch_index(&block)
    return to_enum(:bsearch_index) unless block
    (0...size).__send__(:__search, 0, size - 1, 1) { |at| yield self[at] }
  end
end
