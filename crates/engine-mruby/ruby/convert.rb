# Objects that stand for an Array by their `to_ary`.

module FoolsGold
  # Of a class made from Array it is the plain one that mruby's own methods take.
  def self.array(object)
    return object if object.instance_of?(Array)
    return [*object] if object.is_a?(Array)
    return object.to_ary if object.respond_to?(:to_ary)
    raise TypeError, "no implicit conversion of #{object.nil? ? "nil" : object.class} into Array"
  end

  # Puts into `made` what is in the list and, as deep as asked for, in its lists.
  def self.flatten(list, depth, made, outer)
    raise ArgumentError, "tried to flatten recursive array" if outer.any? { |one| one.equal?(list) }
    outer.push(list)
    list.each do |one|
      part = one if Array === one
      part ||= one.to_ary if Kernel === one && one.respond_to?(:to_ary)
      part && depth != 0 ? flatten(part, depth - 1, made, outer) : made << one
    end
    outer.pop
    made
  end
end

class Array
  alias __minus -
  alias __union |
  alias __both &

  def -(other) = __minus(FoolsGold.array(other))
  def flatten(depth = nil) = FoolsGold.flatten(self, depth ? depth.to_int : -1, [], [])

  def flatten!(depth = nil)
    return if depth == 0 || none? { |one| Array === one || (Kernel === one && one.respond_to?(:to_ary)) }
    replace(flatten(depth))
  end

  def |(other) = __union(FoolsGold.array(other))
  def &(other) = __both(FoolsGold.array(other))
end
