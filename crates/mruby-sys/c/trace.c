/* The backtrace of an interpreter that was interrupted or met its memory limit. An exception cannot carry it: when
 * memory is short there is none for a backtrace, and an interruption may be rescued and replaced by the application. So
 * the frames are recorded at once, in memory of fg_vm. */
#include "fg.h"

#include <stdio.h>
#include <string.h>

#include <mruby/debug.h>
#include <mruby/irep.h>
#include <mruby/proc.h>

/* Whether a file is one of ours, whose frames do not help the application's author. */
static bool is_ours(const char *file)
{
  return strncmp(file, "foolsgold/", 10) == 0;
}

static void note(fg_vm *vm, const mrb_callinfo *ci)
{
  const struct RProc *proc = ci->proc;
  if (proc == NULL || MRB_PROC_CFUNC_P(proc) || MRB_PROC_ALIAS_P(proc)) return;
  const mrb_irep *irep = proc->body.irep;
  if (irep == NULL || ci->pc == NULL) return;
  uint32_t at = ci->pc > irep->iseq ? (uint32_t)(ci->pc - irep->iseq - 1) : 0;
  const char *file = mrb_debug_get_filename(vm->mrb, irep, at);
  if (file == NULL || is_ours(file)) return;
  fg_place *place = &vm->places[vm->place_count++];
  snprintf(place->file, sizeof place->file, "%s", file);
  place->line = mrb_debug_get_line(vm->mrb, irep, at);
  mrb_int length = 0;
  const char *method = ci->mid ? mrb_sym_name_len(vm->mrb, ci->mid, &length) : NULL;
  snprintf(place->method, sizeof place->method, "%.*s", method ? (int)length : 0, method ? method : "");
}

/* Records the innermost calls of this fiber and of those that wait for it. Called where memory is short, so it
 * allocates nothing. */
void fg_note_places(fg_vm *vm)
{
  vm->place_count = 0;
  if (vm->mrb == NULL) return;
  for (const struct mrb_context *c = vm->mrb->c; c != NULL && c->cibase != NULL; c = c->prev) {
    for (const mrb_callinfo *ci = c->ci; ci >= c->cibase && vm->place_count < FG_PLACES; ci--) note(vm, ci);
  }
}

/* Reports the recorded frames to the host, as the backtrace of an exception without a class. */
void fg_report_places(fg_vm *vm)
{
  fg_host_error(vm->host, "", 0, "", 0);
  for (size_t i = 0; i < vm->place_count; i++) {
    const fg_place *place = &vm->places[i];
    char line[sizeof *place + 32];
    const char *in = place->method[0] ? ":in " : "";
    int length = snprintf(line, sizeof line, "%s:%d%s%s", place->file, place->line, in, place->method);
    if (length > 0) fg_host_frame(vm->host, line, (size_t)length);
  }
}
