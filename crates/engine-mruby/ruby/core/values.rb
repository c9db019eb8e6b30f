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

class Array
  alias __rindex rindex

  def rindex(*item, &block)
    return __rindex(*item) unless item.empty?
    return to_enum(:rindex) unless block
    (size - 1).downto(0) { |at| return at if yield(self[at]) }
    nil
  end
end
