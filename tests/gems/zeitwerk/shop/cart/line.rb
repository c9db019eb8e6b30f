# A class two folders down.

class Shop::Cart::Line
  attr_reader :price

  def initialize(price) = @price = price
end
