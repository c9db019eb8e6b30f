# Enumerator: its size and keywords, Chain, Product, produce and product.

class Enumerator
  def initialize(size = nil, &block)
    raise ArgumentError, "no block given" unless block
    __of(Generator.new(&block), :each, [], {})
    @size = size
  end

  # Initializes an Enumerator of `to_enum`. The size comes from the block of `to_enum`, or with `own` from
  # FoolsGold::Sizes, since a method of a core class has called it.
  def __of(object, method, args, options, size = nil, own = nil)
    @obj, @meth, @args, @kwd, @size, @own = object, method, args, options, size, own
    # The state that mruby's own `next` and `peek` use.
    @fib = @dst = @lookahead = @feedvalue = nil
    @stop_exc = false
    self
  end

  def size
    return FoolsGold::Sizes.of(@obj, @meth, @args) if @own
    @size.respond_to?(:call) ? @size.call(*@args) : @size
  end

  def with_object(object, &block)
    return to_enum(:with_object, object) unless block
    __enumerator_block_call { |*one| block.call(one.__svalue, object) }
    object
  end
  alias each_with_object with_object

  def +(other) = Chain.new(self, other)

  def inspect
    args = @args.map(&:inspect) + @kwd.map { |name, value| "#{name}: #{value.inspect}" }
    "#<#{self.class}: #{@obj.inspect}:#{@meth}#{"(#{args.join(", ")})" unless args.empty?}>"
  end

  class Yielder
    def yield(...) = @proc.call(...)

    def <<(one)
      @proc.call(one)
      self
    end

    def to_proc
      out = self
      ->(*args) { out.yield(*args) }
    end
  end

  # Several sources, one after the other.
  class Chain < Enumerator
    def initialize(*parts)
      __of(self, :each, [], {})
      @parts = parts
    end

    def each(*args, &block)
      return self unless block
      @parts.each { |part| part.each(*args, &block) }
      self
    end

    def size
      @parts.inject(0) do |sum, part|
        more = part.size
        return more if more.nil? || more == Float::INFINITY
        sum + more
      end
    end

    def rewind
      @parts.reverse_each { |part| part.rewind if part.respond_to?(:rewind) }
      @fib = @lookahead = nil
      @stop_exc = false
      self
    end

    def inspect = "#<Enumerator::Chain: #{@parts.inspect}>"
  end

  # The Cartesian product of several sources.
  class Product < Enumerator
    def initialize(*parts)
      __of(self, :each, [], {})
      @parts = parts
    end

    def each(&block)
      return self unless block
      combine([], block)
      self
    end

    def size = @parts.map(&:size).inject(1) { |product, more| more && product && product * more }
    def rewind = self
    def inspect = "#<Enumerator::Product: #{@parts.inspect}>"

    private

    def combine(row, block)
      return block.call(row) if row.size == @parts.size
      @parts[row.size].each_entry { |one| combine(row + [one], block) }
    end
  end

  def self.produce(first = NONE, &block)
    raise ArgumentError, "no block given" unless block
    new(Float::INFINITY) do |out|
      one = first
      loop do
        one = block.call if NONE.equal?(one)
        out << one
        one = block.call(one)
      end
    end
  end

  def self.product(*parts, &block)
    made = Product.new(*parts)
    block ? made.each(&block) : made
  end
end

module Kernel
  def to_enum(method = :each, *args, **options, &size)
    own = !size && FoolsGold.called_by?(method)
    Enumerator.allocate.__of(self, method, args, options, size, own)
  end
  alias enum_for to_enum
end

module Enumerable
  def chain(*others) = Enumerator::Chain.new(self, *others)

  # Loads Enumerator::Lazy, which redefines this method.
  def lazy
    FoolsGold::Loader.library("foolsgold/lazy")
    lazy
  end
end
