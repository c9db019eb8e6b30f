# Where methods of mruby's own answer otherwise than CRuby's: what is small and belongs to no other file.

class Regexp
  # Nothing of one can be changed.
  def dup = self
  def clone(freeze: nil) = self
end

class Exception
  def ==(other)
    equal?(other) || (other.class == self.class && other.message == message && other.backtrace == backtrace)
  end
end

[Integer, Float].each do |kind|
  kind.class_eval do
    alias __step step

    def step(limit = nil, step = nil, by: step, to: limit, &block)
      by ? __step(to, by, &block) : __step(to, &block)
    end
  end
end

class Array
  alias __rindex rindex

  def rindex(*item, &block)
    return __rindex(*item) unless item.empty?
    return to_enum(:rindex) unless block
    (size - 1).downto(0) { |at| return at if yield(self[at]) }
    nil
  end
end
