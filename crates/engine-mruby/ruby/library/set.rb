# Set, where mruby's own is not CRuby's.

Set = FoolsGold::PLAIN_SET

class Set
  # From here on it is known by its name alone.
  FoolsGold.__send__(:remove_const, :PLAIN_SET)

  def merge(*others)
    others.each { |other| __do_with_enum(other) { |one| add(one) } }
    self
  end

  # What is given as several values is one element.
  def __do_with_enum(other, &block)
    wrong!(other) unless other.respond_to?(:each)
    other.is_a?(Array) ? other.each(&block) : other.each { |*one| block.call(*one.__packed) }
  end
  private :__do_with_enum

  def ^(other)
    made = Set.new(other)
    each { |one| made.add?(one) || made.delete(one) }
    made
  end

  def intersect?(other)
    wrong!(other) unless other.is_a?(Enumerable)
    other.any? { |one| include?(one) }
  end

  def disjoint?(other) = !intersect?(other)

  def freeze
    @hash.freeze
    super
  end

  def compare_by_identity
    raise "compare_by_identity on a set with elements" unless @hash.is_a?(Hash)
    kept = to_a
    @hash = {}.compare_by_identity
    kept.each { |one| add(one) }
    self
  end

  def compare_by_identity? = @hash.compare_by_identity?

  def reset
    kept = to_a
    @hash.clear
    kept.each { |one| add(one) }
    self
  end

  private

  def wrong!(_other) = raise(ArgumentError, "value must be enumerable")
end
