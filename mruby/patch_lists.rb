# What patch.rb changes in mruby's Range, Array and Enumerable: what they return, and what they prefer.

LISTS = {
  "src/range.c" => [
    ["  if (mrb_nil_p(beg)) {\n    if (RANGE_EXCL(r) ? r_gt(",
     "  if (mrb_nil_p(beg) && mrb_nil_p(end)) return mrb_true_value();\n" \
     "  if (mrb_nil_p(beg)) {\n    if (RANGE_EXCL(r) ? r_gt("],
    ["        len++;\n      }\n      ary = mrb_ary_new_capa(mrb, len);\n",
     "        len++;\n      }\n      if (len < 0) len = 0;\n      ary = mrb_ary_new_capa(mrb, len);\n"],
  ],
  "mrblib/range.rb" => [
    ["        return val.upto(last, exclude_end?, &block)\n",
     "        val.upto(last, exclude_end?, &block)\n        return self\n"],
    ["        return val.__upto_endless(&block)\n", "        val.__upto_endless(&block)\n        return self\n"],
  ],
  "mrblib/enum.rb" => [
    *%w[max min].zip(%w[> <]).map do |name, sign|
      [/^  def #{name}\(&block\)\n.*?\K\(val <=> result\) #{sign} 0/m, "__order(val, result) #{sign} 0"]
    end,
    ["module Enumerable\n",
     "module Enumerable\n" \
     "  def __order(one, other)\n" \
     "    found = one <=> other\n" \
     "    return found if found\n" \
     "    raise ArgumentError, \"comparison of \#{one.class} with \#{other.inspect} failed\"\n  end\n\n"],
  ],
  "mrbgems/mruby-enum-ext/mrblib/enum.rb" => [
    ["      block.call(ary.dup) if ary.size == n\n    end\n    nil\n",
     "      block.call(ary.dup) if ary.size == n\n    end\n    self\n"],
    ["    block.call(ary) unless ary.empty?\n    nil\n", "    block.call(ary) unless ary.empty?\n    self\n"],
    ["  def count(v=NONE, &block)\n    count = 0\n    if block\n",
     "  def count(v=NONE, &block)\n    count = 0\n    if block && NONE.equal?(v)\n"],
    ["    idx = 0\n    if block\n      self.each do |*e|\n        return idx",
     "    idx = 0\n    if block && NONE.equal?(val)\n      self.each do |*e|\n        return idx"],
  ],
  "mrbgems/mruby-array-ext/mrblib/array.rb" => [
    [/^  def index\(val=NONE, &block\)\n.*?\K    if block\n/m, "    if block && NONE.equal?(val)\n"],
    ["    ary = self.dup\n    args.each do |x|\n      ary.concat(x)\n      ary.uniq!\n    end\n    ary\n",
     "    ary = self.dup\n    args.each { |x| ary.concat(x) }\n    ary.uniq!\n    ary\n"],
    ["    idx += self.size + 1 if idx < 0\n    self[idx, 0] = args\n",
     "    return self if args.empty?\n    idx += self.size + 1 if idx < 0\n    self[idx, 0] = args\n"],
  ],
  "mrbgems/mruby-hash-ext/src/hash-ext.c" => [
    ["  result = mrb_hash_dup(mrb, hash);\n  for (i = 0; i < argc; i++) {\n",
     "  result = mrb_hash_dup(mrb, hash);\n" \
     "  mrb_hash_ptr(result)->flags &= ~(MRB_HASH_DEFAULT | MRB_HASH_PROC_DEFAULT);\n" \
     "  for (i = 0; i < argc; i++) {\n"],
  ],
  # From "A" to "zz" is "A".."Z", "AA".."ZZ": the order of the texts says nothing there, their lengths do.
  "mrbgems/mruby-string-ext/mrblib/string.rb" => [
    ["    bs = self\n    while true\n      n = (bs <=> max)\n      break if n > 0\n" \
     "      break if exclusive and n == 0\n" \
     "      yield bs\n      break if n == 0\n      bsiz = bs.size\n      break if bsiz > max.size || bsiz == 0\n" \
     "      bs = bs.succ\n    end\n    self\n",
     "    order = self <=> max\n    return self if order > 0 || (exclusive && order == 0)\n" \
     "    bs = self\n    after = max.succ\n" \
     "    while bs != after\n      done = bs == max\n      break if exclusive && done\n" \
     "      yield bs\n      break if done\n      bs = bs.succ\n" \
     "      break if bs.size > max.size || bs.empty?\n    end\n    self\n"],
    ["  alias each_codepoint codepoints\n",
     "  def each_codepoint(&block)\n    return to_enum(:each_codepoint) unless block\n" \
     "    codepoints.each(&block)\n    self\n  end\n"],
  ],
  "src/error.c" => [
    # `nil` is no message.
    ["  if (mrb_get_args(mrb, \"|o\", &mesg) == 1) {\n",
     "  if (mrb_get_args(mrb, \"|o\", &mesg) == 1 && !mrb_nil_p(mesg)) {\n"],
  ],
}.freeze
