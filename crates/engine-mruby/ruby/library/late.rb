# Methods of numbers and texts that come with a library, which is loaded when one of them is first called.

module FoolsGold
  module Late
    LIBRARIES = {
      "foolsgold/rational" => %i[Rational to_r rationalize numerator denominator],
      "foolsgold/complex" => %i[
        Complex to_c real real? imaginary imag conj conjugate polar rect rectangular arg angle phase abs2 i
      ],
      "foolsgold/encoding" => %i[unicode_normalize! unicode_normalized?]
    }.flat_map { |library, names| names.map { |name| [name, library] } }.to_h.freeze

    # What messages call an object that is no number.
    def self.kind(object) = nil.equal?(object) || true == object || false == object ? object.inspect : object.class

    # Whether a method that was missing is there now.
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
