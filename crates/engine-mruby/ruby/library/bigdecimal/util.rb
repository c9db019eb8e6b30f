# The method to_d of numbers, texts and nil.

require "bigdecimal"

class Integer
  def to_d = BigDecimal(self)
end

class Float
  def to_d(digits = 0) = BigDecimal(self, digits)
end

class Rational
  def to_d(digits) = BigDecimal(self, digits)
end

class Complex
  def to_d(*digits) = BigDecimal(self, *digits)
end

class String
  def to_d = BigDecimal.interpret_loosely(self)
end

class NilClass
  def to_d = BigDecimal(0)
end
