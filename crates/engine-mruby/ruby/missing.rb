# Methods that CRuby has and this interpreter has not: calling one says so, and what to do.

module FoolsGold
  # By name alone: a class of the application that has one of these is asked first and never gets here.
  ABSENT_METHODS = %i[
    encode encode! encoding unicode_normalize unicode_normalize! unicode_normalized?
    scrub! crypt sum undump to_c to_r rationalize numerator denominator real
    imaginary imag conj conjugate polar rect rectangular arg angle phase abs2 coerce next_float prev_float swapcase
    ruby2_keywords bsearch subsec tv_sec tv_usec tv_nsec isdst gmtoff chunk chain slice_after slice_before
    compare_by_identity compare_by_identity? deconstruct deconstruct_keys private_constant public_constant
    deprecate_constant const_source_location private_class_method public_class_method autoload? curry original_name
    instance_variable_names refine using callcc set_trace_func
  ].map { |name| [name, true] }.to_h.freeze
end

class BasicObject
  alias __method_missing method_missing

  def method_missing(name, *args, &block)
    if ::FoolsGold::ABSENT_METHODS[name]
      whom = ::FoolsGold.class_of(self)
      ::Kernel.raise ::NoMethodError.new("undefined method '#{name}' for #{whom}: #{::FoolsGold::HINT}", name)
    end
    __method_missing(name, *args, &block)
  end
end

module FoolsGold
  # The class of any object, even of one that answers nothing.
  def self.class_of(object)
    Kernel.instance_method(:class).bind(object).call
  rescue StandardError
    "an object"
  end
end
