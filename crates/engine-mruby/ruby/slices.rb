# Methods of Enumerable that cut the elements into slices, repeat them, or combine them with others.

module Enumerable
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

  def __slicer(pattern, block)
    fits = block ? pattern.empty? : pattern.size == 1
    raise ArgumentError, "wrong number of arguments (given #{pattern.size}, expected #{block ? 0 : 1})" unless fits
    block || ->(one) { pattern[0] === one }
  end
end

module FoolsGold
  def self.next_of(list)
    list.next
  rescue StopIteration
    nil
  end

  def self.reserved_key?(key)
    key.is_a?(Symbol) && key.start_with?("_") && key != :_alone && key != :_separator
  end
end
