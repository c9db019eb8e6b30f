# Struct as in CRuby: with keyword_init, and with the methods that mruby's own does not have.

class Struct
  class << self
    def new(*names, keyword_init: nil, &block)
      name = names.shift if names.first.is_a?(String)
      raise ArgumentError, "wrong number of arguments (given 0, expected 1+)" if names.empty? && !name && !block
      wrong = names.find { |one| !one.respond_to?(:to_sym) }
      raise TypeError, "#{wrong.inspect} is not a symbol nor a string" if wrong
      names = names.map(&:to_sym)
      twice = names.find { |one| names.count(one) > 1 }
      raise ArgumentError, "duplicate member: #{twice}" if twice
      made = name ? __define(name, *names) : __define(*names)
      # mruby's own is written in C, where a Hash and keywords look the same.
      made.define_singleton_method(:new, Class.instance_method(:new).bind(made))
      made.define_singleton_method(:[]) { |*values, **named| new(*values, **named) }
      made.define_singleton_method(:keyword_init?) { keyword_init }
      # Not from the object's class: a member may be called `class`.
      made.define_method(:__keyword_init) { keyword_init }
      made.define_singleton_method(:inspect) { "#{super()}(keyword_init: true)" } if keyword_init
      made.class_eval(&block) if block
      made
    end
  end

  alias __initialize initialize

  def initialize(*values, **named)
    wanted = __keyword_init
    raise ArgumentError, "struct size differs" if values.size > members.size
    return __initialize(*values) if named.empty? && !wanted
    # Without keyword_init, keywords beside values are a Hash as the last value; alone, they are the members.
    return __initialize(*values, named) if wanted == false || (!values.empty? && !wanted)
    named = values.shift if wanted && named.empty? && values.size == 1 && values[0].is_a?(Hash)
    unless values.empty?
      raise ArgumentError, "wrong number of arguments (given #{values.size}, expected 0)"
    end
    unknown = named.keys - members
    raise ArgumentError, "unknown keywords: #{unknown.join(', ')}" unless unknown.empty?
    __initialize(*members.map { |name| named[name] })
  end

  def to_h(&block) = block ? members.zip(to_a).to_h { |name, value| block.call(name, value) } : members.zip(to_a).to_h
  alias deconstruct to_a

  def deconstruct_keys(keys)
    return to_h if keys.nil?
    raise TypeError, "wrong argument type #{keys.class} (expected Array or nil)" unless keys.is_a?(Array)
    found = {}
    return found if keys.size > size
    keys.each do |key|
      # Pattern matching asks for keys in order; the first unknown one ends the answer, as in CRuby.
      found[key] = self[String === key || Symbol === key ? key : FoolsGold.integer(key)]
    rescue NameError, IndexError
      break
    end
    found
  end

  def dig(name, *rest)
    value = begin
      self[name]
    rescue NameError, IndexError
      nil
    end
    rest.empty? || value.nil? ? value : value.dig(*rest)
  end

  def each_pair(&block)
    return to_enum(:each_pair) unless block
    members.each { |name| yield [name, self[name]] }
    self
  end

  def each(&block)
    return to_enum(:each) unless block
    to_a.each(&block)
    self
  end

  def select(&block) = block ? to_a.select(&block) : to_enum(:select)
  alias filter select
  def values_at(*places)
    places.each { |place| self[place] unless place.is_a?(Range) }
    to_a.values_at(*places)
  end

  def hash = [FoolsGold.class_of(self), to_a].hash

  def inspect
    name = FoolsGold.class_of(self).name
    return "#<struct #{name ? "#{name}:" : ''}...>" if __inspect_recursive?
    fields = members.map { |member| "#{member}=#{self[member].inspect}" }
    "#<struct #{name ? "#{name} " : ''}#{fields.join(', ')}>"
  end
  alias to_s inspect
end
