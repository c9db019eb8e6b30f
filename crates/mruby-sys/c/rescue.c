/* `$!`, a bare `raise` and Exception#cause, as in CRuby; mruby has none of them.
 *
 * The virtual machine calls on_except each time a rescue or ensure clause gets an exception (mruby/patches,
 * exceptions): with the frame, and the begin of the clause in its code. When `$!` is read later, a recorded exception
 * counts if its frame still exists and is still inside that clause. The clause ends at the OP_RAISEIF that the compiler
 * always puts behind it; clauses nest like brackets, so the matching one is found by counting. */
#include "fg.h"

#include <stdlib.h>

#include <mruby/array.h>
#include <mruby/class.h>
#include <mruby/error.h>
#include <mruby/irep.h>
#include <mruby/opcode.h>
#include <mruby/proc.h>
#include <mruby/string.h>
#include <mruby/variable.h>

struct fg_handled {
  struct mrb_context *fiber;
  ptrdiff_t frame;
  const mrb_irep *irep;
  uint32_t begin, end; /* offsets into the code of the frame */
};

/* Clauses that can be open at once in one fiber: frames are limited by MRB_CALL_LEVEL_MAX. */
#define HANDLED_MAX 16384

extern void (*fg_on_except)(mrb_state *, const mrb_code *, int, mrb_value) __attribute__((weak));
extern void (*fg_on_raise)(mrb_state *, mrb_value) __attribute__((weak));
extern int (*fg_on_gv_get)(mrb_state *, mrb_sym, mrb_value *) __attribute__((weak));

/* Bytes of operands behind each opcode, from mruby's own table: plain, and how many more there are behind OP_EXT1
 * (first operand wide), OP_EXT2 (second) and OP_EXT3 (both). Only operands of one byte can become wide. */
struct operands { uint8_t plain, extra[3]; };
#define KIND_Z {0, {0, 0, 0}}
#define KIND_B {1, {1, 0, 1}}
#define KIND_BB {2, {1, 1, 2}}
#define KIND_BBB {3, {1, 1, 2}}
#define KIND_BS {3, {1, 0, 1}}
#define KIND_BSS {5, {1, 0, 1}}
#define KIND_S {2, {0, 0, 0}}
#define KIND_W {3, {0, 0, 0}}
static const struct operands operands[] = {
#define OPCODE(name, kind) KIND_##kind,
#include <mruby/ops.h>
#undef OPCODE
};

static uint32_t instruction_length(const mrb_code *code)
{
  uint8_t op = code[0];
  if (op != OP_EXT1 && op != OP_EXT2 && op != OP_EXT3) return 1u + operands[op].plain;
  return 2u + operands[code[1]].plain + operands[code[1]].extra[op - OP_EXT1];
}

/* The offset of the OP_RAISEIF that ends the clause beginning at `begin`. OP_EXCEPT begins a clause inside it. */
static uint32_t end_of_clause(const mrb_irep *irep, uint32_t begin)
{
  int depth = 1;
  uint32_t at = begin;
  while (at < irep->ilen) {
    const mrb_code *code = irep->iseq + at;
    uint8_t op = code[0];
    if (op == OP_EXT1 || op == OP_EXT2 || op == OP_EXT3) op = code[1];
    if (op == OP_EXCEPT) depth++;
    if (op == OP_RAISEIF && --depth == 0) return at;
    at += instruction_length(code);
  }
  return irep->ilen;
}

/* Whether a recorded clause still runs. A later call may use the same frame, so that its code must be the same too. */
static bool is_open(mrb_state *mrb, const struct fg_handled *handled)
{
  struct mrb_context *fiber = handled->fiber;
  if (fiber != mrb->c) return false;
  if (handled->frame > fiber->ci - fiber->cibase) return false;
  const mrb_callinfo *ci = fiber->cibase + handled->frame;
  if (ci->proc == NULL || MRB_PROC_CFUNC_P(ci->proc) || ci->proc->body.irep != handled->irep) return false;
  ptrdiff_t at = ci->pc - handled->irep->iseq;
  return at >= (ptrdiff_t)handled->begin && at <= (ptrdiff_t)handled->end;
}

/* Removes records that a clause beginning at `begin` shows to be closed: those of frames that are gone, of clauses that
 * were left, and of this very clause or one inside it, from an earlier iteration of a loop. */
static void forget_closed(mrb_state *mrb, fg_vm *vm, ptrdiff_t frame, uint32_t begin)
{
  while (vm->handled_count > 0) {
    struct fg_handled *last = &vm->handled[vm->handled_count - 1];
    if (last->fiber != mrb->c) break;
    bool again = last->frame == frame && last->begin >= begin;
    if (!again && is_open(mrb, last)) break;
    vm->handled_count--;
  }
}

/* The exception being handled now, or nil. */
static mrb_value current(mrb_state *mrb)
{
  fg_vm *vm = fg_of(mrb);
  for (size_t i = vm->handled_count; i > 0; i--) {
    if (is_open(mrb, &vm->handled[i - 1])) return RARRAY_PTR(vm->handled_exceptions)[i - 1];
  }
  return mrb_nil_value();
}

static bool is_waiting(mrb_state *mrb, const struct mrb_context *fiber)
{
  for (const struct mrb_context *c = mrb->c; c != NULL; c = c->prev) if (c == fiber) return true;
  return fiber == mrb->root_c;
}

/* Removes records of fibers that no other fiber waits for. A fiber that ended in the middle of a clause leaves its
 * records behind, which is why this runs when there are too many. */
static void forget_fibers(mrb_state *mrb, fg_vm *vm)
{
  size_t kept = 0;
  for (size_t i = 0; i < vm->handled_count; i++) {
    if (!is_waiting(mrb, vm->handled[i].fiber)) continue;
    vm->handled[kept] = vm->handled[i];
    mrb_ary_set(mrb, vm->handled_exceptions, (mrb_int)kept, RARRAY_PTR(vm->handled_exceptions)[i]);
    kept++;
  }
  vm->handled_count = kept;
}

static void on_except(mrb_state *mrb, const mrb_code *pc, int reg, mrb_value exception)
{
  fg_vm *vm = fg_of(mrb);
  (void)reg;
  if (vm == NULL || mrb_type(exception) != MRB_TT_EXCEPTION) return;
  const mrb_irep *irep = mrb->c->ci->proc->body.irep;
  uint32_t begin = (uint32_t)(pc - irep->iseq);
  ptrdiff_t frame = mrb->c->ci - mrb->c->cibase;
  forget_closed(mrb, vm, frame, begin);
  if (vm->handled_count >= HANDLED_MAX) forget_fibers(mrb, vm);
  if (vm->handled_count >= HANDLED_MAX) return;
  if (vm->handled_count == vm->handled_room) {
    size_t room = vm->handled_room ? vm->handled_room * 2 : 16;
    struct fg_handled *grown = realloc(vm->handled, room * sizeof *grown);
    if (grown == NULL) return;
    vm->handled = grown;
    vm->handled_room = room;
  }
  struct fg_handled entry = {mrb->c, frame, irep, begin, end_of_clause(irep, begin)};
  /* The Array first: it can raise NoMemoryError, and then nothing must have changed. */
  mrb_ary_set(mrb, vm->handled_exceptions, (mrb_int)vm->handled_count, exception);
  vm->handled[vm->handled_count++] = entry;
}

/* Sets the cause of an exception that is raised. Not while memory is short: an instance variable needs some. */
static void on_raise(mrb_state *mrb, mrb_value exception)
{
  fg_vm *vm = fg_of(mrb);
  if (vm == NULL || vm->handled_count == 0 || mrb_type(exception) != MRB_TT_EXCEPTION) return;
  if (mrb_frozen_p(mrb_obj_ptr(exception)) || mrb->gc.out_of_memory) return;
  mrb_sym name = mrb_intern_lit(mrb, "__cause");
  /* An exception that is raised again keeps its first cause, as in CRuby. */
  if (mrb_iv_defined(mrb, exception, name)) return;
  mrb_value cause = current(mrb);
  if (mrb_obj_equal(mrb, cause, exception)) return;
  mrb_iv_set(mrb, exception, name, cause);
}

static int on_gv_get(mrb_state *mrb, mrb_sym name, mrb_value *value)
{
  if (fg_of(mrb) == NULL) return 0;
  mrb_sym means = fg_global_name(fg_of(mrb), name);
  if (means != name) {
    *value = mrb_gv_get(mrb, means);
    return 1;
  }
  /* "$!" is short enough to be packed into the symbol itself, so that this only compares two numbers. */
  if (name != mrb_intern_lit(mrb, "$!")) {
    return fg_match_global(mrb, name, value) || fg_global_backtrace(mrb, name, value);
  }
  *value = current(mrb);
  return 1;
}

/* FoolsGold.handled_exception */
static mrb_value handled_exception(mrb_state *mrb, mrb_value module)
{
  (void)module;
  return current(mrb);
}

static mrb_value cause_of(mrb_state *mrb, mrb_value exception)
{
  return mrb_iv_get(mrb, exception, mrb_intern_lit(mrb, "__cause"));
}

/* raise; raise Class; raise "message"; raise Class, "message"; raise …, cause: exception. */
static mrb_value fg_raise(mrb_state *mrb, mrb_value self)
{
  mrb_value *args;
  mrb_int count;
  (void)self;
  mrb_get_args(mrb, "*", &args, &count);
  mrb_bool has_cause = FALSE;
  mrb_value cause = mrb_nil_value();
  if (count > 0 && mrb_hash_p(args[count - 1])) {
    mrb_value key = mrb_symbol_value(mrb_intern_lit(mrb, "cause"));
    if (mrb_test(mrb_funcall(mrb, args[count - 1], "key?", 1, key))) {
      has_cause = TRUE;
      cause = mrb_funcall(mrb, args[count - 1], "[]", 1, key);
      count--;
      if (count == 0) mrb_raise(mrb, E_ARGUMENT_ERROR, "only cause is given with no arguments");
      if (!mrb_nil_p(cause) && !mrb_obj_is_kind_of(mrb, cause, mrb->eException_class)) {
        mrb_raise(mrb, E_TYPE_ERROR, "exception object expected");
      }
    }
  }
  mrb_value exception;
  if (count == 0) {
    exception = current(mrb);
    if (mrb_nil_p(exception)) {
      exception = mrb_exc_new_str(mrb, E_RUNTIME_ERROR, mrb_str_new_lit(mrb, ""));
    }
  }
  else if (mrb_string_p(args[0]) && count > 1) {
    mrb_raise(mrb, E_TYPE_ERROR, "exception class/object expected");
  }
  else if (mrb_string_p(args[0]) && count == 1) {
    exception = mrb_exc_new_str(mrb, E_RUNTIME_ERROR, args[0]);
  }
  else if (mrb_respond_to(mrb, args[0], mrb_intern_lit(mrb, "exception"))) {
    exception = mrb_funcall_argv(mrb, args[0], mrb_intern_lit(mrb, "exception"), count > 1 ? 1 : 0, args + 1);
  }
  else {
    mrb_raise(mrb, E_TYPE_ERROR, "exception class/object expected");
  }
  if (mrb_type(exception) != MRB_TT_EXCEPTION) mrb_raise(mrb, E_TYPE_ERROR, "exception object expected");
  if (count > 2) mrb_funcall(mrb, exception, "set_backtrace", 1, args[2]);
  if (has_cause && !mrb_obj_equal(mrb, cause, exception)) {
    mrb_iv_set(mrb, exception, mrb_intern_lit(mrb, "__cause"), cause);
  }
  mrb->c->ci->mid = 0; /* `raise` itself has no line in the backtrace */
  mrb_exc_raise(mrb, exception);
  return mrb_nil_value();
}

int fg_can_rescue(void) { return &fg_on_except != NULL; }

void fg_rescue_init(mrb_state *mrb, fg_vm *vm)
{
  vm->handled_exceptions = mrb_ary_new(mrb);
  mrb_gc_register(mrb, vm->handled_exceptions);
  if (fg_can_rescue()) {
    fg_on_except = on_except;
    fg_on_raise = on_raise;
    fg_on_gv_get = on_gv_get;
  }
  struct RClass *module = mrb_module_get(mrb, "FoolsGold");
  mrb_define_module_function(mrb, module, "handled_exception", handled_exception, MRB_ARGS_NONE());
  mrb_define_method(mrb, mrb->eException_class, "cause", cause_of, MRB_ARGS_NONE());
  mrb_define_method(mrb, mrb->kernel_module, "raise", fg_raise, MRB_ARGS_ANY());
  mrb_define_method(mrb, mrb->kernel_module, "fail", fg_raise, MRB_ARGS_ANY());
  mrb_define_class_method(mrb, mrb->kernel_module, "raise", fg_raise, MRB_ARGS_ANY());
}

/* Removes all records. Between requests no clause is open, and the records would keep exceptions alive. */
void fg_rescue_reset(fg_vm *vm)
{
  if (vm->handled_count == 0 && RARRAY_LEN(vm->handled_exceptions) == 0) return;
  vm->handled_count = 0;
  mrb_ary_clear(vm->mrb, vm->handled_exceptions);
}

void fg_rescue_close(fg_vm *vm)
{
  free(vm->handled);
  vm->handled = NULL;
}
