# What patch.rb changes in mruby so that Strings, Arrays, Structs, Ranges and Procs can have instance variables: those
# of objects without room for them stand in a table of the interpreter, by address. A flag says that an object is in
# there.

VARIABLES_TABLE = <<~'C'.freeze
  static mrb_bool
  fg_apart_p(enum mrb_vtype tt)
  {
    return tt == MRB_TT_STRING || tt == MRB_TT_ARRAY || tt == MRB_TT_STRUCT || tt == MRB_TT_RANGE || tt == MRB_TT_PROC;
  }

  static size_t
  fg_place(mrb_state *mrb, const struct RBasic *obj)
  {
    size_t at = (size_t)(((uint64_t)(uintptr_t)obj >> 4) * 0x9e3779b97f4a7c15u >> 20) & (mrb->fg_apart_room - 1);

    while (mrb->fg_apart[at].obj && mrb->fg_apart[at].obj != obj) at = (at + 1) & (mrb->fg_apart_room - 1);
    return at;
  }

  static iv_tbl*
  fg_apart(mrb_state *mrb, struct RBasic *obj)
  {
    if (!(obj->flags & FG_VARIABLES) || !fg_apart_p(obj->tt) || mrb->fg_apart_room == 0) return NULL;
    size_t at = fg_place(mrb, obj);
    return mrb->fg_apart[at].obj ? mrb->fg_apart[at].iv : NULL;
  }

  static iv_tbl*
  fg_apart_made(mrb_state *mrb, struct RBasic *obj)
  {
    iv_tbl *iv = fg_apart(mrb, obj);

    if (iv) return iv;
    iv = iv_new(mrb);
    if ((mrb->fg_apart_count + 1) * 2 > mrb->fg_apart_room) {
      size_t room = mrb->fg_apart_room ? mrb->fg_apart_room * 2 : 64;
      struct fg_apart *made = (struct fg_apart*)mrb_calloc(mrb, room, sizeof(struct fg_apart)), *old = mrb->fg_apart;
      size_t count = mrb->fg_apart_room;
      mrb->fg_apart = made;
      mrb->fg_apart_room = room;
      for (size_t i = 0; i < count; i++) {
        if (old[i].obj) made[fg_place(mrb, old[i].obj)] = old[i];
      }
      mrb_free(mrb, old);
    }
    size_t at = fg_place(mrb, obj);
    mrb->fg_apart[at].obj = obj;
    mrb->fg_apart[at].iv = iv;
    mrb->fg_apart_count++;
    obj->flags |= FG_VARIABLES;
    return iv;
  }

  void
  fg_apart_mark(mrb_state *mrb, struct RBasic *obj)
  {
    iv_tbl *iv = fg_apart(mrb, obj);
    if (iv) mark_tbl(mrb, iv);
  }

  void
  fg_apart_free(mrb_state *mrb, struct RBasic *obj)
  {
    if (!fg_apart(mrb, obj)) return;
    size_t mask = mrb->fg_apart_room - 1, hole = fg_place(mrb, obj);
    iv_free(mrb, mrb->fg_apart[hole].iv);
    mrb->fg_apart[hole].obj = NULL;
    mrb->fg_apart_count--;
    /* Those behind it move up, so that they are still found. */
    for (size_t i = (hole + 1) & mask; mrb->fg_apart[i].obj; i = (i + 1) & mask) {
      struct fg_apart moved = mrb->fg_apart[i];
      mrb->fg_apart[i].obj = NULL;
      mrb->fg_apart[fg_place(mrb, moved.obj)] = moved;
    }
  }

  void
  fg_apart_copy(mrb_state *mrb, mrb_value dest, mrb_value src)
  {
    if (mrb_immediate_p(src) || !fg_apart_p(mrb_type(src)) || mrb_type(dest) != mrb_type(src)) return;
    iv_tbl *from = fg_apart(mrb, mrb_basic_ptr(src));
    if (!from) return;
    fg_apart_free(mrb, mrb_basic_ptr(dest));
    mrb_basic_ptr(dest)->flags &= ~FG_VARIABLES;
    iv_tbl *copy = iv_copy(mrb, from), *to = fg_apart_made(mrb, mrb_basic_ptr(dest));
    iv_tbl swapped = *to;
    *to = *copy;
    *copy = swapped;
    iv_free(mrb, copy);
    mrb_write_barrier(mrb, mrb_basic_ptr(dest));
  }

  static iv_tbl*
  fg_variables(mrb_state *mrb, mrb_value v)
  {
    if (mrb_immediate_p(v)) return NULL;
    return obj_iv_p(v) ? mrb_obj_ptr(v)->iv : fg_apart(mrb, mrb_basic_ptr(v));
  }

C

MARK = "    if (obj->flags & FG_VARIABLES) fg_apart_mark(mrb, obj);\n".freeze
FREE = "    if (obj->flags & FG_VARIABLES) fg_apart_free(mrb, obj);\n".freeze

VARIABLES = {
  "include/mruby/object.h" => [
    ["#define MRB_FL_OBJ_IS_FROZEN (1 << 20)\n",
     "#define MRB_FL_OBJ_IS_FROZEN (1 << 20)\n" \
     "#define FG_VARIABLES (1 << 19) /* of String, Array, Struct, Range, Proc: it has instance variables */\n" \
     "struct fg_apart {\n  struct RBasic *obj;\n  struct iv_tbl *iv;\n};\n"],
  ],
  "include/mruby.h" => [
    ["  mrb_bool fg_armed;                      /* the core classes are complete */\n",
     "  mrb_bool fg_armed;                      /* the core classes are complete */\n" \
     "  struct fg_apart *fg_apart;              /* instance variables of objects without room for them */\n" \
     "  size_t fg_apart_room;\n  size_t fg_apart_count;\n"],
  ],
  "src/variable.c" => [
    ["MRB_API mrb_value\nmrb_obj_iv_get(mrb_state *mrb, struct RObject *obj, mrb_sym sym)\n",
     "#{VARIABLES_TABLE}MRB_API mrb_value\nmrb_obj_iv_get(mrb_state *mrb, struct RObject *obj, mrb_sym sym)\n"],
    ["    return mrb_obj_iv_get(mrb, mrb_obj_ptr(obj), sym);\n  }\n  return mrb_nil_value();\n",
     "    return mrb_obj_iv_get(mrb, mrb_obj_ptr(obj), sym);\n  }\n" \
     "  mrb_value v;\n  iv_tbl *apart = fg_variables(mrb, obj);\n" \
     "  if (apart && iv_get(mrb, apart, sym, &v)) return v;\n  return mrb_nil_value();\n"],
    ["  if (!obj_iv_p(obj)) return;\n  iv_foreach(mrb, mrb_obj_ptr(obj)->iv, func, p);\n",
     "  iv_foreach(mrb, fg_variables(mrb, obj), func, p);\n"],
    ["    mrb_obj_iv_set(mrb, mrb_obj_ptr(obj), sym, v);\n  }\n",
     "    mrb_obj_iv_set(mrb, mrb_obj_ptr(obj), sym, v);\n  }\n" \
     "  else if (!mrb_immediate_p(obj) && fg_apart_p(mrb_type(obj))) {\n" \
     "    mrb_check_frozen(mrb, mrb_basic_ptr(obj));\n" \
     "    iv_put(mrb, fg_apart_made(mrb, mrb_basic_ptr(obj)), sym, v);\n" \
     "    mrb_field_write_barrier_value(mrb, mrb_basic_ptr(obj), v);\n  }\n"],
    ["  if (!obj_iv_p(obj)) return FALSE;\n  return mrb_obj_iv_defined(mrb, mrb_obj_ptr(obj), sym);\n",
     "  iv_tbl *table = fg_variables(mrb, obj);\n  return table && iv_get(mrb, table, sym, NULL);\n"],
    ["  if (obj_iv_p(obj)) {\n    struct RObject *o = mrb_obj_ptr(obj);\n    iv_tbl *t = o->iv;\n    mrb_value val;\n",
     "  if (!mrb_immediate_p(obj) && (obj_iv_p(obj) || fg_apart_p(mrb_type(obj)))) {\n" \
     "    struct RObject *o = mrb_obj_ptr(obj);\n    iv_tbl *t = fg_variables(mrb, obj);\n    mrb_value val;\n"],
    ["  if (obj_iv_p(self)) {\n    iv_foreach(mrb, mrb_obj_ptr(self)->iv, iv_i, &ary);\n  }\n",
     "  iv_foreach(mrb, fg_variables(mrb, self), iv_i, &ary);\n"],
  ],
  "src/class.c" => [
    ["init_copy(mrb_state *mrb, mrb_value dest, mrb_value obj)\n{\n",
     "init_copy(mrb_state *mrb, mrb_value dest, mrb_value obj)\n{\n  fg_apart_copy(mrb, dest, obj);\n"],
    ["static void\ninit_copy(",
     "void fg_apart_copy(mrb_state*, mrb_value, mrb_value);\n\nstatic void\ninit_copy("],
  ],
  "src/proc.c" => [
    # A class below Proc may have an `initialize` that takes arguments.
    ["  mrb_get_args(mrb, \"&!\", &blk);\n  p = MRB_OBJ_ALLOC(mrb, MRB_TT_PROC, mrb_class_ptr(proc_class));\n",
     "  const mrb_value *argv;\n  mrb_int argc;\n  mrb_get_args(mrb, \"*&!\", &argv, &argc, &blk);\n" \
     "  p = MRB_OBJ_ALLOC(mrb, MRB_TT_PROC, mrb_class_ptr(proc_class));\n"],
    ["  mrb_funcall_with_block(mrb, proc, MRB_SYM(initialize), 0, NULL, proc);\n",
     "  mrb_funcall_with_block(mrb, proc, MRB_SYM(initialize), argc, argv, proc);\n"],
    ["  a->flags = b->flags;\n", "  a->flags = (b->flags & ~FG_VARIABLES) | (a->flags & FG_VARIABLES);\n"],
  ],
  "src/state.c" => [
    ["  mrb_gc_destroy(mrb, &mrb->gc);\n", "  mrb_gc_destroy(mrb, &mrb->gc);\n  mrb_free(mrb, mrb->fg_apart);\n"],
  ],
  "src/gc.c" => [
    ["      mrb_gc_mark(mrb, (struct RBasic*)p->upper);\n",
     "  #{MARK}      mrb_gc_mark(mrb, (struct RBasic*)p->upper);\n"],
    ["        mrb_gc_mark_value(mrb, p[i]);\n      }\n    }\n    break;\n\n  case MRB_TT_HASH:\n    mrb_gc_mark_iv(",
     "        mrb_gc_mark_value(mrb, p[i]);\n      }\n    }\n#{MARK}    break;\n\n" \
     "  case MRB_TT_HASH:\n    mrb_gc_mark_iv("],
    ["  case MRB_TT_STRING:\n    if (RSTR_FSHARED_P(obj)) {\n",
     "  case MRB_TT_STRING:\n#{MARK}    if (RSTR_FSHARED_P(obj)) {\n"],
    ["  case MRB_TT_RANGE:\n    mrb_gc_mark_range(", "  case MRB_TT_RANGE:\n#{MARK}    mrb_gc_mark_range("],
    ["  case MRB_TT_STRUCT:\n  case MRB_TT_ARRAY:\n    if (ARY_SHARED_P(obj))\n",
     "  case MRB_TT_STRUCT:\n  case MRB_TT_ARRAY:\n#{FREE}    if (ARY_SHARED_P(obj))\n"],
    ["  case MRB_TT_STRING:\n    mrb_gc_free_str(", "  case MRB_TT_STRING:\n#{FREE}    mrb_gc_free_str("],
    ["  case MRB_TT_RANGE:\n    mrb_gc_free_range(", "  case MRB_TT_RANGE:\n#{FREE}    mrb_gc_free_range("],
    ["      struct RProc *p = (struct RProc*)obj;\n\n      if (!MRB_PROC_CFUNC_P(p) && !MRB_PROC_ALIAS_P(p) &&",
     "      struct RProc *p = (struct RProc*)obj;\n\n  #{FREE}" \
     "      if (!MRB_PROC_CFUNC_P(p) && !MRB_PROC_ALIAS_P(p) &&"],
    ["static void\ngc_mark_children(",
     "void fg_apart_mark(mrb_state*, struct RBasic*);\nvoid fg_apart_free(mrb_state*, struct RBasic*);\n\n" \
     "static void\ngc_mark_children("],
  ],
}.freeze
