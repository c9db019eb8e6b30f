# What patch.rb changes in mruby's parser: a multiple assignment reads what its targets need before it assigns.

# The targets of `i, a[i] = 1, 2`: what is assigned to before and read by a later one is held in a hidden variable.
HOLD = <<~'C'.freeze
  static node*
  fg_held(parser_state *p, node *e, node *set, node **first)
  {
    if (!e) return e;
    switch (typen(e->car)) {
    case NODE_LVAR: case NODE_IVAR: case NODE_GVAR:
      while (set && (set->car->car != e->car || set->car->cdr != e->cdr)) set = set->cdr;
      if (set) {
        char name[24];
        mrb_sym held;
        int count = 0;
        node *n = p->locals->car;
        for (node *f = *first; f; f = f->cdr) count++;
        snprintf(name, sizeof(name), "&%d", count);
        held = mrb_intern_cstr(p->mrb, name);
        while (n && sym(n->car) != held) n = n->cdr;
        if (!n) local_add_f(p, held);
        *first = push(*first, new_asgn(p, new_lvar(p, held), e));
        return new_lvar(p, held);
      }
      return e;
    case NODE_CALL: case NODE_SCALL: case NODE_FCALL:
      e->cdr->car = fg_held(p, e->cdr->car, set, first);
      if (e->cdr->cdr->cdr->car) {
        for (node *a = e->cdr->cdr->cdr->car->car; a; a = a->cdr) a->car = fg_held(p, a->car, set, first);
      }
      return e;
    default:
      return e;
    }
  }

  static node*
  fg_masgn(parser_state *p, node *a, node *whole)
  {
    node *set = 0, *first = 0;

    for (node *t = a->car; t; t = t->cdr) {
      switch (typen(t->car->car)) {
      case NODE_LVAR: case NODE_IVAR: case NODE_GVAR:
        set = push(set, t->car);
        break;
      case NODE_CALL: case NODE_SCALL:
        if (set) fg_held(p, t->car, set, &first);
        break;
      default:
        break;
      }
    }
    if (!first) return whole;
    return cons((node*)NODE_BEGIN, push(first, whole));
  }

C

MASGN = [
  ["static node*\nnew_masgn(parser_state *p, node *a, node *b)\n{\n  void_expr_error(p, b);\n" \
   "  return cons((node*)NODE_MASGN, cons(a, b));\n",
   "#{HOLD}static node*\nnew_masgn(parser_state *p, node *a, node *b)\n{\n  void_expr_error(p, b);\n" \
   "  node *whole = cons((node*)NODE_MASGN, cons(a, b));\n  return b ? fg_masgn(p, a, whole) : whole;\n"],
].freeze
