# Errors for missing methods: in CRuby's words, and with advice for methods that only CRuby has.

module FoolsGold
  # Methods that CRuby has and this interpreter does not. A class of the application that defines one of these names is
  # not affected.
  ABSENT_METHODS = %i[
    crypt undump subsec tv_sec tv_usec tv_nsec isdst gmtoff callcc set_trace_func
  ].map { |name| [name, true] }.to_h.freeze
end

class BasicObject
  # Raises a NoMethodError, or a NameError where a name without arguments or parentheses may have been meant as a local
  # variable. Before that, loads the library that adds the method, if there is one (library/core/late.rb).
  def method_missing(name, *args, &block)
    return __send__(name, *args, &block) if ::FoolsGold::Late.found?(self, name)
    seen = ::FoolsGold.hidden(self, name)
    hint = ": #{::FoolsGold::HINT}" if !seen && ::FoolsGold::ABSENT_METHODS[name]
    if !seen && args.empty? && ::FoolsGold.named_only
      error = ::NameError.new("undefined local variable or method '#{name}' for #{::FoolsGold.whom(self)}#{hint}", name)
    else
      words = seen ? "#{seen} method '#{name}' called" : "undefined method '#{name}'"
      error = ::NoMethodError.new("#{words} for #{::FoolsGold.whom(self)}#{hint}", name, args)
    end
    error.receiver = self
    error.set_backtrace(::Kernel.__send__(:__caller, 1))
    ::Kernel.raise error
  end
  private :method_missing
end

# The object that is `self` outside of all classes.
FoolsGold::MAIN = self

module FoolsGold
  # The name of an object in error messages, such as "an instance of String".
  def self.whom(object)
    return "main" if MAIN.equal?(object)
    return object.inspect if nil.equal?(object) || true.equal?(object) || false.equal?(object)
    return "class #{object}" if Class === object
    Module === object ? "module #{object}" : "an instance of #{class_of(object)}"
  end

  # The class of any object, even of a BasicObject.
  def self.class_of(object)
    Kernel.instance_method(:class).bind(object).call
  rescue StandardError
    "an object"
  end
end
