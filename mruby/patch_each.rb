# What patch.rb changes in mruby's Hash: `each` walks the hash as it is, not copies of its keys and values, and says so
# when keys are added meanwhile; the blocks of `select` and its kin take a key and a value. Part of patch.rb.

STEP = <<~'C'.freeze
  /* The next pair, or nil. `place` is an Array that holds the number of the slot to look at. */
  static mrb_value
  fg_hash_step(mrb_state *mrb, mrb_value self)
  {
    mrb_int argc = mrb_get_argc(mrb);
    const mrb_value *argv = mrb_get_argv(mrb);
    struct RHash *h = mrb_hash_ptr(self);

    if (argc != 2 || !mrb_array_p(argv[0]) || RARRAY_LEN(argv[0]) != 1 || !mrb_integer_p(RARRAY_PTR(argv[0])[0]) ||
        !mrb_integer_p(argv[1])) {
      mrb_raise(mrb, E_ARGUMENT_ERROR, "not a place in a hash");
    }
    if ((mrb_int)h_size(h) > mrb_integer(argv[1])) {
      mrb_raise(mrb, E_RUNTIME_ERROR, "can't add a new key into hash during iteration");
    }
    hash_entry *entries = h_ar_p(h) ? ar_ea(h) : ht_ea(h);
    mrb_int used = (mrb_int)(h_ar_p(h) ? ar_ea_n_used(h) : ht_ea_n_used(h));
    mrb_int at = mrb_integer(RARRAY_PTR(argv[0])[0]);
    if (at < 0) at = 0;
    while (at < used && entry_deleted_p(&entries[at])) at++;
    if (at >= used) return mrb_nil_value();
    RARRAY_PTR(argv[0])[0] = mrb_fixnum_value(at + 1);
    return mrb_assoc_new(mrb, entries[at].key, entries[at].val);
  }

C

walk = lambda do |what|
  "    at = [0]\n    count = self.size\n    while pair = __step(at, count)\n" \
  "      block.call #{what}\n    end\n    self\n"
end

EACH = {
  "src/hash.c" => [
    ["void\nmrb_init_hash(mrb_state *mrb)\n{\n", "#{STEP}void\nmrb_init_hash(mrb_state *mrb)\n{\n"],
    ["  mrb_define_method_id(mrb, h, MRB_SYM(shift), ",
     "  mrb_define_method(mrb, h, \"__step\", fg_hash_step, MRB_ARGS_REQ(2));\n" \
     "  mrb_define_method_id(mrb, h, MRB_SYM(shift), "],
  ],
  "mrblib/hash.rb" => [
    [/    keys = self\.keys\n    vals = self\.values\n.*?    self\n/m, walk["pair"]],
    ["    self.keys.each{|k| block.call(k)}\n    self\n", walk["pair[0]"]],
    ["    self.values.each{|v| block.call(v)}\n    self\n", walk["pair[1]"]],
    *%w[reject! reject select! select].map do |name|
      [/^  def #{Regexp.escape(name)}\(&block\)\n.*?\Kblock\.call\(\[k, v\]\)/m, "block.call(k, v)"]
    end,
  ],
  "mrbgems/mruby-hash-ext/mrblib/hash.rb" => [["block.call([k, v])", "block.call(k, v)"]],
}.freeze
