# Enumerator::Lazy: each step passes on the elements of the one before it, one at a time.

class Enumerator
  class Lazy < Enumerator
    # Only for Lazy.new by the application; the steps of this class are made by `__made`.
    def initialize(source, size = nil, &block)
      raise ArgumentError, "tried to call lazy new without a block" unless block
      super(size) { |out, *args| source.each(*args) { |*one| block.call(out, *one) } }
      @shown = source.inspect
    end

    def self.__made(size, shown, &block)
      made = allocate
      made.__send__(:__fill, size, shown, block)
      made
    end

    def map(&block)
      demand(block, :map)
      step(:map, -> { size }) { |out| each { |*one| out << block.call(*lazily(one)) } }
    end
    alias collect map

    def flat_map(&block)
      demand(block, :flat_map)
      step(:flat_map) do |out|
        each do |*one|
          list = block.call(*lazily(one))
          spread = list.is_a?(Array) || list.is_a?(Lazy) || (list.respond_to?(:force) && list.respond_to?(:each))
          spread ? list.each { |item| out << item } : out << list
        end
      end
    end
    alias collect_concat flat_map

    def filter_map(&block)
      demand(block, :filter_map)
      step(:filter_map) { |out| each { |*one| (made = block.call(*lazily(one))) && out << made } }
    end

    def select(&block)
      demand(block, :select)
      chosen(:select) { |one| block.call(one) }
    end
    alias filter select
    alias find_all select

    def reject(&block)
      demand(block, :reject)
      chosen(:reject) { |one| !block.call(one) }
    end

    def grep(pattern, &block) = grepped(:grep, true, pattern, block)
    def grep_v(pattern, &block) = grepped(:grep_v, false, pattern, block)
    def compact = chosen(:compact) { |one| !one.nil? }

    def uniq(&block)
      step(:uniq) do |out|
        seen = {}
        each do |*one|
          key = block ? block.call(one.__svalue) : one.__svalue
          next if seen.key?(key)
          seen[key] = true
          out << one.__svalue
        end
      end
    end

    def take_while(&block)
      demand(block, :take_while)
      step(:take_while) { |out| each { |*one| block.call(*lazily(one)) ? out.yield(*one) : break } }
    end

    def drop_while(&block)
      demand(block, :drop_while)
      step(:drop_while) do |out|
        dropping = true
        each { |*one| (dropping &&= block.call(*lazily(one))) || out.yield(*one) }
      end
    end

    def take(count)
      raise ArgumentError, "attempt to take negative size" if count < 0
      step("take(#{count})", -> { (all = size) && [all, count].min }) do |out|
        left = count
        # `take(0)` must not ask the source for an element.
        left == 0 || each do |*one|
          out.yield(*one)
          break if (left -= 1) == 0
        end
      end
    end

    def drop(count)
      raise ArgumentError, "attempt to drop negative size" if count < 0
      step("drop(#{count})", -> { (all = size) && [all - count, 0].max }) do |out|
        left = count
        each { |*one| left == 0 ? out.yield(*one) : left -= 1 }
      end
    end

    # With a block, its result is ignored and the element passed on.
    def with_index(offset = 0, &block)
      offset ||= 0
      step("with_index(#{offset})", -> { size }) do |out|
        at = offset - 1
        each do |*one|
          one = one.__svalue
          at += 1
          block ? block.call(one, at) : one = [one, at]
          out << one
        end
      end
    end

    def each_with_index(&block) = with_index(0, &block)

    def zip(*others, &block)
      return super if block
      step("zip", -> { size }) do |out|
        lists = others.map { |other| other.is_a?(Array) ? other.each : other.to_enum(:each) }
        each { |*one| out << [one.__svalue, *lists.map { |list| FoolsGold.next_of(list) }] }
      end
    end

    %i[chunk slice_when slice_before slice_after chunk_while].each do |name|
      define_method(name) { |*args, &block| super(*args, &block).lazy }
    end

    def chain(*others) = super.lazy
    def +(other) = chain(other)
    def lazy = self
    alias force to_a

    def eager
      source = self
      Enumerator.new(-> { source.size }) { |out| source.each { |*one| out.yield(*one) } }
    end

    def to_enum(method = :each, *args, **options, &block)
      source = self
      shown = method == :each && args.empty? ? "each" : "#{method}(#{args.map(&:inspect).join(", ")})"
      step(shown, block) { |out| source.__send__(method, *args, **options) { |*one| out.yield(*one) } }
    end
    alias enum_for to_enum

    def inspect = "#<Enumerator::Lazy: #{@shown}>"

    private

    def __fill(size, shown, block)
      Enumerator.instance_method(:initialize).bind(self).call(size, &block)
      @shown = shown
    end

    # A new step. Its name, with arguments, is shown by `inspect`.
    def step(name, size = nil, &block) = Lazy.__made(size, "#{inspect}:#{name}", &block)

    # The block's arguments for an element: nil for one without values.
    def lazily(one) = one.empty? ? [nil] : one

    def demand(block, name)
      raise ArgumentError, "tried to call lazy #{name} without a block" unless block
    end

    def chosen(name)
      step(name) { |out| each { |*one| out << one.__svalue if yield(one.__svalue) } }
    end

    def grepped(name, wanted, pattern, block)
      step("#{name}(#{pattern.inspect})") do |out|
        each do |*one|
          one = one.__svalue
          next unless (pattern === one ? true : false) == wanted
          FoolsGold.last_match = $~ if block && wanted && pattern.is_a?(Regexp)
          out << (block ? block.call(one) : one)
        end
      end
    end
  end
end

module Enumerable
  def lazy
    source = self
    count = -> { source.size if source.respond_to?(:size) }
    Enumerator::Lazy.__made(count, inspect) { |out, *args| source.each(*args) { |*one| out.yield(*one) } }
  end
end
