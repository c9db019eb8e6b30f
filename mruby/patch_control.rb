# What patch.rb changes in mruby's compiler and virtual machine for control flow: `next`, `break` and `redo` in `begin`,
# `begin … end while`, `rescue` modifiers, flip-flops, the order of a multiple assignment, and what `rescue` asks.

# The `begin … end` of a list: a body that comes before its condition. The list is short, and searched once per
# modifier.
BEGUN = <<~'C'.freeze
  static node*
  fg_begun(parser_state *p, node *body)
  {
    if (body) p->fg_begun = cons(body, p->fg_begun);
    return body;
  }

  static node*
  fg_loop(parser_state *p, mrb_bool until, node *condition, node *body)
  {
    void_expr_error(p, condition);
    for (node *b = p->fg_begun; body && b; b = b->cdr) {
      if (b->car != body) continue;
      return cons((node*)(until ? NODE_UNTIL_MOD : NODE_WHILE_MOD), cons(condition, body));
    }
    return cons((node*)(until ? NODE_UNTIL : NODE_WHILE), cons(condition, body));
  }

  /* `a, b = c rescue d` rescues `c` only, as `a = c rescue d` does. */
  static node*
  fg_rescued(parser_state *p, node *body, node *rescue)
  {
    node *masgn = body;

    if (!masgn || typen(masgn->car) != NODE_MASGN) return NULL;
    masgn->cdr->cdr = new_rescue(p, masgn->cdr->cdr, list1(list3(0, 0, rescue)), 0);
    return body;
  }

C

# A flip-flop keeps its state in a variable of the method around it, which its blocks share.
FLIP_FLOP = <<~'C'.freeze
  static node*
  fg_flip_flop(parser_state *p, node *from, node *to, mrb_bool three)
  {
    char name[24];
    node *scope = p->locals;
    mrb_sym state;

    if (!scope) return NULL;
    while (scope->cdr) scope = scope->cdr;
    snprintf(name, sizeof(name), "..%d", p->fg_flips++);
    state = mrb_intern_cstr(p->mrb, name);
    scope->car = push(scope->car, nsym(state));
    node *off = new_if(p, fg_condition(p, to), new_asgn(p, new_lvar(p, state), new_false(p)), 0);
    node *on = new_asgn(p, new_lvar(p, state), new_true(p));
    if (three) {
      return new_if(p, new_lvar(p, state),
                    cons((node*)NODE_BEGIN, list2(off, new_true(p))),
                    new_if(p, fg_condition(p, from), cons((node*)NODE_BEGIN, list2(on, new_true(p))), new_false(p)));
    }
    node *begins = new_if(p, fg_condition(p, from), on, new_false(p));
    return new_if(p, cons((node*)NODE_OR, cons(new_lvar(p, state), begins)),
                  cons((node*)NODE_BEGIN, list2(off, new_true(p))), new_false(p));
  }

  static node*
  fg_condition(parser_state *p, node *n)
  {
    if (!n) return n;
    switch (typen(n->car)) {
    case NODE_AND:
    case NODE_OR:
      n->cdr->car = fg_condition(p, n->cdr->car);
      n->cdr->cdr = fg_condition(p, n->cdr->cdr);
      return n;
    case NODE_BEGIN:
      if (n->cdr && !n->cdr->cdr) n->cdr->car = fg_condition(p, n->cdr->car);
      return n;
    case NODE_DOT2:
    case NODE_DOT3: {
      node *from = n->cdr->car, *to = n->cdr->cdr, *made;
      /* Numbers are compared with `$.`, which there is not; a range without an end is one. */
      if (!from || !to || typen(from->car) == NODE_NIL || typen(to->car) == NODE_NIL) return n;
      if (typen(from->car) == NODE_INT || typen(to->car) == NODE_INT) return n;
      made = fg_flip_flop(p, from, to, typen(n->car) == NODE_DOT3);
      return made ? made : n;
    }
    default:
      return n;
    }
  }

C

CONTROL_PARSER = [
  # A name that is no variable: a call with a list of no arguments, where `name()` has no list.
  ["      n = new_fcall(p, sym(lhs->cdr), 0);\n", "      n = new_fcall(p, sym(lhs->cdr), new_callargs(p, 0, 0, 0));\n"],
  ["/* (:while cond body) */\nstatic node*\nnew_while(", "#{BEGUN}/* (:while cond body) */\nstatic node*\nnew_while("],
  ["new_mod_rescue(parser_state *p, node *body, node *resq)\n{\n",
   "new_mod_rescue(parser_state *p, node *body, node *resq)\n{\n" \
   "  if (fg_rescued(p, body, resq)) return body;\n"],
  ["static node*\nnew_mod_rescue(",
   "static node* fg_rescued(parser_state*, node*, node*);\nstatic node* fg_condition(parser_state*, node*);\n" \
   "static node*\nnew_mod_rescue("],
  [/^static node\*\ncond\(node \*n\)\n\{/,
   "#{FLIP_FLOP}#define cond(n) fg_condition(p, cond_(n))\nstatic node*\ncond_(node *n)\n{"],
].freeze

CONTROL_GRAMMAR = [
  ["$$ = new_while(p, cond($3), $1);\n", "$$ = fg_loop(p, FALSE, cond($3), $1);\n"],
  ["$$ = new_until(p, cond($3), $1);\n", "$$ = fg_loop(p, TRUE, cond($3), $1);\n"],
  ["                  bodystmt\n                  keyword_end\n                    {\n" \
   "                      p->cmdarg_stack = $<stack>2;\n                      $$ = $3;\n",
   "                  bodystmt\n                  keyword_end\n                    {\n" \
   "                      p->cmdarg_stack = $<stack>2;\n                      $$ = fg_begun(p, $3);\n"],
  ["                      yyerror(p, \"constant re-assignment\");\n                      $$ = 0;\n",
   "                      $$ = new_op_asgn(p, new_colon2(p, $1, $3), $4, $5);\n"],
  ["                | primary_value tCOLON2 tCONSTANT tOP_ASGN arg_rhs\n                    {\n" \
   "                      yyerror(p, \"constant re-assignment\");\n                      $$ = new_begin(p, 0);\n",
   "                | primary_value tCOLON2 tCONSTANT tOP_ASGN arg_rhs\n                    {\n" \
   "                      $$ = new_op_asgn(p, new_colon2(p, $1, $3), $4, $5);\n"],
  ["                | tCOLON3 tCONSTANT tOP_ASGN arg_rhs\n                    {\n" \
   "                      yyerror(p, \"constant re-assignment\");\n                      $$ = new_begin(p, 0);\n",
   "                | tCOLON3 tCONSTANT tOP_ASGN arg_rhs\n                    {\n" \
   "                      $$ = new_op_asgn(p, new_colon3(p, $2), $3, $4);\n"],
].freeze

CONTROL_GENERATED = [
  ["(yyval.nd) = new_while(p, cond((yyvsp[0].nd)), (yyvsp[-2].nd));\n",
   "(yyval.nd) = fg_loop(p, FALSE, cond((yyvsp[0].nd)), (yyvsp[-2].nd));\n"],
  ["(yyval.nd) = new_until(p, cond((yyvsp[0].nd)), (yyvsp[-2].nd));\n",
   "(yyval.nd) = fg_loop(p, TRUE, cond((yyvsp[0].nd)), (yyvsp[-2].nd));\n"],
  ["                      p->cmdarg_stack = (yyvsp[-2].stack);\n                      (yyval.nd) = (yyvsp[-1].nd);\n" \
   "                    }\n#line 8349",
   "                      p->cmdarg_stack = (yyvsp[-2].stack);\n" \
   "                      (yyval.nd) = fg_begun(p, (yyvsp[-1].nd));\n                    }\n#line 8349"],
  ["                      yyerror(p, \"constant re-assignment\");\n                      (yyval.nd) = 0;\n",
   "                      (yyval.nd) = new_op_asgn(p, new_colon2(p, (yyvsp[-4].nd), (yyvsp[-2].id)), " \
   "(yyvsp[-1].id), (yyvsp[0].nd));\n"],
  ["                      yyerror(p, \"constant re-assignment\");\n                      (yyval.nd) = new_begin(p, " \
    "0);\n" \
   "                    }\n#line 7658",
   "                      (yyval.nd) = new_op_asgn(p, new_colon2(p, (yyvsp[-4].nd), (yyvsp[-2].id)), " \
   "(yyvsp[-1].id), (yyvsp[0].nd));\n                    }\n#line 7658"],
  ["                      yyerror(p, \"constant re-assignment\");\n                      (yyval.nd) = new_begin(p, " \
    "0);\n" \
   "                    }\n#line 7667",
   "                      (yyval.nd) = new_op_asgn(p, new_colon3(p, (yyvsp[-2].id)), " \
   "(yyvsp[-1].id), (yyvsp[0].nd));\n                    }\n#line 7667"],
].freeze

# What the targets of a multiple assignment need is evaluated first, from left to right, and kept in registers:
# receivers, arguments, and the modules of constants.
TARGETS = <<~'C'.freeze
  static node*
  fg_cell(codegen_scope *s, node *car, node *cdr)
  {
    node *n = (node*)codegen_palloc(s, sizeof(node));

    n->car = car;
    n->cdr = cdr;
    n->lineno = s->lineno;
    n->filename_index = s->filename_index;
    return n;
  }

  static mrb_bool
  fg_plain(node *n)
  {
    switch (nint(n->car)) {
    case NODE_NVAR: case NODE_SELF: case NODE_INT: case NODE_SYM: case NODE_NIL: case NODE_TRUE: case NODE_FALSE:
      return TRUE;
    default: return FALSE;
    }
  }

  static node*
  fg_kept(codegen_scope *s, node *n)
  {
    if (!n || fg_plain(n)) return n;
    if (nint(n->car) == NODE_SPLAT) return fg_cell(s, n->car, fg_kept(s, n->cdr));
    if (nint(n->car) == NODE_BLOCK_ARG) return n;
    int reg = cursp();
    codegen(s, n, VAL);
    return fg_cell(s, (node*)NODE_NVAR, (node*)(intptr_t)reg);
  }

  static node* fg_targets(codegen_scope *s, node *list);

  static node*
  fg_each_target(codegen_scope *s, node *list)
  {
    if (!list) return NULL;
    node *target = list->car, *made = target;
    switch (nint(target->car)) {
    case NODE_MASGN:
      made = fg_cell(s, target->car, fg_cell(s, fg_targets(s, target->cdr->car), target->cdr->cdr));
      break;
    case NODE_CALL: {
      node *receiver = fg_kept(s, target->cdr->car);
      node *rest = target->cdr->cdr->cdr, *args = rest ? rest->car : NULL;
      if (args) {
        node *kept = NULL, **end = &kept;
        for (node *a = args->car; a; a = a->cdr) {
          *end = fg_cell(s, fg_kept(s, a->car), NULL);
          end = &(*end)->cdr;
        }
        rest = fg_cell(s, fg_cell(s, kept, args->cdr), rest->cdr);
      }
      made = fg_cell(s, target->car, fg_cell(s, receiver, fg_cell(s, target->cdr->cdr->car, rest)));
      break;
    }
    case NODE_COLON2:
      made = fg_cell(s, target->car, fg_cell(s, fg_kept(s, target->cdr->car), target->cdr->cdr));
      break;
    }
    return fg_cell(s, made, fg_each_target(s, list->cdr));
  }

  /* (before . (rest . (after))) */
  static node*
  fg_targets(codegen_scope *s, node *list)
  {
    node *before = fg_each_target(s, list->car), *t = list->cdr;

    if (!t) return fg_cell(s, before, NULL);
    node *rest = t->car, *after = t->cdr;
    if (rest && rest != (node*)-1) rest = fg_each_target(s, fg_cell(s, rest, NULL))->car;
    if (after) after = fg_cell(s, fg_each_target(s, after->car), after->cdr);
    return fg_cell(s, before, fg_cell(s, rest, after));
  }

  static mrb_bool
  fg_needs(node *list)
  {
    node *t = list->cdr;
    node *rest = t ? t->car : NULL, *after = t && t->cdr ? t->cdr->car : NULL;

    for (int part = 0; part < 2; part++) {
      for (node *n = part ? after : list->car; n; n = n->cdr) {
        int type = nint(n->car->car);
        if (type == NODE_CALL || type == NODE_COLON2) return TRUE;
        if (type == NODE_MASGN && fg_needs(n->car->cdr->car)) return TRUE;
      }
    }
    if (!rest || rest == (node*)-1) return FALSE;
    return nint(rest->car) == NODE_CALL || nint(rest->car) == NODE_COLON2;
  }

  /* `redo`, `next` and `retry` jump to where a clause begins: what an ensure clause covers begins behind that. */
  static void
  fg_begin_apart(codegen_scope *s)
  {
    if (s->lastlabel == s->pc) genop_0(s, OP_NOP);
  }

  static struct loopinfo*
  fg_loop(codegen_scope *s)
  {
    struct loopinfo *loop = s->loop;

    while (loop && (loop->type == LOOP_BEGIN || loop->type == LOOP_RESCUE)) loop = loop->prev;
    return loop;
  }

C

CONTROL_CODEGEN = [
  [/^static void\nfg_super_keywords\(/, "#{TARGETS}static void\nfg_super_keywords("],
  ["    if (!s->loop) {\n      raise_error(s, \"unexpected next\");\n    }\n" \
   "    else if (s->loop->type == LOOP_NORMAL) {\n      codegen(s, tree, NOVAL);\n" \
   "      genjmp(s, OP_JMPUW, s->loop->pc0);\n    }\n",
   "    if (!fg_loop(s)) {\n      raise_error(s, \"unexpected next\");\n    }\n" \
   "    else if (fg_loop(s)->type == LOOP_NORMAL) {\n      codegen(s, tree, NOVAL);\n" \
   "      genjmp(s, OP_JMPUW, fg_loop(s)->pc0);\n    }\n"],
  ["    if (!s->loop || s->loop->type == LOOP_BEGIN || s->loop->type == LOOP_RESCUE) {\n",
   "    if (!fg_loop(s)) {\n"],
  ["      genjmp(s, OP_JMPUW, s->loop->pc1);\n", "      genjmp(s, OP_JMPUW, fg_loop(s)->pc1);\n"],
  # The value of `break` is where the loop wants it, not where the innermost `begin` does.
  ["    loop = s->loop;\n    if (tree) {\n", "    loop = fg_loop(s);\n    if (tree && loop) {\n"],
  ["      catch_entry = catch_handler_new(s);\n      begin = s->pc;\n      codegen(s, tree->car, val);\n" \
   "      end = target = s->pc;\n",
   "      fg_begin_apart(s);\n" \
   "      catch_entry = catch_handler_new(s);\n      begin = s->pc;\n      codegen(s, tree->car, val);\n" \
   "      end = target = s->pc;\n"],
  ["  case NODE_FOR:\n    for_body(s, tree);\n",
   "  case NODE_WHILE_MOD:\n  case NODE_UNTIL_MOD:\n    {\n" \
   "      struct loopinfo *lp = loop_push(s, LOOP_NORMAL);\n\n" \
   "      if (!val) lp->reg = -1;\n" \
   "      uint32_t first = genjmp_0(s, OP_JMP);\n" \
   "      lp->pc0 = new_label(s);\n" \
   "      codegen(s, tree->car, VAL);\n" \
   "      pop();\n" \
   "      uint32_t pos = genjmp2_0(s, nt == NODE_WHILE_MOD ? OP_JMPNOT : OP_JMPIF, cursp(), NOVAL);\n" \
   "      dispatch(s, first);\n" \
   "      lp->pc1 = new_label(s);\n" \
   "      codegen(s, tree->cdr, NOVAL);\n" \
   "      genjmp(s, OP_JMP, lp->pc0);\n" \
   "      dispatch(s, pos);\n" \
   "      loop_pop(s, val);\n    }\n    break;\n\n" \
   "  case NODE_FOR:\n    for_body(s, tree);\n"],
  # A splat without a subject is true when one of its values is.
  ["          else {\n            pop();\n          }\n          tmp = genjmp2(s, OP_JMPIF, cursp(), pos2, !head);\n",
   "          else {\n            pop();\n" \
   "            if (nint(n->car->car) == NODE_SPLAT) {\n" \
   "              genop_1(s, OP_ARYSPLAT, cursp());\n" \
   "              push(); push(); pop(); pop();\n" \
   "              genop_3(s, OP_SEND, cursp(), new_sym(s, MRB_SYM_Q_2(s->mrb, any)), 0);\n            }\n          " \
     "}\n" \
   "          tmp = genjmp2(s, OP_JMPIF, cursp(), pos2, !head);\n"],
  ["      node *t = tree->cdr, *p;\n      int rhs = cursp();\n\n",
   "      node *t = tree->cdr, *p;\n      int fg_first = cursp();\n      mrb_bool fg_apart = t && " \
     "fg_needs(tree->car);\n" \
   "      if (fg_apart) {\n        if (val) push();\n" \
   "        tree = fg_cell(s, fg_targets(s, tree->car), tree->cdr);\n      }\n" \
   "      int rhs = cursp();\n\n"],
  ["        gen_massignment(s, tree->car, rhs, val);\n        if (!val) {\n          pop();\n        }\n      }\n",
   "        gen_massignment(s, tree->car, rhs, val);\n        if (!val) {\n          pop();\n        }\n      }\n" \
   "      if (fg_apart) {\n        if (val) gen_move(s, fg_first, rhs, 1);\n" \
   "        s->sp = val ? fg_first + 1 : fg_first;\n      }\n"],
  # The values behind a splat are out of the way while its target is called.
  ["    genop_3(s, OP_APOST, cursp(), n, post);\n    n = 1;\n    if (t->car && t->car != (node*)-1) { /* rest */\n" \
   "      gen_assignment(s, t->car, NULL, cursp(), NOVAL);\n    }\n",
   "    genop_3(s, OP_APOST, cursp(), n, post);\n    n = 1;\n    int fg_values = cursp();\n    push_n(post+1);\n" \
   "    if (t->car && t->car != (node*)-1) { /* rest */\n" \
   "      gen_assignment(s, t->car, NULL, fg_values, NOVAL);\n    }\n"],
  ["        gen_assignment(s, t->car, NULL, cursp()+n, NOVAL);\n        t = t->cdr;\n        n++;\n      }\n    }\n" \
   "    if (val) {\n      gen_move(s, cursp(), rhs, 0);\n",
   "        gen_assignment(s, t->car, NULL, fg_values+n, NOVAL);\n        t = t->cdr;\n        n++;\n      }\n    }\n" \
   "    pop_n(post+1);\n    if (val) {\n      gen_move(s, cursp(), rhs, 0);\n"],
  # `next *list` is an Array.
  ["      if (tree) {\n        codegen(s, tree, VAL);\n        pop();\n      }\n      else {\n" \
   "        genop_1(s, OP_LOADNIL, cursp());\n      }\n      gen_return(s, OP_RETURN, cursp());\n",
   "      if (tree) {\n        gen_retval(s, tree);\n      }\n      else {\n" \
   "        genop_1(s, OP_LOADNIL, cursp());\n      }\n      gen_return(s, OP_RETURN, cursp());\n"],
  # `f(a = b)` in a block: what is assigned is the argument as well.
  ["gen_setupvar(codegen_scope *s, uint16_t dst, mrb_sym id)\n{\n  int idx;\n  int lv = search_upvar(s, id, " \
    "&idx);\n\n" \
   "  if (!no_peephole(s)) {\n",
   "gen_setupvar(codegen_scope *s, uint16_t dst, mrb_sym id, int val)\n{\n  int idx;\n" \
   "  int lv = search_upvar(s, id, &idx);\n\n  if (!val && !no_peephole(s)) {\n"],
  ["      gen_setupvar(s, sp, nsym(tree));\n", "      gen_setupvar(s, sp, nsym(tree), val);\n"],
  # A mere name is told from a call: who rescues a NameError rescues it.
  ["    genop_3(s, blk ? OP_SSENDB : OP_SSEND, cursp(), new_sym(s, sym), n|(nk<<4));\n",
   "    genop_3(s, blk ? OP_SSENDB : OP_SSEND, cursp(), new_sym(s, sym), n|(nk<<4));\n" \
   "    if (tree && n == 0 && nk == 0 && !blk) genop_0(s, OP_NOP);\n"],
  # `nil?` may be anybody's; what is asked here is our own question, of `a&.b += 1`.
  ["      if (nint(tree->car->car) == NODE_CALL) {\n        node *n = tree->car->cdr;\n        mrb_sym mid",
   "      if (nint(tree->car->car) == NODE_CALL && tree->car->cdr->car &&\n" \
   "          nint(tree->car->cdr->car->car) == NODE_ASGN) {\n        node *n = tree->car->cdr;\n        mrb_sym mid"],
  # The module of `Mod::A ||= 1` is evaluated once; that there is no constant is no error.
  ["      int idx, callargs = -1, vsp = -1;\n\n" \
   "      if ((len == 2 && name[0] == '|' && name[1] == '|') &&\n",
   "      int idx, callargs = -1, vsp = -1;\n\n" \
   "      if (nint(tree->car->car) == NODE_COLON2 && !fg_plain(tree->car->cdr->car)) {\n" \
   "        int fg_value = cursp();\n" \
   "        if (val) push();\n" \
   "        node *apart = fg_cell(s, tree->car->car, fg_cell(s, fg_kept(s, tree->car->cdr->car), " \
     "tree->car->cdr->cdr));\n" \
   "        if (nint(apart->cdr->car->car) == NODE_NVAR) {\n" \
   "          int at = cursp();\n" \
   "          codegen(s, fg_cell(s, (node*)NODE_OP_ASGN, fg_cell(s, apart, tree->cdr)), val);\n" \
   "          if (val) gen_move(s, fg_value, at, 1);\n" \
   "          s->sp = val ? fg_value + 1 : fg_value;\n" \
   "          goto exit;\n        }\n      }\n" \
   "      if ((len == 2 && name[0] == '|' && name[1] == '|') &&\n" \
   "          (nint(tree->car->car) == NODE_COLON2 ||\n           nint(tree->car->car) == NODE_COLON3 ||\n"],
  ["          (nint(tree->car->car) == NODE_CONST ||\n           nint(tree->car->car) == NODE_CVAR)) {\n",
   "           nint(tree->car->car) == NODE_CONST ||\n           nint(tree->car->car) == NODE_CVAR)) {\n"],
].freeze

CONTROL_VM = [
  # Where an ensure clause ends what it covers, it begins itself: a jump there runs it, once.
  ["if (a < mrb_irep_catch_handler_unpack(ch->begin) || a >= mrb_irep_catch_handler_unpack(ch->end)) {\n",
   "if (a < mrb_irep_catch_handler_unpack(ch->begin) || a > mrb_irep_catch_handler_unpack(ch->end)) {\n"],
  # `rescue X` asks X, if X has a `===` of its own.
  ["      regs[b] = mrb_bool_value(mrb_obj_is_kind_of(mrb, exc, ec));\n",
   "      if (!mrb_func_basic_p(mrb, e, MRB_OPSYM(eqq), mrb_mod_eqq)) {\n" \
   "        mrb_value fg_answer = mrb_funcall_argv(mrb, e, MRB_OPSYM(eqq), 1, &exc);\n" \
   "        regs[b] = mrb_bool_value(mrb_test(fg_answer));\n" \
   "        mrb_gc_arena_restore(mrb, ai);\n        NEXT;\n      }\n" \
   "      regs[b] = mrb_bool_value(mrb_obj_is_kind_of(mrb, exc, ec));\n"],
  ["static const struct mrb_irep_catch_handler *\ncatch_handler_find(",
   "mrb_value mrb_mod_eqq(mrb_state*, mrb_value);\n" \
   "static const struct mrb_irep_catch_handler *\ncatch_handler_find("],
  # A bare `super` passes on what its rest argument is now, whatever that is.
  ["        if (mrb_array_p(stack[m1])) {\n",
   "        if (!mrb_array_p(stack[m1])) {\n          stack[m1] = mrb_ary_splat(mrb, stack[m1]);\n" \
   "          stack = lv == 0 ? regs + 1 : uvenv(mrb, lv-1)->stack + 1;\n        }\n" \
   "        if (mrb_array_p(stack[m1])) {\n"],
].freeze

CONTROL = {
  "src/class.c" => [["static mrb_value\nmrb_mod_eqq(", "mrb_value\nmrb_mod_eqq("]],
  "src/vm.c" => CONTROL_VM,
  "mrbgems/mruby-compiler/core/node.h" => [["  NODE_LAST\n", "  NODE_WHILE_MOD,\n  NODE_UNTIL_MOD,\n  NODE_LAST\n"]],
  "mrbgems/mruby-compiler/core/codegen.c" => CONTROL_CODEGEN,
  "include/mruby/compile.h" => [
    ["  mrb_bool fg_stars; /* the last token is ** */\n",
     "  mrb_bool fg_stars; /* the last token is ** */\n" \
     "  mrb_ast_node *fg_begun; /* every begin ... end */\n  int fg_flips; /* flip-flops so far */\n"],
  ],
}.freeze
