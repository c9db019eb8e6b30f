# Random and Kernel#rand with ranges and large limits, and Array#sum.

module FoolsGold
  class << self
    # A number of a generator: a Random, or the class for the generator of Kernel#rand, Array#shuffle and Array#sample.
    # Its own `__rand` knows limits of 62 bits.
    def random(generator, limit)
      return generator.__rand * limit if limit.is_a?(Float) && limit > 0
      raise ArgumentError, "invalid argument - #{limit}" if limit.is_a?(Numeric) && limit <= 0
      return random_large(generator, limit) if limit.is_a?(Integer) && limit.bit_length > 62
      return limit ? generator.__rand(limit) : generator.__rand unless limit.is_a?(Range)
      low, high = limit.begin, limit.end
      return low + generator.__rand * (high - low) if low.is_a?(Float) || high.is_a?(Float)
      count = high - low + (limit.exclude_end? ? 0 : 1)
      raise ArgumentError, "invalid argument - #{limit}" if count <= 0
      low + random(generator, count)
    end

    private

    # Bits are drawn until they are below the limit, which at least every second draw is.
    def random_large(generator, limit)
      bits = (limit - 1).bit_length
      loop do
        number = 0
        ((bits + 31) / 32).times { number = number << 32 | generator.__rand(1 << 32) }
        number >>= -bits % 32
        return number if number < limit
      end
    end
  end
end

class Random
  alias __rand rand
  def rand(limit = nil) = FoolsGold.random(self, limit)

  class << self
    alias __rand rand
    def rand(limit = nil) = FoolsGold.random(self, limit)
    def new_seed = SecureRandom.random_number(1 << 62)
  end
end

module Kernel
  alias __rand rand

  def rand(limit = nil)
    return Random.rand(limit) if limit.is_a?(Range)
    return Random.rand(limit.abs) if limit.is_a?(Integer) && limit.bit_length > 62
    limit.nil? || limit == 0 ? __rand : __rand(limit.to_i.abs)
  end
end

class Array
  def __sum(start)
    each { |one| start += one }
    start
  end

  # The sum of the block's results. Numbers are collected and added together, for the precision of `sum`; from the first
  # other value on each is added before the block is called again, as in CRuby.
  def __sum_by(start)
    found = []
    each do |one|
      found << (value = yield(one))
      break unless value.is_a?(Integer) || value.is_a?(Float)
    end
    total = found.sum(start)
    drop(found.size).each { |one| total += yield(one) }
    total
  end

  # The sum; from the first Float on by the Kahan-Babuska algorithm with Neumaier's improvement, as in CRuby.
  def sum(start = 0, &block)
    return __sum_by(start, &block) if block
    whole = __total(start)
    return whole if whole
    return __sum(start) unless any?(Float)
    return __sum(start) unless start.is_a?(Numeric) && all? { |one| one.is_a?(Float) || one.is_a?(Integer) }
    whole = start.is_a?(Integer) ? take_while { |one| one.is_a?(Integer) } : []
    total, lost = whole.__sum(start).to_f, 0.0
    drop(whole.size).each do |one|
      one = one.to_f
      raised = total + one
      # With infinity or NaN the correction would be NaN.
      return __sum(start) unless raised.finite?
      # What rounding has taken from the smaller of the two.
      lost += total.abs >= one.abs ? (total - raised) + one : (one - raised) + total
      total = raised
    end
    total + lost
  end
end
