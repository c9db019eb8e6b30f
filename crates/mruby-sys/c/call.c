/* One request: calls the application with the environment and sends its answer. The rules are those of the Rack 3 SPEC;
 * the content of headers is checked in Rust, for all engines alike. */
#include "fg.h"

#include <string.h>

#include <mruby/array.h>
#include <mruby/class.h>
#include <mruby/error.h>
#include <mruby/hash.h>
#include <mruby/proc.h>
#include <mruby/string.h>
#include <mruby/variable.h>

/* The place of the body in an answer. */
#define BODY 2

struct call {
  const fg_request *request;
  bool bad;         /* the answer was refused; the host knows why */
  mrb_value env, answer, error;
  mrb_value odd;    /* headers whose values need Ruby code: names and values in turn */
};

/* Whether an object responds to a method. Avoids calling Ruby's respond_to? for the usual objects, since this runs
 * several times for each request. */
static bool responds(mrb_state *mrb, mrb_value object, mrb_sym name)
{
  if (mrb_immediate_p(object) || mrb_string_p(object) || mrb_array_p(object) || mrb_hash_p(object)) {
    return mrb_respond_to(mrb, object, name);
  }
  /* A proxy such as Rack::BodyProxy defines respond_to? or respond_to_missing? itself, and must be asked. */
  struct RClass *owner = mrb_class(mrb, object);
  if (MRB_METHOD_UNDEF_P(mrb_method_search_vm(mrb, &owner, SYM(mrb, respond_to)))) return false;
  /* Whether respond_to? is Kernel's own. */
  bool usual = owner->tt == MRB_TT_ICLASS && owner->c == mrb->kernel_module;
  if (usual && mrb_respond_to(mrb, object, name)) return true;
  if (usual && !mrb_respond_to(mrb, object, SYM(mrb, respond_to_missing))) return false;
  mrb_value asked = mrb_symbol_value(name);
  return mrb_test(mrb_funcall_argv(mrb, object, SYM(mrb, respond_to), 1, &asked));
}

/* Refuses the answer, with a text for the operator. Only the first reason counts. */
static void refuse(mrb_state *mrb, struct call *call, const char *format, mrb_value culprit)
{
  mrb_value why = mrb_format(mrb, format, culprit);
  fg_host_bad_answer(fg_of(mrb)->host, RSTRING_PTR(why), (size_t)RSTRING_LEN(why));
  call->bad = true;
}

static void refuse_answer(mrb_state *mrb, struct call *call, mrb_value answer)
{
  refuse(mrb, call, "the application returned %!v, but must return an Array of status, headers and body", answer);
}

/* --- status and headers ---------------------------------------------------------------------------------------- */

static void take_status(mrb_state *mrb, struct call *call, mrb_value status)
{
  if (!mrb_integer_p(status) && !mrb_nil_p(status) && responds(mrb, status, SYM(mrb, to_i))) {
    status = mrb_funcall_argv(mrb, status, SYM(mrb, to_i), 0, NULL);
  }
  if (!mrb_integer_p(status)) {
    refuse(mrb, call, "status is %!v, but must be an integer from 100 to 999", status);
    return;
  }
  if (!fg_host_status(fg_of(mrb)->host, mrb_integer(status))) call->bad = true;
}

static bool all_strings(mrb_value list)
{
  for (mrb_int i = 0; i < RARRAY_LEN(list); i++) {
    if (!mrb_string_p(RARRAY_PTR(list)[i])) return false;
  }
  return true;
}

/* The values of one header, joined by line feeds; nil where there are none, or one is refused. Runs Ruby code only for
 * values that are not Strings. */
static mrb_value join_lines(mrb_state *mrb, struct call *call, mrb_value name, mrb_value lines)
{
  mrb_value joined = mrb_str_new(mrb, "", 0);
  if (RARRAY_LEN(lines) == 0) return mrb_nil_value();
  for (mrb_int i = 0; i < RARRAY_LEN(lines); i++) {
    mrb_value line = mrb_obj_as_string(mrb, RARRAY_PTR(lines)[i]);
    if (memchr(RSTRING_PTR(line), '\n', (size_t)RSTRING_LEN(line)) != NULL) {
      refuse(mrb, call, "header %!v has a line feed in one of its values", name);
      return mrb_nil_value();
    }
    if (i > 0) mrb_str_cat(mrb, joined, "\n", 1);
    mrb_str_cat_str(mrb, joined, line);
  }
  return joined;
}

/* Adds a header. Values of other classes are sent as the text of their to_s, as with Puma and Unicorn. Names with the
 * prefix "rack." are for the server and not sent (Rack SPEC, "The Headers"). */
static void take_header(mrb_state *mrb, struct call *call, mrb_value name, mrb_value value)
{
  if (mrb_symbol_p(name)) name = mrb_sym_str(mrb, mrb_symbol(name));
  if (!mrb_string_p(name)) {
    refuse(mrb, call, "a header's name is %!v, but must be a String", name);
    return;
  }
  bool internal = RSTRING_LEN(name) >= 5 && memcmp(RSTRING_PTR(name), "rack.", 5) == 0;
  if (internal) return;
  if (mrb_array_p(value)) {
    value = join_lines(mrb, call, name, value);
    if (mrb_nil_p(value)) return;
  }
  value = mrb_obj_as_string(mrb, value);
  bool fine = fg_host_header(fg_of(mrb)->host, RSTRING_PTR(name), (size_t)RSTRING_LEN(name), RSTRING_PTR(value),
                             (size_t)RSTRING_LEN(value));
  if (!fine) call->bad = true;
}

/* Adds a pair of the headers. Ruby code must not run in mrb_hash_foreach, where it could change the Hash, so pairs that
 * need it wait in `odd`. */
static int take_pair(mrb_state *mrb, mrb_value name, mrb_value value, void *data)
{
  struct call *call = data;
  bool plain = mrb_string_p(value) || (mrb_array_p(value) && all_strings(value));
  if (plain) {
    take_header(mrb, call, name, value);
    return call->bad ? 1 : 0;
  }
  if (mrb_nil_p(call->odd)) call->odd = mrb_ary_new(mrb);
  mrb_ary_push(mrb, call->odd, name);
  mrb_ary_push(mrb, call->odd, value);
  return 0;
}

static void take_odd(mrb_state *mrb, struct call *call)
{
  if (mrb_nil_p(call->odd)) return;
  for (mrb_int i = 0; i < RARRAY_LEN(call->odd) && !call->bad; i += 2) {
    take_header(mrb, call, RARRAY_PTR(call->odd)[i], RARRAY_PTR(call->odd)[i + 1]);
  }
}

static mrb_value take_yielded(mrb_state *mrb, mrb_value self)
{
  struct call *call = fg_of(mrb)->call;
  /* The application has kept the block and calls it after the headers have been read. */
  if (call == NULL) return mrb_nil_value();
  mrb_value name, value = mrb_nil_value();
  (void)self;
  mrb_int count = mrb_get_args(mrb, "o|o", &name, &value);
  if (count == 1 && mrb_array_p(name) && RARRAY_LEN(name) == 2) {
    value = RARRAY_PTR(name)[1];
    name = RARRAY_PTR(name)[0];
  }
  /* A conversion of the value may take both out of the application's Array. */
  if (!mrb_immediate_p(name)) mrb_gc_protect(mrb, name);
  if (!mrb_immediate_p(value)) mrb_gc_protect(mrb, value);
  take_header(mrb, call, name, value);
  /* An `each` that yields headers for ever must end here. */
  if (call->bad) mrb_raise(mrb, E_RUNTIME_ERROR, "a header was refused");
  return mrb_nil_value();
}

static void take_headers(mrb_state *mrb, struct call *call, mrb_value headers)
{
  if (mrb_hash_p(headers)) {
    mrb_hash_foreach(mrb, mrb_hash_ptr(headers), take_pair, call);
    take_odd(mrb, call);
  }
  else if (responds(mrb, headers, SYM(mrb, each))) {
    mrb_value block = mrb_obj_value(mrb_proc_new_cfunc(mrb, take_yielded));
    fg_of(mrb)->call = call;
    mrb_funcall_with_block(mrb, headers, SYM(mrb, each), 0, NULL, block);
    fg_of(mrb)->call = NULL;
  }
  else {
    refuse(mrb, call, "headers are %!v, but must be a Hash or answer each", headers);
  }
}

/* --- the body -------------------------------------------------------------------------------------------------- */

/* The text of a part of the body. Nil sends nothing, as with Puma; Symbols and numbers have only one text. TypeError
 * for others. */
static mrb_value part_of_body(mrb_state *mrb, mrb_value part)
{
  if (mrb_string_p(part)) return part;
  if (!mrb_nil_p(part) && !mrb_symbol_p(part) && !mrb_obj_is_kind_of(mrb, part, mrb_class_get(mrb, "Numeric"))) {
    mrb_raisef(mrb, E_TYPE_ERROR, "the body gave %!v, but each part must be a String", part);
  }
  return mrb_obj_as_string(mrb, part);
}

static void put_chunk(mrb_state *mrb, mrb_value chunk)
{
  chunk = part_of_body(mrb, chunk);
  if (RSTRING_LEN(chunk) == 0) return;
  switch (fg_host_chunk(fg_of(mrb)->host, RSTRING_PTR(chunk), (size_t)RSTRING_LEN(chunk))) {
  case FG_GONE:
    mrb_raise(mrb, mrb_class_ptr(fg_of(mrb)->gone_class), "the client went away");
  case FG_LATE:
    mrb_raise(mrb, mrb_class_ptr(fg_of(mrb)->timeout_class), "the response could not be sent in time");
  default: break;
  }
}

/* Whether the request with this number is under way. */
static bool is_current(mrb_state *mrb, mrb_value run)
{
  return mrb_integer_p(run) && mrb_integer(run) == fg_of(mrb)->run;
}

/* Whether the stream or block of the request with this number may still write: a body that is kept must not write into
 * a later response. */
static bool may_add(mrb_state *mrb, mrb_value run)
{
  return fg_of(mrb)->streaming && is_current(mrb, run);
}

static mrb_value take_chunk(mrb_state *mrb, mrb_value self)
{
  mrb_value chunk;
  (void)self;
  mrb_get_args(mrb, "o", &chunk);
  if (!may_add(mrb, mrb_proc_cfunc_env_get(mrb, 0))) {
    mrb_raise(mrb, mrb_class_get(mrb, "IOError"), "this body has been read already");
  }
  put_chunk(mrb, chunk);
  return mrb_nil_value();
}

/* FoolsGold.current_run?(number): whether the request with this number is under way. */
static mrb_value current_run(mrb_state *mrb, mrb_value module)
{
  mrb_value run;
  (void)module;
  mrb_get_args(mrb, "o", &run);
  return mrb_bool_value(is_current(mrb, run));
}

/* FoolsGold::Stream#write(*texts) → bytes written */
static mrb_value stream_write(mrb_state *mrb, mrb_value self)
{
  const mrb_value *texts;
  mrb_int count, written = 0;
  mrb_get_args(mrb, "*", &texts, &count);
  if (!may_add(mrb, mrb_iv_get(mrb, self, SYM(mrb, run))) || mrb_test(mrb_iv_get(mrb, self, SYM(mrb, closed)))) {
    mrb_raise(mrb, mrb_class_get(mrb, "IOError"), "closed stream");
  }
  for (mrb_int i = 0; i < count; i++) {
    mrb_value chunk = mrb_obj_as_string(mrb, texts[i]);
    put_chunk(mrb, chunk);
    written += RSTRING_LEN(chunk);
  }
  return mrb_int_value(mrb, written);
}

/* FoolsGold::Stream#flush → self: what was written goes to the client now. */
static mrb_value stream_flush(mrb_state *mrb, mrb_value self)
{
  if (!may_add(mrb, mrb_iv_get(mrb, self, SYM(mrb, run)))) return self;
  if (!fg_host_flush(fg_of(mrb)->host)) {
    mrb_raise(mrb, mrb_class_ptr(fg_of(mrb)->gone_class), "the client went away");
  }
  return self;
}

/* The total lets the host reserve memory once and send the body whole, with a Content-Length. Parts that are no Strings
 * only make it too small. */
static void take_array(mrb_state *mrb, mrb_value body)
{
  size_t total = 0;
  for (mrb_int i = 0; i < RARRAY_LEN(body); i++) {
    mrb_value chunk = RARRAY_PTR(body)[i];
    if (mrb_string_p(chunk)) total += (size_t)RSTRING_LEN(chunk);
  }
  fg_host_whole(fg_of(mrb)->host, total);
  int arena = mrb_gc_arena_save(mrb);
  for (mrb_int i = 0; i < RARRAY_LEN(body); i++) {
    put_chunk(mrb, mrb_ary_entry(body, i));
    mrb_gc_arena_restore(mrb, arena);
  }
}

/* Sends a body that is a String, an Array or has to_ary, and returns whether it is. A body whose length the headers
 * give is not asked for to_ary: that may have to render it, and need not return an Array (Rails). */
static bool take_list(mrb_state *mrb, mrb_value body, int known)
{
  if (mrb_string_p(body)) {
    fg_host_whole(fg_of(mrb)->host, (size_t)RSTRING_LEN(body));
    put_chunk(mrb, body);
    return true;
  }
  if (!mrb_array_p(body)) {
    if ((known & FG_FRAMED) || !responds(mrb, body, SYM(mrb, to_ary))) return false;
    body = mrb_funcall_argv(mrb, body, SYM(mrb, to_ary), 0, NULL);
    if (!mrb_array_p(body)) return false;
  }
  take_array(mrb, body);
  return true;
}

static bool take_file(mrb_state *mrb, mrb_value body)
{
  if (!responds(mrb, body, SYM(mrb, to_path)) || !responds(mrb, body, SYM(mrb, each))) return false;
  mrb_value path = mrb_funcall_argv(mrb, body, SYM(mrb, to_path), 0, NULL);
  if (mrb_nil_p(path)) return false;
  path = mrb_obj_as_string(mrb, path);
  return fg_host_file(fg_of(mrb)->host, RSTRING_PTR(path), (size_t)RSTRING_LEN(path));
}

static void take_stream(mrb_state *mrb, mrb_value body)
{
  mrb_value stream = mrb_obj_new(mrb, mrb_class_ptr(fg_of(mrb)->stream_class), 0, NULL);
  mrb_iv_set(mrb, stream, SYM(mrb, run), mrb_int_value(mrb, fg_of(mrb)->run));
  fg_of(mrb)->streaming = true;
  mrb_funcall(mrb, body, "call", 1, stream);
}

/* Sends the body, which is asked in the order of the Rack SPEC and Puma: to_ary, to_path, each, call. A body without a
 * receiver (HEAD, or a status without content) is only closed. */
static void take_body(mrb_state *mrb, struct call *call, mrb_value body)
{
  int known = fg_host_body(fg_of(mrb)->host);
  if (RARRAY_LEN(call->answer) < BODY + 1 && !(known & FG_NO_CONTENT)) {
    refuse_answer(mrb, call, call->answer);
    return;
  }
  if ((known & FG_NO_CONTENT) || take_list(mrb, body, known) || take_file(mrb, body)) return;
  if (known & FG_HEAD) fg_host_unasked(fg_of(mrb)->host);
  else if (responds(mrb, body, SYM(mrb, each))) {
    mrb_value run = mrb_int_value(mrb, fg_of(mrb)->run);
    mrb_value block = mrb_obj_value(mrb_proc_new_cfunc_with_env(mrb, take_chunk, 1, &run));
    fg_of(mrb)->streaming = true;
    mrb_funcall_with_block(mrb, body, SYM(mrb, each), 0, NULL, block);
  }
  else if (responds(mrb, body, SYM(mrb, call))) take_stream(mrb, body);
  else refuse(mrb, call, "the body is %!v, but must answer each or call", body);
}

/* --- the call ---------------------------------------------------------------------------------------------------- */

struct part { struct call *call; mrb_value object; };

static mrb_value answer_part(mrb_state *mrb, void *data)
{
  struct part *part = data;
  struct call *call = part->call;
  mrb_value status = mrb_ary_entry(call->answer, 0);
  /* A method of one part may take the others out of the answer. */
  if (!mrb_immediate_p(status)) mrb_gc_protect(mrb, status);
  take_status(mrb, call, status);
  mrb_value headers = mrb_ary_entry(call->answer, 1);
  if (!mrb_immediate_p(headers)) mrb_gc_protect(mrb, headers);
  if (!call->bad) take_headers(mrb, call, headers);
  if (!call->bad) take_body(mrb, call, part->object);
  return mrb_nil_value();
}

static mrb_value close_part(mrb_state *mrb, void *data)
{
  struct part *part = data;
  if (responds(mrb, part->object, SYM(mrb, close))) mrb_funcall_argv(mrb, part->object, SYM(mrb, close), 0, NULL);
  return mrb_nil_value();
}

/* Sends the answer and closes its body, which is closed whatever happened while any part of the answer was read (Rack
 * SPEC, "The Body"). A StandardError from `close` is only logged: it is too late for another answer. An interruption or
 * lack of memory goes on. */
static void take_and_close(mrb_state *mrb, struct call *call, mrb_value body)
{
  struct part part = {call, body};
  mrb_bool failed = FALSE, close_failed = FALSE;
  mrb_value error, close_error;
  /* The application may take it out of its answer while it is read. */
  if (!mrb_immediate_p(body)) mrb_gc_protect(mrb, body);
  error = mrb_protect_error(mrb, answer_part, &part, &failed);
  mrb->exc = NULL;
  fg_of(mrb)->call = NULL;
  close_error = mrb_protect_error(mrb, close_part, &part, &close_failed);
  mrb->exc = NULL;
  bool usual = close_failed && fg_of(mrb)->stops == 0 && mrb_obj_is_kind_of(mrb, close_error, E_STANDARD_ERROR);
  if (usual) {
    fg_report(fg_of(mrb), close_error);
    fg_host_late_error(fg_of(mrb)->host, "the body of an answer could not be closed");
  }
  /* An error while the body was read comes before one of `close`. */
  if (failed) mrb_exc_raise(mrb, error);
  if (close_failed && !usual) mrb_exc_raise(mrb, close_error);
}

static mrb_value call_body(mrb_state *mrb, void *data)
{
  struct call *call = data;
  call->env = fg_env_new(mrb, call->request);
  mrb_gc_protect(mrb, call->env);
  mrb_value answer = mrb_funcall_argv(mrb, fg_of(mrb)->app, SYM(mrb, call), 1, &call->env);
  if (!mrb_array_p(answer) && !mrb_nil_p(answer)) {
    /* What Ruby's assignment to several variables takes, and so the other servers; and a Rack::Response. */
    mrb_sym list = responds(mrb, answer, SYM(mrb, to_ary)) ? SYM(mrb, to_ary) : SYM(mrb, to_a);
    if (responds(mrb, answer, list)) answer = mrb_funcall_argv(mrb, answer, list, 0, NULL);
  }
  /* As on other servers, more is ignored, and there need be no body where HTTP allows none. */
  if (!mrb_array_p(answer) || RARRAY_LEN(answer) < BODY) {
    refuse_answer(mrb, call, answer);
    return mrb_nil_value();
  }
  mrb_gc_protect(mrb, answer);
  call->answer = answer;
  take_and_close(mrb, call, mrb_ary_entry(answer, BODY));
  return mrb_nil_value();
}

struct finished { mrb_value callable, arguments[4]; };

static mrb_value call_finished(mrb_state *mrb, void *data)
{
  struct finished *finished = data;
  return mrb_funcall_argv(mrb, finished->callable, SYM(mrb, call), 4, finished->arguments);
}

/* Calls one callable. What it raises is logged, and does not keep the others from their turn; an interruption or lack
 * of memory goes on. */
static void run_finished(mrb_state *mrb, struct finished *finished)
{
  fg_vm *vm = fg_of(mrb);
  mrb_bool failed = FALSE;
  mrb_value error = mrb_protect_error(mrb, call_finished, finished, &failed);
  if (!failed) return;
  mrb->exc = NULL;
  if (vm->stops > 0 || vm->out_of_memory) mrb_exc_raise(mrb, error);
  fg_report(vm, error);
  fg_host_late_error(vm->host, "after its answer, the application failed");
}

/* Calls the callables in rack.response_finished after the answer was sent, in reverse order of their registration (Rack
 * SPEC, "rack.response_finished"). Without an answer they get the status 500, and the exception. */
static mrb_value finished_body(mrb_state *mrb, void *data)
{
  struct call *call = data;
  /* Not mrb_hash_get: the application may have given the Hash a default, which would run Ruby code. */
  mrb_value list = mrb_hash_fetch(mrb, call->env, RARRAY_PTR(fg_of(mrb)->keys)[FG_KEY_FINISHED], mrb_nil_value());
  if (!mrb_array_p(list)) return mrb_nil_value();
  /* A callable may take it out of the environment. */
  mrb_gc_protect(mrb, list);
  if (RARRAY_LEN(list) == 0) return mrb_nil_value();
  bool answered = mrb_array_p(call->answer);
  mrb_value status = answered ? mrb_ary_entry(call->answer, 0) : mrb_int_value(mrb, 500);
  mrb_value headers = answered ? mrb_ary_entry(call->answer, 1) : mrb_hash_new(mrb);
  /* Or these out of the answer. */
  if (!mrb_immediate_p(status)) mrb_gc_protect(mrb, status);
  if (!mrb_immediate_p(headers)) mrb_gc_protect(mrb, headers);
  int arena = mrb_gc_arena_save(mrb);
  for (mrb_int i = RARRAY_LEN(list) - 1; i >= 0; i--) {
    struct finished finished = {mrb_ary_entry(list, i), {call->env, status, headers, call->error}};
    if (!mrb_immediate_p(finished.callable)) mrb_gc_protect(mrb, finished.callable);
    run_finished(mrb, &finished);
    mrb_gc_arena_restore(mrb, arena);
  }
  return mrb_nil_value();
}

int fg_vm_call(fg_vm *vm, const fg_request *request)
{
  mrb_state *mrb = vm->mrb;
  int arena = mrb_gc_arena_save(mrb);
  mrb_value nil = mrb_nil_value();
  vm->streaming = false;
  /* Streams, blocks and request bodies (rack.input) of earlier requests no longer match this number. */
  vm->run += 1;
  vm->call = NULL;
  struct call call = {request, false, nil, nil, nil, nil};
  struct fg_kept kept = {nil, {&call.env, &call.answer}};
  int ended = fg_guard_keeping(vm, call_body, &call, &kept);
  vm->call = NULL;
  /* The client gets the answer before rack.response_finished runs. */
  fg_host_answered(vm->host, ended);
  call.error = kept.raised;
  /* The guard has restored the arena, and nothing else holds them. */
  mrb_gc_protect(mrb, call.env);
  mrb_gc_protect(mrb, call.answer);
  mrb_gc_protect(mrb, call.error);
  vm->streaming = false;
  /* An interpreter that was interrupted, or is out of memory, runs nothing more, and a request out of time neither. */
  bool is_late = ended == FG_RAISED && mrb_obj_is_kind_of(mrb, call.error, mrb_class_ptr(vm->timeout_class));
  if ((ended == FG_DONE || ended == FG_RAISED) && !is_late && mrb_hash_p(call.env)) {
    int after = fg_guard(vm, finished_body, &call);
    if (after == FG_RAISED) fg_host_late_error(vm->host, "after its answer, the application failed");
    else if (after != FG_DONE) ended = after;
  }
  mrb_gc_arena_restore(mrb, arena);
  fg_rescue_reset(vm);
  return ended;
}

void fg_call_init(mrb_state *mrb, fg_vm *vm)
{
  vm->symbols.id = mrb_intern_lit(mrb, "@id");
  vm->symbols.closed = mrb_intern_lit(mrb, "@closed");
  vm->symbols.to_i = mrb_intern_lit(mrb, "to_i");
  vm->symbols.each = mrb_intern_lit(mrb, "each");
  vm->symbols.to_path = mrb_intern_lit(mrb, "to_path");
  vm->symbols.to_ary = mrb_intern_lit(mrb, "to_ary");
  vm->symbols.to_a = mrb_intern_lit(mrb, "to_a");
  vm->symbols.respond_to = mrb_intern_lit(mrb, "respond_to?");
  vm->symbols.respond_to_missing = mrb_intern_lit(mrb, "respond_to_missing?");
  vm->symbols.call = mrb_intern_lit(mrb, "call");
  vm->symbols.close = mrb_intern_lit(mrb, "close");
  struct RClass *module = mrb_module_get(mrb, "FoolsGold");
  mrb_define_module_function(mrb, module, "current_run?", current_run, MRB_ARGS_REQ(1));
  struct RClass *stream = mrb_define_class_under(mrb, module, "Stream", mrb->object_class);
  mrb_define_method(mrb, stream, "write", stream_write, MRB_ARGS_ANY());
  mrb_define_method(mrb, stream, "flush", stream_flush, MRB_ARGS_NONE());
}
