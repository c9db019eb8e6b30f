# The same as patch_messages.rb for what mruby says in Ruby, and for the errors of the system.

FAILED = '      raise ArgumentError, "comparison of #{self.class} with #{other.class} failed"'.freeze
NIL_COMPARED = '              raise ArgumentError, "comparison of #{lval.inspect} and #{rval.inspect} failed"'.freeze

DIG = "      n&.dig(*args)\n".freeze
DUG = "      raise TypeError, \"\#{n.class} does not have #dig method\" unless n.nil? || n.respond_to?(:dig)\n" \
      "#{DIG}".freeze

WORDS = {
  "mrbgems/mruby-errno/src/errno.c" => [
    ["  else {\n    str = mrb_str_new_cstr(mrb, \"unknown error\");\n  }\n",
     "  else {\n    mrb_value klass = mrb_obj_value(mrb_obj_class(mrb, self));\n" \
     "    mrb_value number = mrb_nil_value();\n" \
     "    if (mrb_const_defined(mrb, klass, MRB_SYM(Errno))) number = mrb_const_get(mrb, klass, MRB_SYM(Errno));\n" \
     "    const char *words = mrb_integer_p(number) ? strerror((int)mrb_integer(number)) : \"unknown error\";\n" \
     "    str = mrb_str_new_cstr(mrb, words);\n" \
     "  }\n"],
  ],
  "mrbgems/mruby-array-ext/mrblib/array.rb" => [
    *[["-", "can't"], ["|", "can't"], ["&", "cannot"]].map do |name, words|
      ["  def #{name}(elem)\n" \
       "    raise TypeError, \"#{words} convert \#{elem.class} into Array\" unless elem.class == Array\n",
       "  def #{name}(elem)\n    elem = Array.__from(elem) unless elem.class == Array\n"]
    end,
    ["class Array\n",
     "class Array\n  def self.__from(other)\n    return other if other.is_a?(Array)\n" \
     "    return other.to_ary if other.respond_to?(:to_ary)\n" \
     "    raise TypeError, \"no implicit conversion of \#{other.nil? ? 'nil' : other.class} into Array\"\n" \
     "  end\n\n"],
    [DIG, DUG],
  ],
  "mrbgems/mruby-hash-ext/mrblib/hash.rb" => [[DIG, DUG]],
  "mrbgems/mruby-struct/mrblib/struct.rb" => [[DIG, DUG]],
  "mrblib/array.rb" => [
    ["#{NIL_COMPARED}\n            end\n            if cmp > 0\n",
     "              Comparable.__fail_sorted(lval, rval)\n            end\n            if cmp > 0\n"],
    ["#{NIL_COMPARED}\n            end\n            if cmp <= 0\n",
     "              Comparable.__fail_sorted(lval, rval)\n            end\n            if cmp <= 0\n"],
  ],
  "mrblib/compar.rb" => [
    ["module Comparable\n",
     "module Comparable\n  def self.__fail(one, other)\n" \
     "    case other\n    when nil, true, false, Integer, Float, Symbol then shown = other.inspect\n" \
     "    else shown = other.class\n    end\n" \
     "    raise ArgumentError, \"comparison of \#{one.class} with \#{shown} failed\"\n  end\n\n" \
     "  # What sort_by compares are pairs of a key and a place: the keys are what people know.\n" \
     "  def self.__fail_sorted(one, other)\n" \
     "    pairs = [one, other].all? { |pair| pair.is_a?(Array) && pair.size == 2 && pair[1].is_a?(Integer) }\n" \
     "    return __fail(one[0], other[0]) if pairs && (one[0] <=> other[0]).nil?\n" \
     "    __fail(one, other)\n  end\n\n"],
    *%w[< <= > >=].map do |sign|
      after = "    end\n    cmp #{sign} 0\n"
      ["#{FAILED}\n#{after}", "      Comparable.__fail(self, other)\n#{after}"]
    end,
  ],
}.freeze
