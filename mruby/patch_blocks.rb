# What patch.rb changes in mruby for blocks: those given from C, that of Class.new, and the variable that holds one.

# A block given from C reaches method_missing, too: the bodies of Rack::BodyProxy are read so.
MISSING_BLOCK = [
  ["      m = prepare_missing(mrb, ci, self, mid, mrb_nil_value(), FALSE);\n",
   "      m = prepare_missing(mrb, ci, self, mid, blk, FALSE);\n"],
].freeze

# `inherited` comes before the block of Class.new, which may need what it has set: Roda's plugins do.
CLASS_NEW = [
  ["    mrb_class_initialize(mrb, new_class);\n  }\n  else {\n" \
   "    mrb_funcall_with_block(mrb, new_class, mid, n, &super, blk);\n  }\n" \
   "  mrb_class_inherited(mrb, mrb_class_ptr(super), mrb_class_ptr(new_class));\n  return new_class;\n",
   "    mrb_class_inherited(mrb, mrb_class_ptr(super), mrb_class_ptr(new_class));\n" \
   "    if (!mrb_nil_p(blk)) {\n" \
   "      mrb_yield_with_class(mrb, blk, 1, &new_class, new_class, mrb_class_ptr(new_class));\n    }\n" \
   "    return new_class;\n  }\n" \
   "  mrb_funcall_with_block(mrb, new_class, mid, n, &super, blk);\n" \
   "  mrb_class_inherited(mrb, mrb_class_ptr(super), mrb_class_ptr(new_class));\n  return new_class;\n"],
].freeze

# `|a,|` takes the first of an array, as `|a, *|` does.
COMMA = [
  ["static node*\nnew_args_dots(parser_state *p, node *m)\n{\n",
   "static node*\nfg_comma(parser_state *p, node *m, node *tail)\n{\n" \
   "  node *last = p->locals->car;\n" \
   "  mrb_bool plain = typen(tail->car) == NODE_ARGS_TAIL && !tail->cdr->car && !tail->cdr->cdr->car &&\n" \
   "                   !sym(tail->cdr->cdr->cdr->car);\n\n" \
   "  if (m->cdr || !plain) return new_args(p, m, 0, 0, 0, tail);\n" \
   "  /* The rest stands before the block, which is the last by now. */\n" \
   "  while (last->cdr) last = last->cdr;\n" \
   "  last->cdr = cons(last->car, 0);\n" \
   "  last->car = nsym(intern_op(mul));\n" \
   "  return new_args(p, m, 0, intern_op(mul), 0, tail);\n}\n\n" \
   "static node*\nnew_args_dots(parser_state *p, node *m)\n{\n"],
].freeze
COMMA_GRAMMAR = [["$$ = new_args(p, $1, 0, 0, 0, $3);\n", "$$ = fg_comma(p, $1, $3);\n"]].freeze
COMMA_GENERATED = [
  ["(yyval.nd) = new_args(p, (yyvsp[-2].nd), 0, 0, 0, (yyvsp[0].nd));\n",
   "(yyval.nd) = fg_comma(p, (yyvsp[-2].nd), (yyvsp[0].nd));\n"],
].freeze

# `yield` takes the block from the register of the parameter that names it. Where a method has both, the parameter gets
# another register, so that what is assigned to it is not what `yield` calls: Roda's streams do that.
PARSER_STATE = [
  ["struct mrb_parser_state {\n", "struct mrb_parser_state {\n  int fg_yields; /* the method at hand does */\n" \
   "  mrb_bool fg_stars; /* the last token is ** */\n" \
   "  mrb_ast_node *fg_keywords; /* of a list of parameters under way */\n"],
].freeze

BLOCK_VARIABLE = [
  ["new_yield(parser_state *p, node *c)\n{\n",
   "new_yield(parser_state *p, node *c)\n{\n  p->fg_yields = 1;\n"],
  ["new_def(parser_state *p, mrb_sym m, node *a, node *b)\n{\n",
   "new_def(parser_state *p, mrb_sym m, node *a, node *b)\n{\n  p->fg_yields = 0;\n"],
  ["new_sdef(parser_state *p, node *o, mrb_sym m, node *a, node *b)\n{\n",
   "new_sdef(parser_state *p, node *o, mrb_sym m, node *a, node *b)\n{\n  p->fg_yields = 0;\n"],
  ["static void\ndefn_setup(parser_state *p, node *d, node *a, node *b)\n{\n",
   "static node* new_asgn(parser_state*, node*, node*);\n" \
   "static node*\nfg_own_block(parser_state *p, node *a, node *b)\n{\n" \
   "  node *tail = a->cdr->cdr->cdr->cdr;\n" \
   "  node *locals = p->locals->car, *begin;\n" \
   "  mrb_sym blk, own = intern_op(and);\n\n" \
   "  if (!p->fg_yields || tail == NULL || typen(tail->car) != NODE_ARGS_TAIL) return b;\n" \
   "  blk = sym(tail->cdr->cdr->cdr->car);\n" \
   "  if (blk == 0 || blk == own) return b;\n" \
   "  while (locals && sym(locals->car) != blk) locals = locals->cdr;\n" \
   "  if (locals == NULL) return b;\n" \
   "  locals->car = nsym(own);\n" \
   "  tail->cdr->cdr->cdr->car = nsym(own);\n" \
   "  local_add_f(p, blk);\n" \
   "  begin = new_begin(p, new_asgn(p, new_lvar(p, blk), new_lvar(p, own)));\n" \
   "  return b ? push(begin, b) : begin;\n}\n\n" \
   "static void\ndefn_setup(parser_state *p, node *d, node *a, node *b)\n{\n"],
  ["  node *n = d->cdr->cdr;\n\n  if (a == NULL) a = fg_no_args(p);\n",
   "  node *n = d->cdr->cdr;\n\n  if (a == NULL) a = fg_no_args(p);\n  b = fg_own_block(p, a, b);\n"],
  ["  node *n = d->cdr->cdr->cdr;\n\n  if (a == NULL) a = fg_no_args(p);\n",
   "  node *n = d->cdr->cdr->cdr;\n\n  if (a == NULL) a = fg_no_args(p);\n  b = fg_own_block(p, a, b);\n"],
].freeze
