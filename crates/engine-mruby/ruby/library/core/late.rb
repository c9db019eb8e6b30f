# Methods of numbers and texts that a library adds. The library is loaded when one of them is first called, from
# method_missing.

module FoolsGold
  module Late
    LIBRARIES = {
      "foolsgold/rational" => %i[Rational to_r rationalize numerator denominator],
      "foolsgold/complex" => %i[
        Complex to_c real real? imaginary imag conj conjugate polar rect rectangular arg angle phase abs2 i
        __complex_power
      ],
      "foolsgold/encoding" => %i[unicode_normalize! unicode_normalized?]
    }.flat_map { |library, names| names.map { |name| [name, library] } }.to_h.freeze

    # The result of a number's operator `name` with another object, by that object's `coerce`; a TypeError unless it is
    # `able` to coerce numbers.
    def self.coerced(number, name, other, able)
      raise TypeError, "#{FoolsGold.named(other)} can't be coerced into #{number.class}" unless able
      one, two = other.coerce(number)
      one.__send__(name, two)
    end

    # Loads the library of a missing method. Returns whether it did, so that method_missing calls the method again.
    def self.found?(object, name)
      library = LIBRARIES[name]
      return false if library.nil? || Loader::LIBRARIES[library]
      is_function = name == :Rational || name == :Complex
      return false unless is_function || Numeric === object || String === object || nil.equal?(object)
      Loader.library(library)
      true
    end
  end
end
