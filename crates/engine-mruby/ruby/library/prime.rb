# Prime: the primes in order, a primality test, and prime factors. Primes are found in Rust (ruby-stdlib/src/prime.rs),
# a range at a time, and kept.

class Prime
  include Enumerable

  # Numbers in a range of the sieve.
  STRETCH = 1 << 16

  class << self
    include Enumerable

    def instance = @instance ||= allocate
    private :new

    %i[each prime? include? first take lazy prime_division int_from_prime_division].each do |name|
      define_method(name) { |*args, &block| instance.__send__(name, *args, &block) }
    end

    # The prime with an index, from 0.
    def at(place)
      grow while @known.size <= place
      @known[place]
    end

    def known(count)
      grow while @known.size < count
      @known.first(count)
    end

    private

    def grow
      upto = @upto + STRETCH
      @known.concat(FoolsGold::Native.primes(@upto, upto))
      @upto = upto
    end
  end
  @known = []
  @upto = 0

  # Passes all primes, or those up to a bound, to the block; without a block, returns a generator.
  def each(bound = nil, generator = EratosthenesGenerator.new, &block)
    generator.upper_bound = bound
    generator.each(&block)
  end

  def first(count = nil) = count ? take(count) : Prime.at(0)
  def take(count)
    raise ArgumentError, "attempt to take negative size" if count < 0
    Prime.known(count)
  end

  def lazy = each.lazy
  def include?(object)
    object.is_a?(Module) ? Prime.ancestors.include?(object) : object.is_a?(Integer) && prime?(object)
  end

  def prime?(value, _generator = nil)
    raise ArgumentError, "Expected an integer, got #{value}" unless value.respond_to?(:integer?) && value.integer?
    value.prime?
  end

  # The prime factors as [[prime, exponent], …]; those of a negative number begin with [-1, 1].
  def prime_division(value, generator = EratosthenesGenerator.new)
    raise ZeroDivisionError, "divided by 0" if value == 0
    found = value < 0 ? [[-1, 1]] : []
    value = value.abs
    generator.rewind
    generator.each do |prime|
      count = 0
      while value % prime == 0
        value = value.div(prime)
        count += 1
      end
      found << [prime, count] if count > 0
      break if value.div(prime) <= prime
      # The rest is most often a prime by now, which the test shows quickly.
      break if count > 0 && value.prime?
    end
    found << [value, 1] if value > 1
    found
  end

  def int_from_prime_division(pairs) = pairs.inject(1) { |product, (prime, exponent)| product * prime**exponent }

  # A generator of numbers that include all primes.
  class PseudoPrimeGenerator
    include Enumerable

    attr_accessor :upper_bound

    def initialize(bound = nil)
      @upper_bound = bound
      @place = -1
    end

    def succ = Prime.at(@place += 1)
    alias next succ

    def rewind
      @place = -1
      nil
    end

    def each
      return self unless block_given?
      last = nil
      if upper_bound
        while (prime = succ) <= upper_bound
          last = yield(prime)
        end
        return last
      end
      loop { last = yield(succ) }
    end

    def size = Float::INFINITY
    def lazy = Enumerator.new { |out| self.class.new(upper_bound).each { |prime| out << prime } }.lazy

    def with_index(offset = 0)
      return enum_for(:with_index, offset) unless block_given?
      each { |prime| yield(prime, offset).tap { offset += 1 } }
    end

    def with_object(object)
      return enum_for(:with_object, object) unless block_given?
      each { |prime| yield(prime, object) }
      object
    end
  end

  EratosthenesGenerator = Class.new(PseudoPrimeGenerator)
  TrialDivisionGenerator = Class.new(PseudoPrimeGenerator)
  Generator23 = Class.new(PseudoPrimeGenerator)
end

class Integer
  def self.each_prime(bound, &block) = Prime.each(bound, &block)
  def self.from_prime_division(pairs) = Prime.int_from_prime_division(pairs)

  def prime?
    return false if self < 2
    return FoolsGold::Native.prime?(self) if bit_length < 64
    Prime.each(Integer.sqrt(self)) { |prime| return false if self % prime == 0 }
    true
  end

  def prime_division(generator = Prime::EratosthenesGenerator.new) = Prime.prime_division(self, generator)
end
