# Methods about methods and constants that mruby does not have, and conversions of Kernel. The native part is in
# c/visibility.c, c/autoload.c and c/defined.c.

class Module
  def method_defined?(name, inherit = true)
    found = FoolsGold.visibility(self, name, inherit)
    found == :public || found == :protected
  end

  def public_method_defined?(name, inherit = true)
    FoolsGold.visibility(self, name, inherit) == :public
  end

  def private_method_defined?(name, inherit = true)
    FoolsGold.visibility(self, name, inherit) == :private
  end

  def protected_method_defined?(name, inherit = true)
    FoolsGold.visibility(self, name, inherit) == :protected
  end

  def instance_methods(inherit = true) = FoolsGold.method_names(self, 5, inherit)
  def public_instance_methods(inherit = true) = FoolsGold.method_names(self, 1, inherit)
  def private_instance_methods(inherit = true) = FoolsGold.method_names(self, 2, inherit)
  def protected_instance_methods(inherit = true) = FoolsGold.method_names(self, 4, inherit)

  def public_instance_method(name)
    return instance_method(name) if FoolsGold.visibility(self, name) == :public
    raise NameError.new("undefined method '#{name}' for class '#{self}'", name)
  end

  alias __alias_method alias_method

  # The new name, as in CRuby, for `private alias_method(:new, :old)`.
  def alias_method(name, old)
    __alias_method(name, old)
    name.to_sym
  end

  alias __const_defined? const_defined?

  # The name may be a path such as "A::B".
  def const_defined?(name, inherit = true)
    return __const_defined?(name, inherit) unless name.is_a?(String) && name.include?("::")
    *outer, last = name.delete_prefix("::").split("::", -1)
    owner = outer.inject(name.start_with?("::") ? Object : self) do |place, part|
      return false unless place.__const_defined?(part, inherit)
      inner = place.const_get(part)
      next inner if Module === inner
      raise TypeError, "#{name} does not refer to class/module"
    end
    owner.__const_defined?(last, inherit)
  end

  # There are no private constants.
  def private_constant(*) = nil
  def public_constant(*) = nil
  def deprecate_constant(*) = self

  def const_source_location(name, *)
    const_defined?(name) ? [] : nil
  end

  def autoload(name, path)
    raise ArgumentError, "empty file name" if path.to_s.empty?
    FoolsGold.wait_for(self, name, path.respond_to?(:to_path) ? path.to_path : path)
    const_added(name.to_sym)
    nil
  end

  def autoload?(name, inherit = true)
    (inherit ? ancestors : [self]).each do |place|
      path = FoolsGold.waits_for(place, name)
      return path if path
    end
    nil
  end

  def refine(*)
    raise NotImplementedError, "refine: there are no refinements here. #{FoolsGold::HINT}"
  end
  alias using refine

  # A name until the class or module gets a constant; nil takes it away. The naming is in c/names.c.
  def set_temporary_name(name)
    return __name_for_now(nil) if name.nil?
    name = FoolsGold.string(name)
    raise ArgumentError, "empty class/module name" if name.empty?
    if /\A[A-Z]\w*(?:::[A-Z]\w*)*\z/.match?(name)
      raise ArgumentError, "the temporary name must not be a constant path to avoid confusion"
    end
    __name_for_now(name)
  end

  def instance_variable_names = instance_variables.map(&:to_s)
  private :refine, :using
end

class BasicObject
  private :method_missing, :singleton_method_added
  private :__defined__, :__alias_global__, :__alias_method__, :__undef_method__
end

module Kernel
  alias __clone clone

  def clone(freeze: nil)
    raise ArgumentError, "unexpected value for freeze: #{freeze.class}" unless [nil, true, false].include?(freeze)
    copy = __clone
    return freeze ? copy.freeze : copy unless freeze == false
    raise ArgumentError, "can't unfreeze #{self.class}" if copy.equal?(self)
    FoolsGold.thaw(copy)
  end

  alias __integer Integer

  def Integer(value, base = nil, exception: true)
    if base
      text = String === value || (Kernel === value && value.respond_to?(:to_str))
      raise ArgumentError, "base specified for non string value" unless text
      return __integer(FoolsGold.string(value), base)
    end
    FoolsGold.plain_number?(value) ? __integer(value) : FoolsGold.to_integer(value)
  rescue ArgumentError, TypeError, FloatDomainError
    raise if exception
  end

  alias __float Float

  def Float(value, exception: true)
    unless true == exception || false == exception
      raise ArgumentError, "expected true or false as exception: #{exception.inspect}"
    end
    begin
      return FoolsGold.to_float(value) unless FoolsGold.plain_number?(value)
      return __float(value) unless String === value
      found = FoolsGold::Native.float_of(value) || FoolsGold.hex_float(value)
      return found if found
      has_null = value.include?("\0")
      wrong = has_null ? "string for Float contains null byte" : "invalid value for Float(): #{value.inspect}"
      ::Kernel.raise ArgumentError, wrong
    rescue ArgumentError, TypeError
      raise if exception
    end
  end

  def methods(all = true)
    all ? FoolsGold.method_names(FoolsGold.own_class(self), 5, true) : singleton_methods(false)
  end

  def singleton_methods(all = true) = FoolsGold.singleton_names(self, all)
  def public_methods(all = true) = FoolsGold.own_names(self, 1, all)
  def private_methods(all = true) = FoolsGold.own_names(self, 2, all)
  def protected_methods(all = true) = FoolsGold.own_names(self, 4, all)

  def public_method(name)
    return method(name) if respond_to?(name)
    raise NameError.new("undefined method '#{name}' for an instance of #{self.class}", name)
  end

  # Calls a public method; other names go to method_missing, as in CRuby.
  def public_send(name, *args, **options, &block)
    name = name.to_sym
    return __send__(name, *args, **options, &block) if FoolsGold.visible?(self, name)
    method_missing(name, *args, **options, &block)
  end

  # Calls Module's method through `bind`: a call by name would find this one again when the receiver is Kernel itself.
  def autoload(name, path)
    Module.instance_method(:autoload).bind(Module === self ? self : Object).call(name, path)
  end

  def autoload?(name, inherit = true)
    Module.instance_method(:autoload?).bind(Module === self ? self : Object).call(name, inherit)
  end

  def using(*)
    raise NotImplementedError, "using: there are no refinements here. #{FoolsGold::HINT}"
  end
  private :autoload, :autoload?, :using
end

module FoolsGold
  # Loads the file of an autoload constant; called by c/autoload.c.
  def self.autoloaded(path)
    path.start_with?("foolsgold/") ? Loader.library(path) : Loader.require(path)
  end

  # The class where the lookup of an object's methods begins: its singleton class, which numbers and Symbols do not
  # have.
  def self.own_class(object)
    object.singleton_class
  rescue TypeError
    object.class
  end

  # The names of an object's methods; without `all` those of its singleton class and its class alone.
  def self.own_names(object, kinds, all)
    names = method_names(own_class(object), kinds, all)
    all ? names : names | method_names(object.class, kinds, false)
  end
end
