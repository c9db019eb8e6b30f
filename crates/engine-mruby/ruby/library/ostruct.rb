# OpenStruct: an object with whatever attributes it is given.

class OpenStruct
  def initialize(hash = nil)
    @table = {}
    hash&.each { |key, value| @table[key.to_sym] = value }
  end

  def [](name) = @table[name.to_sym]

  def []=(name, value)
    raise FrozenError, "can't modify frozen OpenStruct" if frozen?
    @table[name.to_sym] = value
  end

  def to_h(&block) = block ? @table.to_h(&block) : @table.dup
  def each_pair(&block) = block ? (@table.each_pair(&block); self) : @table.each_pair
  def dig(name, *rest) = @table.dig(name.to_sym, *rest)
  def ==(other) = other.is_a?(OpenStruct) && to_h == other.to_h
  def eql?(other) = self == other
  def hash = @table.hash

  def delete_field(name, &block)
    name = name.to_sym
    return @table.delete(name) if @table.key?(name)
    return yield if block
    raise NameError.new("no field '#{name}' in #{inspect}", name)
  end

  def respond_to_missing?(name, include_private = false)
    @table.key?(name.to_s.delete_suffix("=").to_sym) || super
  end

  def method_missing(name, *args)
    text = name.to_s
    return self[text[0...-1]] = args.first if text.end_with?("=") && args.size == 1
    args.empty? ? @table[name] : super
  end

  def inspect
    "#<#{self.class}#{@table.map { |key, value| " #{key}=#{value.inspect}" }.join(',')}>"
  end
  alias to_s inspect

  def initialize_copy(other)
    super
    @table = @table.dup
  end
end
