# Methods that CRuby has and this interpreter has not: calling one says so, and what to do.

module FoolsGold
  # By name alone: a class of the application that has one of these is asked first and never gets here.
  ABSENT_METHODS = %i[
    crypt undump subsec tv_sec tv_usec tv_nsec isdst gmtoff callcc set_trace_func
  ].map { |name| [name, true] }.to_h.freeze
end

class BasicObject
  # A name without arguments or parentheses may have been meant as a local variable.
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
    error.set_backtrace(::Kernel.caller(1))
    ::Kernel.raise error
  end
  private :method_missing
end

module FoolsGold
  # An object as error messages name it.
  def self.whom(object)
    return object.inspect if nil.equal?(object) || true.equal?(object) || false.equal?(object)
    return "class #{object}" if Class === object
    Module === object ? "module #{object}" : "an instance of #{class_of(object)}"
  end

  # The class of any object, even of one that answers nothing.
  def self.class_of(object)
    Kernel.instance_method(:class).bind(object).call
  rescue StandardError
    "an object"
  end
end
