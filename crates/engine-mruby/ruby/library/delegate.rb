# Delegator, SimpleDelegator and DelegateClass: objects that pass on to another what they do not know themselves.

class Delegator < BasicObject
  include ::Kernel

  # What an object has by itself is passed on too, but for what it needs to live.
  ::Kernel.instance_methods.each do |name|
    next if %i[
      class dup clone initialize_clone initialize_dup method_missing object_id __id__ __send__ send public_send
      respond_to? respond_to_missing? is_a? kind_of? instance_variable_get instance_variable_set instance_variables
      instance_variable_defined? instance_of? extend singleton_class define_singleton_method raise block_given? loop
      lambda proc freeze tap then methods method itself __method__ __class__
    ].include?(name)
    undef_method(name)
  end

  def initialize(object)
    __setobj__(object)
  end

  def method_missing(name, *args, **options, &block)
    target = __getobj__
    return target.__send__(name, *args, **options, &block) if target.respond_to?(name)
    super
  end

  def respond_to_missing?(name, include_private)
    __getobj__.respond_to?(name, include_private)
  end

  def ==(other) = other.equal?(self) || __getobj__ == other
  def !=(other) = !(self == other)
  def eql?(other) = other.equal?(self) || __getobj__.eql?(other)
  def ! = !__getobj__
  def methods(all = true) = __getobj__.methods(all) | super
end

class SimpleDelegator < Delegator
  def __getobj__ = @delegate_sd_obj

  def __setobj__(object)
    @delegate_sd_obj = object
  end
end

def DelegateClass(superclass, &block)
  made = Class.new(Delegator)
  names = superclass.public_instance_methods - Delegator.public_instance_methods - %i[to_s inspect hash ! == !=]
  made.class_eval do
    def __getobj__ = @delegate_dc_obj

    def __setobj__(object)
      @delegate_dc_obj = object
    end
    names.each do |name|
      define_method(name) { |*args, **options, &given| __getobj__.__send__(name, *args, **options, &given) }
    end
  end
  made.class_eval(&block) if block
  made
end
