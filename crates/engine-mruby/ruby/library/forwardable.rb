# Forwardable: methods that pass on to an instance variable or to what another method gives.

module Forwardable
  VERSION = "1.3.3".freeze

  def instance_delegate(hash)
    hash.each do |methods, accessor|
      (methods.respond_to?(:each) ? methods.to_a : [methods]).each { |name| def_instance_delegator(accessor, name) }
    end
  end
  alias delegate instance_delegate

  def def_instance_delegators(accessor, *methods)
    methods.each do |name|
      next if %w[__send__ __id__].include?(name.to_s)
      def_instance_delegator(accessor, name)
    end
  end
  alias def_delegators def_instance_delegators

  def def_instance_delegator(accessor, method, ali = method)
    FoolsGold.forward(is_a?(Module) ? self : singleton_class, accessor.to_s, method.to_sym, ali.to_sym)
  end
  alias def_delegator def_instance_delegator
end

module SingleForwardable
  def def_single_delegator(accessor, method, ali = method)
    FoolsGold.forward(singleton_class, accessor.to_s, method.to_sym, ali.to_sym)
  end
  alias def_delegator def_single_delegator

  def def_single_delegators(accessor, *methods)
    methods.each { |name| def_single_delegator(accessor, name) }
  end
  alias def_delegators def_single_delegators

  def single_delegate(hash)
    hash.each do |methods, accessor|
      (methods.respond_to?(:each) ? methods.to_a : [methods]).each { |name| def_single_delegator(accessor, name) }
    end
  end
  alias delegate single_delegate
end

module FoolsGold
  # An accessor is an instance variable, a method, or any other expression, which is evaluated in the object.
  def self.forward(klass, accessor, method, ali)
    expression = accessor.include?(".") || accessor.include?("(") || accessor.include?("[") || accessor.include?(":")
    klass.class_eval do
      define_method(ali) do |*args, **options, &block|
        target = if accessor.start_with?("@@") then self.class.class_variable_get(accessor)
                 elsif accessor.start_with?("@") then instance_variable_get(accessor)
                 elsif expression || (accessor[0] >= "A" && accessor[0] <= "Z") then instance_eval(accessor)
                 else __send__(accessor)
                 end
        target.__send__(method, *args, **options, &block)
      end
    end
    ali
  end
end
