/* Running Ruby code with limits on memory and time, and reporting exceptions to the host. */
#include "fg.h"

#include <string.h>

#include <mruby/array.h>
#include <mruby/class.h>
#include <mruby/error.h>
#include <mruby/gc.h>
#include <mruby/proc.h>
#include <mruby/string.h>

/* Instructions that an interrupted script may run, for its ensure clauses, before it is interrupted again. */
#define STOP_GRACE 10000

/* Instructions that each look at the clock counts for then: the work in C around it takes longer than one. */
#define LOOK_INSTRUCTIONS 10

/* Bytes of the C stack (stack.rs), and those of them below which C calls Ruby; the rest is for what runs in between. */
#define STACK_BYTES (16 << 20)
#define DEEP_BYTES (10 << 20)

extern int (*fg_is_deep)(mrb_state *) __attribute__((weak));

/* Bytes of the C stack in use since Ruby was entered; 0 where it was not. */
ptrdiff_t fg_stack_used(mrb_state *mrb)
{
  const fg_vm *vm = fg_of(mrb);
  if (vm == NULL || vm->stack == NULL) return 0;
  return vm->stack - (const char *)__builtin_frame_address(0);
}

/* Whether the C stack is too full for C to call Ruby again (mruby/patches, c-stack). */
static int is_deep(mrb_state *mrb) { return fg_stack_used(mrb) > DEEP_BYTES; }

void fg_guard_init(void)
{
  if (&fg_is_deep) fg_is_deep = is_deep;
}

/* Counts memory that Rust holds for an object of this interpreter; false where it does not fit in the limit. Unlike
 * mruby's allocator it must collect garbage itself. */
bool fg_reserve(mrb_state *mrb, size_t bytes)
{
  fg_vm *vm = fg_of(mrb);
  if (!vm->closing && vm->used + bytes > vm->limit) mrb_full_gc(mrb);
  if (!vm->closing && vm->used + bytes > vm->limit) {
    vm->out_of_memory = true;
    fg_note_places(vm);
    return false;
  }
  vm->used += bytes;
  return true;
}

void fg_release(mrb_state *mrb, size_t bytes)
{
  fg_of(mrb)->used -= bytes;
}

/* Ends the block of a Timeout. Timeout.timeout turns the exception into one that a rescue sees. */
static mrb_noreturn void expire(mrb_state *mrb)
{
  struct RClass *klass = mrb_class_get_under(mrb, mrb_module_get(mrb, "Timeout"), "ExitException");
  mrb_raise(mrb, klass, "execution expired");
}

/* --- stopping --------------------------------------------------------------------------------------------------- */

#ifdef MRB_USE_DEBUG_HOOK
static void on_instruction(mrb_state *mrb, const struct mrb_irep *irep, const mrb_code *pc, mrb_value *regs)
{
  fg_vm *vm = fg_of(mrb);
  (void)irep;
  (void)regs;
  int why = FG_STOP;
  if (vm->stops == 0) {
    /* Cleared first: the deadline timer may set it again while the host decides, and that must not be lost. */
    mrb->code_fetch_hook = NULL;
    why = fg_host_tick(vm->host);
    if (why == FG_GO_ON) return;
  }
  else if (vm->stops < STOP_GRACE) {
    vm->stops++;
    return;
  }
  /* Skips the current instruction: `retry` would otherwise come back to it for ever. */
  mrb->c->ci->pc = pc + 1;
  fg_out_of_time(mrb, why);
}

/* Checks the deadline timer in long work in C, which has no instructions where it could be interrupted. Raises where
 * the time is over, and for an interrupted script where its grace is. */
void fg_look_at_clock(mrb_state *mrb)
{
  if (__atomic_load_n(&mrb->code_fetch_hook, __ATOMIC_RELAXED) == NULL) return;
  fg_vm *vm = fg_of(mrb);
  if (vm->stops > 0) {
    vm->stops += LOOK_INSTRUCTIONS;
    if (vm->stops < STOP_GRACE) return;
    fg_out_of_time(mrb, FG_STOP);
  }
  mrb->code_fetch_hook = NULL;
  int answer = fg_host_tick(vm->host);
  if (answer != FG_GO_ON) fg_out_of_time(mrb, answer);
}

/* Raises the exception that ends the block of a Timeout, or the one that ends the request; the latter is raised again
 * at later instructions. */
void fg_out_of_time(mrb_state *mrb, int why)
{
  fg_vm *vm = fg_of(mrb);
  if (why == FG_EXPIRED) expire(mrb);
  if (vm->stops++ == 0) fg_note_places(vm);
  mrb->code_fetch_hook = on_instruction;
  struct RClass *klass = mrb_nil_p(vm->timeout_class) ? mrb->eException_class : mrb_class_ptr(vm->timeout_class);
  mrb_raise(mrb, klass, "the request took longer than it may");
}

void *fg_vm_deadline_timer(fg_vm *vm)
{
  return &vm->mrb->code_fetch_hook;
}

/* Called by the watchdog thread: stores one aligned pointer, which the interpreter reads at each instruction. */
void fg_deadline_timer_set(void *address)
{
  __atomic_store_n((void **)address, (void *)on_instruction, __ATOMIC_RELEASE);
}

int fg_can_stop(void) { return 1; }
#else
void *fg_vm_deadline_timer(fg_vm *vm) { (void)vm; return NULL; }
void fg_look_at_clock(mrb_state *mrb) { (void)mrb; }
void fg_out_of_time(mrb_state *mrb, int why)
{
  fg_vm *vm = fg_of(mrb);
  if (why == FG_EXPIRED) expire(mrb);
  vm->stops++;
  mrb_raise(mrb, mrb_class_ptr(vm->timeout_class), "the request took longer than it may");
}
void fg_deadline_timer_set(void *address) { (void)address; }
int fg_can_stop(void) { return 0; }
#endif

/* Resets the deadline timer and the flags of limits, after a call. */
void fg_vm_reset(fg_vm *vm)
{
#ifdef MRB_USE_DEBUG_HOOK
  vm->mrb->code_fetch_hook = NULL;
#endif
  vm->stops = 0;
  vm->out_of_memory = false;
  vm->place_count = 0;
}

/* --- errors ----------------------------------------------------------------------------------------------------- */

#define UNTOLD "(its message could not be made)"
/* CRuby's words for a RuntimeError without a message, as a bare `raise` makes it. */
#define UNHANDLED "unhandled exception"

static mrb_value report_body(mrb_state *mrb, void *data)
{
  mrb_value exception = *(mrb_value *)data;
  fg_vm *vm = fg_of(mrb);
  const char *klass = mrb_obj_classname(mrb, exception);
  mrb_value message = mrb_obj_as_string(mrb, exception);
  if (RSTRING_LEN(message) == 0 && strcmp(klass, "RuntimeError") == 0) message = mrb_str_new_lit(mrb, UNHANDLED);
  fg_host_error(vm->host, klass, strlen(klass), RSTRING_PTR(message), RSTRING_LEN(message));
  mrb_value trace = mrb_funcall(mrb, exception, "backtrace", 0);
  if (!mrb_array_p(trace)) return mrb_nil_value();
  for (mrb_int i = 0; i < RARRAY_LEN(trace) && i < 200; i++) {
    mrb_value line = mrb_obj_as_string(mrb, RARRAY_PTR(trace)[i]);
    fg_host_frame(vm->host, RSTRING_PTR(line), RSTRING_LEN(line));
  }
  return mrb_nil_value();
}

static mrb_value causes_body(mrb_state *mrb, void *data)
{
  mrb_value module = mrb_obj_value(mrb_module_get(mrb, "FoolsGold"));
  mrb_value lines = mrb_funcall(mrb, module, "causes", 1, *(mrb_value *)data);
  for (mrb_int i = 0; mrb_array_p(lines) && i < RARRAY_LEN(lines); i++) {
    mrb_value line = mrb_obj_as_string(mrb, RARRAY_PTR(lines)[i]);
    fg_host_frame(fg_of(mrb)->host, RSTRING_PTR(line), RSTRING_LEN(line));
  }
  return mrb_nil_value();
}

/* Reports only the class of an exception: its own methods raise. */
static mrb_value class_body(mrb_state *mrb, void *data)
{
  const char *klass = mrb_obj_classname(mrb, *(mrb_value *)data);
  fg_host_error(fg_of(mrb)->host, klass, strlen(klass), UNTOLD, sizeof UNTOLD - 1);
  return mrb_nil_value();
}

/* Reports an exception to the host: class, message, backtrace and causes. Where its own methods raise, only its class
 * is reported, and where no memory is left for that, nothing of it. */
void fg_report(fg_vm *vm, mrb_value exception)
{
  mrb_bool failed = FALSE;
  mrb_state *mrb = vm->mrb;
  mrb->exc = NULL;
  mrb_protect_error(mrb, report_body, &exception, &failed);
  if (failed) {
    mrb->exc = NULL;
    mrb_protect_error(mrb, class_body, &exception, &failed);
    if (failed) fg_host_error(vm->host, "Exception", strlen("Exception"), UNTOLD, sizeof UNTOLD - 1);
  }
  mrb->exc = NULL;
  mrb_protect_error(mrb, causes_body, &exception, &failed);
  mrb->exc = NULL;
}

/* Runs `body` and returns how it ended, after reporting an exception to the host. The arena is restored, so that values
 * which must live on have to be protected by the caller before it makes an object. With `kept` the caller gets the
 * exception, and the objects named there live on while it is reported. */
int fg_guard_keeping(fg_vm *vm, fg_body *body, void *data, struct fg_kept *kept)
{
  mrb_state *mrb = vm->mrb;
  int arena = mrb_gc_arena_save(mrb);
  mrb_bool failed = FALSE;
  /* Guards nest: rack.response_finished and keys of environments run in guards of their own. The outermost one on this
   * stack counts. */
  const char *outer = vm->stack, *here = __builtin_frame_address(0);
  if (outer == NULL || here > outer || outer - here > STACK_BYTES) vm->stack = here;
  mrb_value result = mrb_protect_error(mrb, body, data, &failed);
  int ended = FG_DONE;
  if (failed) {
    struct RClass *klass = mrb_obj_class(mrb, result);
    /* By the flags and not by the exception alone: the application may have rescued it and raised another one. */
    if (vm->stops > 0) ended = FG_STOPPED;
    else if (vm->out_of_memory && klass == mrb_obj_class(mrb, mrb_obj_value(mrb->nomem_err))) ended = FG_NO_MEMORY;
    else ended = FG_RAISED;
    if (ended == FG_RAISED) {
      /* mrb_protect_error has restored the arena, where there is room for them. */
      for (size_t i = 0; kept != NULL && i < 2; i++) mrb_gc_protect(mrb, *kept->objects[i]);
      fg_report(vm, result);
      if (kept != NULL) kept->raised = result;
    }
    else fg_report_places(vm);
  }
  /* Only now: a report runs Ruby code, too, whose depth is measured from here. */
  vm->stack = outer;
  mrb->exc = NULL;
  mrb_gc_arena_restore(mrb, arena);
  return ended;
}

int fg_guard(fg_vm *vm, fg_body *body, void *data)
{
  return fg_guard_keeping(vm, body, data, NULL);
}
