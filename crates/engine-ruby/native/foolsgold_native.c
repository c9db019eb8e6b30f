/* Defines FoolsGold::NativeSlot, after a check that this file fits the Ruby that loads it and works. */

#include <ruby.h>
#include <ruby/version.h>
#include <string.h>

#include "shape.h"
#include "slot.h"

/* A shape with the key A, whose value comes with requests, and the constant B, x; and request 7 of that shape, in
 * which A is y. */
static const char asked[] = "\0\0\0\x0d\x14\0\x01"
                            "A\0v\0B\0c\0x\0"
                            "\0\0\0\x0d\x15\0\0\0\x07\0\x01\0\0\0\0\x01"
                            "y";
/* The expected answer: status 200, header a: b, body hi. */
static const char answered[] = "\0\0\0\x14\x1e\0\0\0\x07\0\xc8\0\0\x01\0\0\0\x04"
                               "a\0b\0"
                               "hi";

static void
check_ruby(void)
{
    if (ruby_api_version[0] != RUBY_API_VERSION_MAJOR || ruby_api_version[1] != RUBY_API_VERSION_MINOR) {
        rb_raise(rb_eLoadError, "the native worker was built for Ruby %d.%d, this is Ruby %d.%d: build it again",
                 RUBY_API_VERSION_MAJOR, RUBY_API_VERSION_MINOR, ruby_api_version[0], ruby_api_version[1]);
    }
    if (!rb_const_defined(rb_cObject, rb_intern("FoolsGold")) ||
        !rb_const_defined(rb_path2class("FoolsGold"), rb_intern("Slot"))) {
        rb_raise(rb_eLoadError, "the native worker needs FoolsGold::Slot, which the worker loads before it");
    }
}

static bool
has(VALUE environment, const char *key, const char *value)
{
    VALUE found = rb_hash_lookup(environment, rb_str_new_cstr(key));
    return RB_TYPE_P(found, T_STRING) && strcmp(StringValueCStr(found), value) == 0;
}

static void
check_slot(VALUE klass)
{
    VALUE self = rb_obj_alloc(klass), environment, headers = rb_hash_new();
    struct slot *slot = slot_of(self);

    buffer_reserve(&slot->in, sizeof asked);
    memcpy(slot->in.bytes, asked, sizeof asked - 1);
    slot->in.end = sizeof asked - 1;
    environment = slot_next_request(self);
    if (!has(environment, "A", "y") || !has(environment, "B", "x")) {
        rb_raise(rb_eLoadError, "the native worker misreads requests in this Ruby");
    }
    rb_hash_aset(headers, rb_str_new_cstr("a"), rb_str_new_cstr("b"));
    slot_answer(self, INT2FIX(200), headers, rb_ary_new_from_args(1, rb_str_new_cstr("hi")));
    if (buffer_size(&slot->out) != sizeof answered - 1 ||
        memcmp(buffer_start(&slot->out), answered, sizeof answered - 1) != 0) {
        rb_raise(rb_eLoadError, "the native worker writes wrong answers in this Ruby");
    }
    RB_GC_GUARD(self);
}

RUBY_FUNC_EXPORTED void
Init_foolsgold_native(void)
{
    VALUE klass, module;

    check_ruby();
    module = rb_path2class("FoolsGold");
    /* The class gets its name when the check has passed. */
    klass = rb_class_new(rb_path2class("FoolsGold::Slot"));
    rb_gc_register_address(&klass);
    slot_init(klass);
    shape_init();
    check_slot(klass);
    rb_gc_unregister_address(&klass);
    rb_const_set(module, rb_intern("NativeSlot"), klass);
}
