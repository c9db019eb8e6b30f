# Small corrections of mruby's own methods that belong to no other file.

class Regexp
  # A Regexp is immutable, so a copy would be equal in every way.
  def dup = self
  def clone(freeze: nil) = self
end

class Exception
  def ==(other)
    equal?(other) || (other.class == self.class && other.message == message && other.backtrace == backtrace)
  end
end

# In CRuby, Array and Hash have their own versions of these methods, which do not call the `each` of a subclass.
class Array
  %i[
    all? any? none? one? map count drop drop_while minmax reject select take take_while zip
  ].each { |name| define_method(name, Enumerable.instance_method(name)) }
  alias collect map
  alias filter select
  alias find_index index

  def include?(item) = !__ary_index(item).nil?

  # Ends when the block has emptied the Array.
  def cycle(times = nil, &block)
    return to_enum(:cycle, *times) unless block
    times = FoolsGold.integer(times) unless times.nil?
    each(&block) until empty? || (times && (times -= 1) < 0)
    nil
  end
end

class Hash
  define_method(:any?, Enumerable.instance_method(:any?))
  define_method(:to_a, Enumerable.instance_method(:entries))

  # As in CRuby, a lambda that wants two values gets a key and its value, also one of a method.
  def map(&block)
    return super unless block && block.lambda? && (block.arity > 1 || block.arity < -2)
    super() { |pair| block.call(*pair) }
  end
  alias collect map
end

module FoolsGold
  # Whether the value is a number of another class than Integer and Float, such as a Rational: it cannot leave the
  # interpreter as it is.
  def self.number_object?(value) = Numeric === value && !(Integer === value) && !(Float === value)
end

class String
  alias __unpack unpack

  # With a block, which gets the values, returns nil.
  def unpack(form, **options, &block)
    found = options.empty? ? __unpack(form) : __unpack(form, **options)
    block ? found.each(&block) && nil : found
  end
end

class Array
  alias __pack pack

  # Packs the values, at the end of `buffer` where one is given.
  def pack(form, buffer: nil)
    return __pack(form) if nil.equal?(buffer)
    raise TypeError, "buffer must be String, not #{buffer.class}" unless String === buffer
    made = __pack(form, buffer)
    made.force_encoding(buffer.encoding) unless form.start_with?("U")
    buffer.replace(made)
  rescue TypeError
    raise unless any? { |one| FoolsGold.number_object?(one) }
    plain = map do |one|
      next one unless FoolsGold.number_object?(one)
      number = one.to_f
      number.finite? && one == one.to_i ? one.to_i : number
    end
    plain.pack(form, buffer: buffer)
  end

  alias __rindex rindex
  alias __sort! sort!

  # A copy is sorted: the Array stays as it is where the block leaves by an exception or `break`.
  def sort(&block) = [*self].__sort!(&block)

  # Also where no item would move.
  def sort!(&block)
    FoolsGold.refuse_change(self) if frozen?
    replace(sort(&block))
  end

  def intersect?(other) = !(self & other).empty?

  alias __insert insert

  def insert(at, *items)
    at = FoolsGold.integer(at)
    if at < -size - 1 && !items.empty?
      raise IndexError, "index #{at} too small for array; minimum: -#{size + 1}"
    end
    __insert(at, *items)
  end

  def transpose
    rows = map { |row| FoolsGold.array(row) }
    return [] if rows.empty?
    width = rows[0].size
    wrong = rows.find { |row| row.size != width }
    raise IndexError, "element size differs (#{wrong.size} should be #{width})" if wrong
    Array.new(width) { |column| rows.map { |row| row[column] } }
  end

  def to_h
    made = {}
    each_with_index do |item, at|
      pair = block_given? ? yield(item) : item
      pair = pair.to_ary if !(Array === pair) && pair.respond_to?(:to_ary)
      raise TypeError, "wrong element type #{pair.class} at #{at} (expected array)" unless Array === pair
      raise ArgumentError, "wrong array length at #{at} (expected 2, was #{pair.size})" unless pair.size == 2
      made[pair[0]] = pair[1]
    end
    made
  end

  def rindex(*item, &block)
    return __rindex(*item) unless item.empty?
    return to_enum(:rindex) unless block
    at = size
    while (at -= 1) >= 0
      return at if yield(self[at])
      at = size if at > size
    end
    nil
  end
end
