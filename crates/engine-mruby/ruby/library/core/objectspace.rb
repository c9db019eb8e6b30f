# ObjectSpace with WeakMap and WeakKeyMap only, whose references are strong, as in a Hash. Objects cannot be listed.

module ObjectSpace
  class WeakMap
    include Enumerable

    def initialize
      @held = {}.compare_by_identity
    end

    def [](key) = @held[key]
    def []=(key, value)
      @held[key] = value
    end

    def key?(key) = @held.key?(key)
    alias include? key?
    alias member? key?

    def delete(key, &block) = @held.delete(key, &block)
    def keys = @held.keys
    def values = @held.values
    def size = @held.size
    alias length size

    def each(&block)
      @held.each(&block)
      self
    end
    alias each_pair each

    def inspect = "#<#{self.class}: #{size} pairs>"
  end

  class WeakKeyMap < WeakMap
    def initialize
      @held = {}
    end

    def getkey(key) = @held.keys.find { |one| one.eql?(key) }
  end

  def self.garbage_collect(**) = GC.start

  # Finalizers are accepted and never called.
  def self.define_finalizer(_object, finalizer = nil, &block) = [0, finalizer || block]
  def self.undefine_finalizer(object) = object
end
