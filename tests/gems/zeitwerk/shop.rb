# What zeitwerk.ru loads by name: the outer module.

module Shop
  def self.greeting = "Come in"
end
