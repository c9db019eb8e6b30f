/* What takes the place of mrb_proc_arity in mruby's src/proc.c, where the patch method-objects says. Which keywords a
 * method takes, and which of them it wants, stands nowhere but in its instructions: OP_KEY_P asks for one with a
 * default, and OP_KARG takes each. */
#include <mruby/array.h>

enum kind { KIND_Z, KIND_B, KIND_BB, KIND_BBB, KIND_BS, KIND_BSS, KIND_S, KIND_W };

static const uint8_t kinds[] = {
#define OPCODE(_, kind) KIND_##kind,
#include <mruby/ops.h>
#undef OPCODE
};

/* The bytes of an instruction's operands; after OP_EXT1 the first has two, after OP_EXT2 the second, else both. */
static size_t
operand_size(enum kind kind, int wide_a, int wide_b)
{
  static const uint8_t sizes[] = { 0, 1, 2, 3, 3, 5, 2, 3 };
  size_t size = sizes[kind];
  if (wide_a && kind >= KIND_B && kind <= KIND_BSS) size++;
  if (wide_b && (kind == KIND_BB || kind == KIND_BBB)) size++;
  return size;
}

/* How many keywords have a default, or have none; their names go to `names`, if there is room for them. */
static int
keywords(const mrb_irep *irep, int optional, mrb_sym *names)
{
  int left = MRB_ASPEC_KEY(PEEK_W(irep->iseq + 1)), count = 0;
  mrb_sym asked = 0;
  const mrb_code *pc = irep->iseq, *end = pc + irep->ilen;

  while (pc < end && left > 0) {
    int wide_a = *pc == OP_EXT1 || *pc == OP_EXT3, wide_b = *pc == OP_EXT2 || *pc == OP_EXT3;
    if (wide_a || wide_b) pc++;
    mrb_code insn = *pc++;
    if (insn == OP_KEY_P || insn == OP_KARG) {
      const mrb_code *at = pc + (wide_a ? 2 : 1);
      mrb_sym name = irep->syms[wide_b ? PEEK_S(at) : PEEK_B(at)];
      if (insn == OP_KEY_P) asked = name;
      else {
        if ((asked == name) == optional) {
          if (names) names[count] = name;
          count++;
        }
        left--;
      }
    }
    pc += operand_size((enum kind)kinds[insn], wide_a, wide_b);
  }
  return count;
}

/* The names of those without a default, for an error that lists what is missing; at most 31. */
int
fg_required_keywords(const mrb_irep *irep, mrb_sym *names)
{
  return keywords(irep, 0, names);
}

/* The proc behind aliases. */
static const struct RProc*
original(const struct RProc *p)
{
  while (MRB_PROC_ALIAS_P(p)) p = p->upper;
  return p;
}

static int
has_parameters(const struct RProc *p)
{
  return p->body.irep && *p->body.irep->iseq == OP_ENTER;
}

/* Of a method in C: 0 or 1 for an attribute, 0 where it takes no arguments, else -1. */
int fg_c_arity(const struct RProc *p);

mrb_int
mrb_proc_arity(const struct RProc *p)
{
  p = original(p);
  if (MRB_PROC_CFUNC_P(p)) return fg_c_arity(p);
  if (!has_parameters(p)) return 0;
  mrb_aspec aspec = PEEK_W(p->body.irep->iseq + 1);
  mrb_bool needed = keywords(p->body.irep, 0, NULL) > 0;
  mrb_bool named = MRB_ASPEC_KEY(aspec) > 0 || MRB_ASPEC_KDICT(aspec);
  mrb_int least = MRB_ASPEC_REQ(aspec) + MRB_ASPEC_POST(aspec) + needed;
  mrb_bool more = MRB_ASPEC_OPT(aspec) > 0 || (named && !needed);
  return MRB_ASPEC_REST(aspec) || (MRB_PROC_STRICT_P(p) && more) ? -least - 1 : least;
}

static void
add(mrb_state *mrb, mrb_value list, const char *kind, mrb_sym name)
{
  mrb_value pair[2] = { mrb_symbol_value(mrb_intern_cstr(mrb, kind)), mrb_symbol_value(name) };
  mrb_ary_push(mrb, list, mrb_ary_new_from_values(mrb, name ? 2 : 1, pair));
}

static void
add_all(mrb_state *mrb, mrb_value list, const char *kind, const mrb_sym *names, int count)
{
  for (int i = 0; i < count; i++) {
    add(mrb, list, kind, names ? names[i] : 0);
    /* What is taken apart in a block has no name, and says so. */
    if (strcmp(kind, "opt") == 0 && (!names || !names[i])) {
      mrb_ary_push(mrb, mrb_ary_entry(list, RARRAY_LEN(list) - 1), mrb_nil_value());
    }
  }
}

/* Local variables begin with the parameters, then come keywords that are left, then the block. */
mrb_value
fg_parameters(mrb_state *mrb, const struct RProc *p, mrb_bool strict)
{
  mrb_value list = mrb_ary_new(mrb);
  p = original(p);
  if (MRB_PROC_CFUNC_P(p)) {
    int arity = fg_c_arity(p);
    if (arity != 0) add(mrb, list, arity < 0 ? "rest" : "req", 0);
    return list;
  }
  if (!has_parameters(p)) return list;
  const mrb_irep *irep = p->body.irep;
  mrb_aspec aspec = PEEK_W(irep->iseq + 1);
  const mrb_sym *lv = irep->lv;
  const struct { const char *kind; int count; } parts[] = {
    { strict ? "req" : "opt", MRB_ASPEC_REQ(aspec) }, { "opt", MRB_ASPEC_OPT(aspec) },
    { "rest", MRB_ASPEC_REST(aspec) }, { strict ? "req" : "opt", MRB_ASPEC_POST(aspec) },
  };
  for (int i = 0; i < 4; i++) {
    add_all(mrb, list, parts[i].kind, lv, parts[i].count);
    if (lv) lv += parts[i].count;
  }
  int named = MRB_ASPEC_KEY(aspec);
  if (named > 0) {
    mrb_value room = mrb_str_new(mrb, NULL, named * sizeof(mrb_sym));
    mrb_sym *names = (mrb_sym*)RSTRING_PTR(room);
    add_all(mrb, list, "keyreq", names, keywords(irep, 0, names));
    add_all(mrb, list, "key", names, keywords(irep, 1, names));
  }
  if (MRB_ASPEC_KDICT(aspec)) {
    mrb_bool none = lv && lv[0] == MRB_SYM(nil);
    add(mrb, list, none ? "nokey" : "keyrest", lv && !none ? lv[0] : 0);
  }
  if (lv && (named > 0 || MRB_ASPEC_KDICT(aspec))) lv++;
  if (MRB_ASPEC_BLOCK(aspec)) add(mrb, list, "block", lv ? lv[0] : 0);
  return list;
}
