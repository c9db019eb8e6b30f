# Methods of Enumerable for sources that yield several values at once, of which mruby's own methods lose all but the
# first. Most methods pass such an element to the block as an Array (`__packed`); `map` and similar ones pass the
# values.

module FoolsGold
  # The result of `<=>` or of the block of a comparison; an ArgumentError for nil.
  def self.compare(one, other, block = nil)
    order = block ? block.call(one, other) : one <=> other
    return order if order
    shown = other.nil? || other == true || other == false || other.is_a?(Numeric) ? other.inspect : other.class
    raise ArgumentError, "comparison of #{one.class} with #{shown} failed"
  end
end

module Enumerable
  def map(&block)
    return to_enum(:map) unless block
    made = []
    each { |*one| made << block.call(*one) }
    made
  end
  alias collect map

  def select(&block)
    return to_enum(:select) unless block
    found = []
    each { |*one| found << one.__svalue if block.call(*one.__packed) }
    found
  end
  alias find_all select
  alias filter select

  def reject(&block)
    return to_enum(:reject) unless block
    found = []
    each { |*one| found << one.__svalue unless block.call(*one.__packed) }
    found
  end

  def find(otherwise = nil, &block)
    return to_enum(:find, *otherwise) unless block
    each { |*one| return one.__svalue if block.call(*one.__packed) }
    otherwise&.call
  end
  alias detect find

  def partition(&block)
    return to_enum(:partition) unless block
    yes, no = [], []
    each { |*one| (block.call(*one.__packed) ? yes : no) << one.__svalue }
    [yes, no]
  end

  def group_by(&block)
    return to_enum(:group_by) unless block
    groups = {}
    each { |*one| (groups[block.call(*one.__packed)] ||= []) << one.__svalue }
    groups
  end

  def drop_while(&block)
    return to_enum(:drop_while) unless block
    left = nil
    each do |*one|
      # Once an element is kept, the block is not called any more.
      left ||= [] unless left || block.call(*one.__packed)
      left << one.__svalue if left
    end
    left || []
  end

  def filter_map(&block)
    return to_enum(:filter_map) unless block
    found = []
    each do |*one|
      made = block.call(*one)
      found << made if made
    end
    found
  end

  def flat_map(&block)
    return to_enum(:flat_map) unless block
    made = []
    each do |*one|
      list = block.call(*one)
      list = list.to_ary if !list.is_a?(Array) && list.respond_to?(:to_ary)
      list.is_a?(Array) ? made.concat(list) : made << list
    end
    made
  end
  alias collect_concat flat_map

  def tally(counts = {})
    each { |*one| counts[one = one.__svalue] = (counts[one] || 0) + 1 }
    counts
  end

  def sum(start = 0, &block)
    found = []
    each { |*one| found << (block ? block.call(*one.__packed) : one.__svalue) }
    found.sum(start)
  end

  def to_h(&block)
    made = {}
    each do |*one|
      pair = block ? block.call(*one) : one.__svalue
      pair = pair.to_ary if !pair.is_a?(Array) && pair.respond_to?(:to_ary)
      raise TypeError, "wrong element type #{pair.class} (expected array)" unless pair.is_a?(Array)
      raise ArgumentError, "element has wrong array length (expected 2, was #{pair.size})" if pair.size != 2
      made[pair[0]] = pair[1]
    end
    made
  end

  def each_entry(*args, &block)
    return to_enum(:each_entry, *args) unless block
    each(*args) { |*one| block.call(*one.__packed) }
    self
  end

  def inject(*args, &block)
    raise ArgumentError, "wrong number of arguments (given #{args.size}, expected 0..2)" if args.size > 2
    raise ArgumentError, "wrong number of arguments (given 0, expected 1..2)" if args.empty? && !block
    # inject(symbol), inject(initial, symbol), inject { }, inject(initial) { }: with a block a single argument is the
    # initial value.
    name = args.pop unless block && args.size < 2
    named = name.nil? || name.is_a?(Symbol) || name.is_a?(String)
    raise TypeError, "#{name.inspect} is not a symbol nor a string" unless named
    block = ->(one, other) { one.__send__(name, other) } if name
    empty, made = args.empty?, args[0]
    each do |*one|
      made = empty ? one.__svalue : block.call(made, one.__svalue)
      empty = false
    end
    made
  end
  alias reduce inject

  def compact = reject { |one| one.nil? }
end
