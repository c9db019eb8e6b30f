# Singleton: a class with one instance, made when first asked for.

module Singleton
  module ClassMethods
    def instance = @singleton__instance__ ||= new

    def inherited(subclass)
      super
      subclass.instance_variable_set(:@singleton__instance__, nil)
    end
  end

  def self.included(base)
    super
    base.extend(ClassMethods)
    base.private_class_method(:new, :allocate)
  end

  def clone
    raise TypeError, "can't clone instance of singleton #{self.class}"
  end

  def dup
    raise TypeError, "can't dup instance of singleton #{self.class}"
  end
end
