/* Compiling and running source text: syntax errors become SyntaxError, and code runs with a given `self`. Also the file
 * of a caller, for __dir__ and require_relative. */
#include "fg.h"

#include <string.h>

#include <mruby/class.h>
#include <mruby/compile.h>
#include <mruby/debug.h>
#include <mruby/dump.h>
#include <mruby/error.h>
#include <mruby/irep.h>
#include <mruby/proc.h>
#include <mruby/string.h>

/* Declared in mruby/internal.h, which is for mruby's own files. */
struct RProc *mrb_proc_new(mrb_state *, const mrb_irep *);
int mrb_dump_irep(mrb_state *, const mrb_irep *, uint8_t flags, uint8_t **code, size_t *length);

/* Advice for syntax errors of pattern matching, which the parser does not have; its own message does not say so. */
static const char *hint(const char *error)
{
  if (!strstr(error, "unexpected \"'in'\"") && !strstr(error, "expecting local variable or method")) return "";
  return " (pattern matching, as in `case ... in`, `x in` and `x => [a, b]`, is not there: "
         "use `case ... when`, `if` or assignments)";
}

static mrb_value syntax_message(mrb_state *mrb, struct mrb_parser_state *parser, const char *name)
{
  mrb_value message = mrb_str_new_cstr(mrb, "");
  for (size_t i = 0; i < parser->nerr && i < 10; i++) {
    const struct mrb_parser_message *error = &parser->error_buffer[i];
    /* There was no memory for a message. */
    if (error->message == NULL) continue;
    if (i > 0) mrb_str_cat_lit(mrb, message, "\n");
    mrb_value line =
      mrb_format(mrb, "%s:%d: %s%s", name, (int)error->lineno, error->message, hint(error->message));
    mrb_str_cat_str(mrb, message, line);
  }
  return message;
}

/* Compiles a text whose first line has the given number. Raises SyntaxError with the first ten errors. The parser and
 * its context are freed before that: a longjmp would leak them. */
struct RProc *fg_compile(mrb_state *mrb, const char *source, size_t length, const char *name, mrb_int line)
{
  mrb_ccontext *context = mrb_ccontext_new(mrb);
  context->capture_errors = TRUE;
  context->lineno = (uint16_t)line;
  mrb_ccontext_filename(mrb, context, name);
  struct mrb_parser_state *parser = mrb_parse_nstring(mrb, source, length, context);
  struct RProc *proc = NULL;
  mrb_value message = mrb_nil_value();
  if (parser && parser->nerr == 0) proc = mrb_generate_code(mrb, parser);
  if (proc == NULL) message = parser ? syntax_message(mrb, parser, name) : mrb_nil_value();
  if (parser) mrb_parser_free(parser);
  mrb_ccontext_free(mrb, context);
  if (proc == NULL) {
    if (fg_of(mrb)->out_of_memory) mrb_exc_raise(mrb, mrb_obj_value(mrb->nomem_err));
    if (mrb_nil_p(message) || RSTRING_LEN(message) == 0) mrb_raisef(mrb, E_SYNTAX_ERROR, "%s cannot be compiled", name);
    mrb_exc_raise(mrb, mrb_exc_new_str(mrb, E_SYNTAX_ERROR, message));
  }
  mrb_gc_protect(mrb, mrb_obj_value(proc));
  return proc;
}

/* Says that code is the core's own, which calls its own methods (mruby/patches, core-calls). */
static void mark_core(const mrb_irep *irep)
{
#ifdef FG_IREP_CORE
  ((mrb_irep *)irep)->flags |= FG_IREP_CORE;
  for (int i = 0; i < irep->rlen; i++) mark_core(irep->reps[i]);
#else
  (void)irep;
#endif
}

static mrb_value run(mrb_state *mrb, struct RProc *proc, mrb_value self)
{
  struct RClass *target = mrb->object_class;
  MRB_PROC_SET_TARGET_CLASS(proc, target);
  return mrb_top_run(mrb, proc, self, 0);
}

struct text { const char *bytes; size_t length; const char *name; };

static uint8_t *dump(mrb_state *mrb, struct RProc *proc, const char *name, size_t *length)
{
  uint8_t *code = NULL;
  if (mrb_dump_irep(mrb, proc->body.irep, MRB_DUMP_DEBUG_INFO, &code, length) != MRB_DUMP_OK) {
    mrb_raisef(mrb, E_RUNTIME_ERROR, "%s cannot be written as bytecode", name);
  }
  return code;
}

static mrb_value compile_body(mrb_state *mrb, void *data)
{
  struct text *text = data;
  struct RProc *proc = fg_compile(mrb, text->bytes, text->length, text->name, 1);
  size_t length;
  uint8_t *code = dump(mrb, proc, text->name, &length);
  fg_host_compiled(fg_of(mrb)->host, (const char *)code, length);
  mrb_free(mrb, code);
  return mrb_nil_value();
}

/* Compiles a text to bytecode and passes it to fg_host_compiled. */
int fg_vm_compile(fg_vm *vm, const char *source, size_t length, const char *name)
{
  struct text text = {source, length, name};
  return fg_guard(vm, compile_body, &text);
}

/* Runs bytecode. The proc takes its own reference to the irep, so that ours is dropped before the code can raise. */
static mrb_value run_code(mrb_state *mrb, const char *code, size_t length, bool core)
{
  mrb_irep *irep = mrb_read_irep_buf(mrb, code, length);
  if (irep == NULL) mrb_raise(mrb, E_RUNTIME_ERROR, "this is no bytecode of this mruby");
  if (core) mark_core(irep);
  struct RProc *proc = mrb_proc_new(mrb, irep);
  proc->c = NULL;
  mrb_irep_decref(mrb, irep);
  mrb_gc_protect(mrb, mrb_obj_value(proc));
  return run(mrb, proc, mrb_top_self(mrb));
}

static mrb_value run_body(mrb_state *mrb, void *data)
{
  struct text *text = data;
  return run_code(mrb, text->bytes, text->length, true);
}

/* Runs bytecode from fg_vm_compile. */
int fg_vm_run(fg_vm *vm, const char *code, size_t length)
{
  struct text text = {code, length, NULL};
  return fg_guard(vm, run_body, &text);
}

/* FoolsGold.run_source(text, name, self): compiles and runs a text; raises what the text raises. */
static mrb_value run_source(mrb_state *mrb, mrb_value module)
{
  mrb_value source, file, self;
  (void)module;
  mrb_get_args(mrb, "SSo", &source, &file, &self);
  const char *name = RSTRING_CSTR(mrb, file), *text = RSTRING_PTR(source);
  mrb_int length = RSTRING_LEN(source);
  /* Some editors write a byte order mark, which mruby's parser would take for code. */
  if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
    text += 3;
    length -= 3;
  }
  return run(mrb, fg_compile(mrb, text, length, name, 1), self);
}

/* FoolsGold.run_library(name): runs one of our libraries; false where there is no file for it. The first interpreter
 * compiles it and keeps the bytecode for all others. */
static mrb_value run_library(mrb_state *mrb, mrb_value module)
{
  const char *name, *text;
  size_t length, size;
  bool is_code;
  (void)module;
  mrb_get_args(mrb, "z", &name);
  length = strlen(name);
  /* The others may be Ruby in CRuby as well. */
  bool core = strncmp(name, "foolsgold/", 10) == 0;
  size = fg_host_library(name, length, &text, &is_code);
  if (size == 0) return mrb_false_value();
  if (is_code) {
    run_code(mrb, text, size, core);
    return mrb_true_value();
  }
  struct RProc *proc = fg_compile(mrb, text, size, name, 1);
  size_t code_length;
  uint8_t *code = dump(mrb, proc, name, &code_length);
  fg_host_library_compiled(name, length, (const char *)code, code_length);
  mrb_free(mrb, code);
  if (core) mark_core(proc->body.irep);
  run(mrb, proc, mrb_top_self(mrb));
  return mrb_true_value();
}

/* FoolsGold.caller_file(depth): the file of the Ruby code `depth` Ruby frames above the caller, or nil. */
static mrb_value caller_file(mrb_state *mrb, mrb_value module)
{
  mrb_int depth;
  (void)module;
  mrb_get_args(mrb, "i", &depth);
  for (mrb_callinfo *ci = mrb->c->ci - 1; ci >= mrb->c->cibase; ci--) {
    const struct RProc *proc = ci->proc;
    if (proc == NULL || MRB_PROC_CFUNC_P(proc) || MRB_PROC_ALIAS_P(proc)) continue;
    if (proc->body.irep == NULL || ci->pc == NULL) continue;
    if (depth-- > 0) continue;
    const mrb_irep *irep = proc->body.irep;
    const char *name = mrb_debug_get_filename(mrb, irep, (uint32_t)(ci->pc - irep->iseq - 1));
    return name ? mrb_str_new_cstr(mrb, name) : mrb_nil_value();
  }
  return mrb_nil_value();
}

void fg_load_init(mrb_state *mrb)
{
  struct RClass *module = mrb_module_get(mrb, "FoolsGold");
  mrb_define_module_function(mrb, module, "run_source", run_source, MRB_ARGS_REQ(3));
  mrb_define_module_function(mrb, module, "run_library", run_library, MRB_ARGS_REQ(1));
  mrb_define_module_function(mrb, module, "caller_file", caller_file, MRB_ARGS_REQ(1));
}
