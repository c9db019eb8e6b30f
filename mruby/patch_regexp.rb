# What patch.rb changes for regular expressions: a place for the last match in each method's frame, as in CRuby; a word
# when a global variable is set; and literals as CRuby has them: named groups that set local variables, the option `o`,
# and a backslash that is kept where the delimiter means something in a pattern.

# The place is emptied when a frame begins, and what is in it is kept alive while the frame lives.
LAST_MATCH = {
  "include/mruby.h" => [
    ["  const mrb_code *pc;           /* current address on iseq of this proc */\n  union {\n",
     "  const mrb_code *pc;           /* current address on iseq of this proc */\n" \
     "  struct RBasic *fg_match;      /* the last match of this method */\n  union {\n"],
  ],
  "src/vm.c" => [
    ["  ci->u.target_class = target_class;\n\n  return ci;\n}\n",
     "  ci->u.target_class = target_class;\n  ci->fg_match = NULL;\n\n  return ci;\n}\n\n" \
     "struct RBasic **fg_match_place(mrb_callinfo *ci)\n{\n  return &ci->fg_match;\n}\n"],
  ],
  "src/gc.c" => [
    ["      mrb_gc_mark(mrb, (struct RBasic*)ci->u.target_class);\n",
     "      mrb_gc_mark(mrb, (struct RBasic*)ci->u.target_class);\n      mrb_gc_mark(mrb, ci->fg_match);\n"],
  ],
  "src/variable.c" => [
    ["mrb_gv_set(mrb_state *mrb, mrb_sym sym, mrb_value v)\n{\n  iv_tbl *t;\n",
     "mrb_gv_set(mrb_state *mrb, mrb_sym sym, mrb_value v)\n{\n  iv_tbl *t;\n\n" \
     "  if (fg_on_gv_set && fg_on_gv_set(mrb, sym, v)) return;\n"],
    ["MRB_API void\nmrb_gv_set(",
     "int (*fg_on_gv_set)(mrb_state*, mrb_sym, mrb_value);\nMRB_API void\nmrb_gv_set("],
  ],
}.freeze

# `/(?<year>\d+)/ =~ text` becomes `(__match = /(?<year>\d+)/ =~ text; year = $~&.[](:year); __match)`.
NAMED_GROUPS = <<~C.freeze
  /* The name of the next named group from `at` on that can name a local variable, or NULL; its length and end. */
  static const char*
  fg_group_name(const char *at, size_t *length)
  {
    int brackets = 0;
    for (; *at; at++) {
      if (*at == '\\\\' && at[1]) { at++; continue; }
      if (*at == '[') brackets++;
      else if (*at == ']' && brackets > 0) brackets--;
      if (brackets > 0 || strncmp(at, "(?<", 3) != 0) continue;
      const char *name = at + 3, *end = name;
      if (*name != '_' && (unsigned char)*name < 0x80 && !ISLOWER(*name)) continue;
      while (*end == '_' || (unsigned char)*end >= 0x80 || ISALNUM(*end)) end++;
      if (*end != '>' || end == name) continue;
      *length = (size_t)(end - name);
      return name;
    }
    return NULL;
  }

  static node*
  fg_match_op(parser_state *p, node *recv, node *arg)
  {
    node *call = call_bin_op(p, recv, "=~", arg);
    size_t length = 0;
    if (typen(recv->car) != NODE_REGX) return call;
    const char *name = fg_group_name((const char*)recv->cdr->car, &length);
    if (name == NULL) return call;
    mrb_sym kept = intern_cstr("__match");
    if (!local_var_p(p, kept)) local_add(p, kept);
    node *steps = new_begin(p, new_asgn(p, new_lvar(p, kept), call));
    for (; name; name = fg_group_name(name + length, &length)) {
      mrb_sym sym = mrb_intern(p->mrb, name, length);
      if (!local_var_p(p, sym)) local_add(p, sym);
      node *args = new_callargs(p, list1(new_sym(p, sym)), 0, 0);
      node *value = new_call(p, new_gvar(p, intern_cstr("$~")), intern_cstr("[]"), args, 0);
      steps = push(steps, new_asgn(p, new_lvar(p, sym), value));
    }
    return push(steps, new_lvar(p, kept));
  }
C

# `/#{x}/o` becomes `$__once1 ||= /#{x}/`: a global variable of its own for each place.
ONCE = <<~C.freeze
  static node*
  new_dregx(parser_state *p, node *a, node *b)
  {
    static unsigned places;
    const char *options = (const char*)b->cdr->cdr->car;
    node *n = cons((node*)NODE_DREGX, cons(a, b));
    if (options == NULL || strchr(options, 'o') == NULL) return n;
    char name[32];
    snprintf(name, sizeof name, "$__once%u", __atomic_add_fetch(&places, 1, __ATOMIC_RELAXED));
    return new_op_asgn(p, new_gvar(p, mrb_intern_cstr(p->mrb, name)), mrb_intern_cstr(p->mrb, "||"), n);
  }
C

LITERALS = [
  ["static node*\nnew_dregx(parser_state *p, node *a, node *b)\n{\n  return cons((node*)NODE_DREGX, cons(a, b));\n}\n",
   ONCE],
  ["  return new_call(p, recv, intern_cstr(m), new_callargs(p, list1(arg1), 0, 0), '.');\n}\n",
   "  return new_call(p, recv, intern_cstr(m), new_callargs(p, list1(arg1), 0, 0), '.');\n}\n\n#{NAMED_GROUPS}"],
  ["    char flags[3];\n", "    char flags[4];\n"],
  ["      case 'o': break;\n", "      case 'o': f |= 64; break;\n"],
  ["      if (f & 4) *flag++ = 'm';\n", "      if (f & 4) *flag++ = 'm';\n      if (f & 64) *flag++ = 'o';\n"],
  ["        if (c == end || c == beg) {\n          tokadd(p, c);\n        }\n",
   "        if (c == end || c == beg) {\n" \
   "          if ((type & STR_FUNC_REGEXP) && c > 0 && strchr(\"$*+.?^|(){}[]<>\", c)) tokadd(p, '\\\\');\n" \
   "          tokadd(p, c);\n        }\n"],
].freeze
MATCH_GRAMMAR = [["call_bin_op(p, $1, \"=~\", $3)", "fg_match_op(p, $1, $3)"]].freeze
MATCH_GENERATED = [
  ["call_bin_op(p, (yyvsp[-2].nd), \"=~\", (yyvsp[0].nd))", "fg_match_op(p, (yyvsp[-2].nd), (yyvsp[0].nd))"],
].freeze
