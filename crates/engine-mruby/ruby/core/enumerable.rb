# Methods of Enumerable for sources that yield several values at once, of which mruby's own methods lose all but the
# first. Most methods pass such an element to the block as an Array (`__packed`); `map` and similar ones pass the
# values.

module FoolsGold
  # The result of `<=>` or of the block of a comparison; an ArgumentError for nil.
  def self.compare(one, other, block = nil)
    order = block ? block.call(one, other) : one <=> other
    return order if order
    inspected = nil.equal?(other) || true.equal?(other) || false.equal?(other) || Numeric === other || Symbol === other
    shown = inspected ? other.inspect : other.class
    raise ArgumentError, "comparison of #{one.class} with #{shown} failed"
  end

  def self.next_of(list)
    list.next
  rescue StopIteration
    nil
  end

  def self.reserved_key?(key)
    key.is_a?(Symbol) && key.start_with?("_") && key != :_alone && key != :_separator
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

  # An item is found where it is, even a NaN, which does not equal itself.
  def include?(item)
    each { |*one| return true if (one = one.__svalue) == item || one.equal?(item) }
    false
  end
  alias member? include?

  alias __find_index find_index

  def find_index(*item, &block)
    return __find_index(*item, &block) if item.size != 1 || NONE.equal?(item[0])
    at = -1
    each do |*one|
      at += 1
      return at if (one = one.__svalue) == item[0] || one.equal?(item[0])
    end
    nil
  end

  alias __count count

  def count(*item, &block)
    return __count(*item, &block) unless item.size == 1
    found = 0
    each { |*one| found += 1 if (one = one.__svalue) == item[0] || one.equal?(item[0]) }
    found
  end

  def compact = reject { |one| one.nil? }

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

  def each_slice(size, &block)
    raise ArgumentError, "invalid slice size" if (size = size.__to_int) <= 0
    return to_enum(:each_slice, size) unless block
    part = []
    each do |*one|
      part << one.__svalue
      next if part.size < size
      # The next slice begins before the block runs, which may leave by `break`.
      full, part = part, []
      block.call(full)
    end
    block.call(part) unless part.empty?
    self
  end

  def cycle(times = nil, &block)
    return to_enum(:cycle, *times) unless block
    return if !times.nil? && (times = FoolsGold.integer(times)) <= 0
    kept = []
    each do |*one|
      kept << one
      block.call(*one.__packed)
    end
    return if kept.empty?
    kept.each { |one| block.call(*one.__packed) } while times.nil? || (times -= 1) > 0
  end

  # Arrays are read by index, all others by an Enumerator.
  def zip(*others, &block)
    lists = others.map do |other|
      next other.to_ary if other.respond_to?(:to_ary)
      next other.to_enum(:each) if other.respond_to?(:each)
      raise TypeError, "wrong argument type #{other.class} (must respond to :each)"
    end
    at, made = -1, []
    each do |*one|
      at += 1
      row = [one.__svalue]
      lists.each { |list| row << (list.is_a?(Array) ? list[at] : FoolsGold.next_of(list)) }
      block ? block.call(row) : made << row
    end
    block ? nil : made
  end

  def each_cons(size, &block)
    raise ArgumentError, "invalid size" if (size = size.__to_int) <= 0
    return to_enum(:each_cons, size) unless block
    part = []
    each do |*one|
      # Not sliced from an Array: the source may be endless.
      part.shift if part.size == size
      part << one.__svalue
      block.call(part.dup) if part.size == size
    end
    self
  end

  # The keys nil and :_separator drop an element, :_alone puts it into a chunk of its own, as in CRuby.
  def chunk(&block)
    return to_enum(:chunk) unless block
    Enumerator.new do |out|
      key, part = nil
      each do |*one|
        found = block.call(one = one.__svalue)
        raise "symbols beginning with an underscore are reserved" if FoolsGold.reserved_key?(found)
        drop = found.nil? || found == :_separator
        if part && (drop || key == :_alone || found != key)
          out.yield([key, part])
          part = nil
        end
        next if drop
        part ? part << one : part = [one]
        key = found
      end
      out.yield([key, part]) if part
    end
  end

  def slice_when(&block)
    raise ArgumentError, "tried to create Proc object without a block" unless block
    Enumerator.new do |out|
      part, last = nil
      each do |*one|
        one = one.__svalue
        out.yield(part) if (cut = part && block.call(last, one))
        cut || part.nil? ? part = [one] : part << one
        last = one
      end
      out.yield(part) if part
    end
  end

  def chunk_while(&block)
    raise ArgumentError, "tried to create Proc object without a block" unless block
    slice_when { |left, right| !block.call(left, right) }
  end

  def slice_before(*pattern, &block)
    test = __slicer(pattern, block)
    Enumerator.new do |out|
      part = nil
      each do |*one|
        one = one.__svalue
        out.yield(part) if (cut = test.call(one)) && part
        cut || part.nil? ? part = [one] : part << one
      end
      out.yield(part) if part
    end
  end

  def slice_after(*pattern, &block)
    test = __slicer(pattern, block)
    Enumerator.new do |out|
      part = []
      each do |*one|
        part << one.__svalue
        next unless test.call(part.last)
        full, part = part, []
        out.yield(full)
      end
      out.yield(part) unless part.empty?
    end
  end

  private

  def __keyed(block)
    at = -1
    each { |*one| yield(one.__svalue, block.call(*one.__packed), at += 1) }
  end

  def __slicer(pattern, block)
    fits = block ? pattern.empty? : pattern.size == 1
    raise ArgumentError, "wrong number of arguments (given #{pattern.size}, expected #{block ? 0 : 1})" unless fits
    block || ->(one) { pattern[0] === one }
  end
end

class Array
  # Without a block, the element found so far is asked, as in CRuby.
  def max(count = nil, &block)
    return super if count || block
    found, at = self[0], 0
    while (at += 1) < size
      one = self[at]
      found = one if FoolsGold.compare(found, one) < 0
    end
    found
  end

  def min(count = nil, &block)
    return super if count || block
    found, at = self[0], 0
    while (at += 1) < size
      one = self[at]
      found = one if FoolsGold.compare(found, one) > 0
    end
    found
  end
end
