# Methods of Enumerable that order the elements, or remove duplicates.

module Enumerable
  def sort(&block) = to_a.sort(&block)

  def max(count = nil, &block)
    return sort(&block).reverse.first(count) if count
    found, empty = nil, true
    each do |*one|
      one = one.__svalue
      found = one if empty || FoolsGold.compare(one, found, block) > 0
      empty = false
    end
    found
  end

  def min(count = nil, &block)
    return sort(&block).first(count) if count
    found, empty = nil, true
    each do |*one|
      one = one.__svalue
      found = one if empty || FoolsGold.compare(one, found, block) < 0
      empty = false
    end
    found
  end

  def uniq(&block)
    found = {}
    each do |*one|
      key = block ? block.call(*one) : one.__svalue
      found[key] = one.__svalue unless found.key?(key)
    end
    found.values
  end

  def sort_by(&block)
    return to_enum(:sort_by) unless block
    all, keys = [], []
    each do |*one|
      # With the index, so that equal keys never compare the elements, which need have no order.
      keys << [block.call(*one.__packed), all.size]
      all << one.__svalue
    end
    keys.size > 1 ? keys.sort!.map! { |_, at| all[at] } : all
  end

  def minmax(&block)
    all = to_a
    [all.min(&block), all.max(&block)]
  end

  def max_by(count = nil, &block)
    return to_enum(:max_by, *count) unless block
    return sort_by(&block).reverse.first(count) if count
    found, largest = nil, nil
    __keyed(block) { |one, key, at| found, largest = one, key if at == 0 || FoolsGold.compare(key, largest) > 0 }
    found
  end

  def min_by(count = nil, &block)
    return to_enum(:min_by, *count) unless block
    return sort_by(&block).first(count) if count
    found, least = nil, nil
    __keyed(block) { |one, key, at| found, least = one, key if at == 0 || FoolsGold.compare(key, least) < 0 }
    found
  end

  def minmax_by(&block)
    return to_enum(:minmax_by) unless block
    low, high, least, largest = nil
    __keyed(block) do |one, key, at|
      low, least = one, key if at == 0 || FoolsGold.compare(key, least) < 0
      high, largest = one, key if at == 0 || FoolsGold.compare(key, largest) > 0
    end
    [low, high]
  end

  private

  def __keyed(block)
    at = -1
    each { |*one| yield(one.__svalue, block.call(*one.__packed), at += 1) }
  end
end
