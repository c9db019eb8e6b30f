# What patch.rb changes in mruby's Array and Hash: methods that change the receiver refuse a frozen one even where
# nothing changes, and those that drop elements do so once, behind the last block, in one pass; `pop(n)`, and `last` of
# what is no Integer; when two procs or methods are the same; and what pads a String.

FROZEN_CHECK = "    raise FrozenError, \"can't modify frozen \#{self.class}: \#{inspect}\" if frozen?\n".freeze

# Whatever ends the loop, the elements that no block has seen stay.
def dropping(name, keep, result)
  <<~RUBY.gsub(/^(?=.)/, "  ")
    def #{name}(&block)
      return to_enum :#{name} unless block

    #{FROZEN_CHECK.lines.first.chomp[2..]}
      seen = 0
      kept = []
      before = self.size
      begin
        while seen < self.size do
          elem = self[seen]
          kept << elem #{keep} block.call(elem)
          seen += 1
        end
      ensure
        self[0, seen] = kept if kept.size < seen
      end
      #{result}
    end
  RUBY
end

ARRAY_POP = <<~'C'.freeze
  static mrb_value
  fg_ary_pop_m(mrb_state *mrb, mrb_value self)
  {
    if (mrb_get_argc(mrb) == 0) return mrb_ary_pop(mrb, self);
    mrb_int n = mrb_as_int(mrb, mrb_get_arg1(mrb));
    struct RArray *a = mrb_ary_ptr(self);
    ary_modify_check(mrb, a);
    if (n < 0) mrb_raise(mrb, E_ARGUMENT_ERROR, "negative array size");
    if (n > ARY_LEN(a)) n = ARY_LEN(a);
    mrb_value popped = mrb_ary_new_from_values(mrb, n, ARY_PTR(a) + ARY_LEN(a) - n);
    if (n > 0) {
      ary_modify(mrb, a);
      ARY_SET_LEN(a, ARY_LEN(a) - n);
    }
    return popped;
  }

C

ARRAYS = {
  "mrbgems/mruby-array-ext/mrblib/array.rb" => [
    ["  def uniq!(&block)\n", "  def uniq!(&block)\n#{FROZEN_CHECK}"],
    [/  def delete_if\(&block\)\n.*?^  end\n/m, dropping("delete_if", "unless", "self")],
    [/  def reject!\(&block\)\n.*?^  end\n/m, dropping("reject!", "unless", "self.size == before ? nil : self")],
    [/  def keep_if\(&block\)\n.*?^  end\n/m, dropping("keep_if", "if", "self")],
    [/  def select!\(&block\)\n.*?^  end\n/m, dropping("select!", "if", "self.size == before ? nil : self")],
    ["  def insert(idx, *args)\n", "  def insert(idx, *args)\n#{FROZEN_CHECK}"],
  ],
  "mrblib/array.rb" => [
    ["    return to_enum :collect! unless block\n", "    return to_enum :collect! unless block\n#{FROZEN_CHECK}"],
  ],
  "mrblib/hash.rb" => [
    ["    return to_enum :reject! unless block\n", "    return to_enum :reject! unless block\n#{FROZEN_CHECK}"],
    ["    return to_enum :select! unless block\n", "    return to_enum :select! unless block\n#{FROZEN_CHECK}"],
  ],
  "mrbgems/mruby-hash-ext/mrblib/hash.rb" => [
    ["    return to_enum :delete_if unless block\n", "    return to_enum :delete_if unless block\n#{FROZEN_CHECK}"],
    ["    return to_enum :keep_if unless block\n", "    return to_enum :keep_if unless block\n#{FROZEN_CHECK}"],
    ["    return to_enum :transform_values! unless block_given?\n",
     "    return to_enum :transform_values! unless block_given?\n#{FROZEN_CHECK}"],
  ],
  # A text that is long enough comes back as another one; padding goes on as long as there is room.
  "mrbgems/mruby-string-ext/mrblib/string.rb" => [
    ["    return self if idx <= self.size\n    pad_repetitions = idx / padstr.size\n" \
     "    padding = (padstr * pad_repetitions)[0, idx-self.size]\n    self + padding\n",
     "    idx = FoolsGold.integer(idx)\n    padstr = FoolsGold.string(padstr)\n" \
     "    return String.new(self) if idx <= self.size\n    width = idx - self.size\n" \
     "    self + (padstr * (width / padstr.size + 1))[0, width]\n"],
    ["    return self if idx <= self.size\n    pad_repetitions = idx / padstr.size\n" \
     "    padding = (padstr * pad_repetitions)[0, idx-self.size]\n    padding + self\n",
     "    idx = FoolsGold.integer(idx)\n    padstr = FoolsGold.string(padstr)\n" \
     "    return String.new(self) if idx <= self.size\n    width = idx - self.size\n" \
     "    (padstr * (width / padstr.size + 1))[0, width] + self\n"],
    ["    return self if width <= self.size\n",
     "    width = FoolsGold.integer(width)\n    padstr = FoolsGold.string(padstr)\n" \
     "    return String.new(self) if width <= self.size\n"],
  ],
  "src/array.c" => [
    ["void\nmrb_init_array(mrb_state *mrb)\n{\n", "#{ARRAY_POP}void\nmrb_init_array(mrb_state *mrb)\n{\n"],
    ["  mrb_int size = mrb_integer(mrb_get_arg1(mrb));\n", "  mrb_int size = mrb_as_int(mrb, mrb_get_arg1(mrb));\n"],
    [/MRB_SYM\(pop\), +mrb_ary_pop, +MRB_ARGS_NONE\(\)\);/, "MRB_SYM(pop), fg_ary_pop_m, MRB_ARGS_OPT(1));"],
  ],
  # Blocks of one text that see different variables are not the same; an alias and what it is another name of are.
  "src/proc.c" => [
    ["  struct RProc *p1 = mrb_proc_ptr(self);\n  struct RProc *p2 = mrb_proc_ptr(other);\n",
     "  const struct RProc *p1 = mrb_proc_ptr(self);\n  const struct RProc *p2 = mrb_proc_ptr(other);\n" \
     "  if (MRB_PROC_ALIAS_P(p1)) p1 = p1->upper;\n  if (MRB_PROC_ALIAS_P(p2)) p2 = p2->upper;\n"],
    ["    if (!MRB_PROC_CFUNC_P(p1)) return FALSE;\n", "    if (!MRB_PROC_CFUNC_P(p2)) return FALSE;\n"],
    ["  else if (p1->body.irep != p2->body.irep) return FALSE;\n",
     "  else if (p1->body.irep != p2->body.irep) return FALSE;\n" \
     "  else if (MRB_PROC_ENV(p1) != MRB_PROC_ENV(p2)) return FALSE;\n"],
  ],
}.freeze
