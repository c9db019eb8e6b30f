/* Shapes: the sets of keys that requests have. A shape is kept as a Hash with all keys and constants; an environment
 * is a copy of that Hash, with the values filled in. */

#include "shape.h"

#include <string.h>

#include "wire.h"

/* A shape is an Array: the Hash first, then the keys whose values come with each request. */
#define TEMPLATE 0
#define FIRST_KEY 1

static VALUE input_key, after_key, finished_key, hijack_key, hints_key, wait_key;
static ID slot_variable, seq_variable;

/* Returns the String that a literal in a Ruby file with frozen strings is, so that a lookup by it compares no bytes. */
static VALUE
intern(const char *bytes, size_t size)
{
    return rb_funcall(rb_utf8_str_new(bytes, (long)size), rb_intern("-@"), 0);
}

static void
keep_key(VALUE *key, const char *name)
{
    rb_gc_register_address(key);
    *key = intern(name, strlen(name));
}

void
shape_init(void)
{
    keep_key(&input_key, "rack.input");
    keep_key(&after_key, "rack.after_reply");
    keep_key(&finished_key, "rack.response_finished");
    keep_key(&hijack_key, "rack.hijack");
    keep_key(&hints_key, "rack.early_hints");
    keep_key(&wait_key, "puma.request_body_wait");
    slot_variable = rb_intern("@slot");
    seq_variable = rb_intern("@seq");
}

static int
add_fixed(VALUE key, VALUE value, VALUE fixed)
{
    rb_hash_aset(fixed, intern(RSTRING_PTR(key), (size_t)RSTRING_LEN(key)), value);
    return ST_CONTINUE;
}

VALUE
shape_fixed(VALUE pairs)
{
    VALUE fixed = rb_hash_new();
    rb_hash_foreach(pairs, add_fixed, fixed);
    return fixed;
}

/* Reads one string of a list and moves the start of the list behind it. */
static const char *
item(const char **rest, size_t *left, size_t *size)
{
    const char *start = *rest, *end = memchr(start, 0, *left);

    if (!end) protocol_error("a SHAPE ends within a string");
    *size = (size_t)(end - start);
    *rest = end + 1;
    *left -= *size + 1;
    return start;
}

static VALUE
read_key(struct slot *slot, const char **rest, size_t *left)
{
    size_t size, at;
    const char *name = item(rest, left, &size);
    VALUE key;

    for (at = 0; at < size; at++) {
        char c = name[at];
        bool known = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
        if (!known) break;
    }
    if (at < size || size == 0 || size > 1024) protocol_error("a key of a SHAPE is not of A-Z a-z 0-9 _ .");
    key = intern(name, size);
    if (rb_hash_lookup2(slot->fixed, key, Qundef) != Qundef) {
        protocol_error("a SHAPE has the key %s, which the worker sets", name);
    }
    return key;
}

void
shape_define(struct slot *slot, const char *payload, size_t size)
{
    VALUE template = rb_hash_new(), shape = rb_ary_new();
    const char *rest = payload + 2;
    size_t left = size - 2;
    unsigned number;

    if (size < 2) protocol_error("a SHAPE of %lu bytes has no number", (unsigned long)size);
    number = read_u16(payload);
    if (number == 0) protocol_error("shape 0 is never defined");
    rb_ary_push(shape, template);
    while (left > 0) {
        VALUE key = read_key(slot, &rest, &left), value = Qnil;
        const char *kind = item(&rest, &left, &size);

        if (size == 1 && *kind == 'v') {
            rb_ary_push(shape, key);
        } else if (size == 1 && *kind == 'c') {
            const char *text = item(&rest, &left, &size);
            value = rb_obj_freeze(rb_str_new(text, (long)size));
        } else {
            protocol_error("a SHAPE has neither v nor c after a key");
        }
        rb_hash_aset(template, key, value);
    }
    rb_hash_update_by(template, slot->fixed, NULL);
    rb_ary_store(slot->shapes, (long)number, shape);
}

/* Makes an environment without a shape (number 0). Its keys come from clients, and are not kept. A list has a NUL
 * after its last string too; both forms are accepted, since they differ in whether the number of strings is even. */
static VALUE
open_environment(struct slot *slot, const char *values, size_t size)
{
    VALUE environment = rb_hash_new();
    const char *rest = values, *last = values + size;

    while (rest < last) {
        const char *end = memchr(rest, 0, (size_t)(last - rest)), *start, *stop;
        if (!end) protocol_error("a REQUEST without shape has a key without a value");
        start = end + 1;
        stop = memchr(start, 0, (size_t)(last - start));
        if (!stop) stop = last;
        rb_hash_aset(environment, rb_str_new(rest, end - rest), rb_str_new(start, stop - start));
        rest = stop + 1;
    }
    return rb_hash_update_by(environment, slot->fixed, NULL);
}

static VALUE
shaped_environment(VALUE shape, const char *values, size_t size)
{
    long keys = RARRAY_LEN(shape), at;
    VALUE environment = rb_hash_dup(RARRAY_AREF(shape, TEMPLATE));

    if (keys == FIRST_KEY && size > 0) protocol_error("a REQUEST has values, and its shape has none");
    for (at = FIRST_KEY; at < keys; at++) {
        const char *end = memchr(values, 0, size);
        size_t length = end ? (size_t)(end - values) : size;
        if (!end != (at == keys - 1)) protocol_error("a REQUEST has not the %ld values of its shape", keys - 1);
        rb_hash_aset(environment, RARRAY_AREF(shape, at), rb_str_new(values, (long)length));
        if (!end) break;
        values = end + 1;
        size -= length + 1;
    }
    return environment;
}

/* Sets a callable that is of this request alone, if environments have it: an object of the class of the fixed one, as
 * its `new(slot, seq)` makes it in shapes.rb. */
static void
set_callable(VALUE self, const struct slot *slot, VALUE environment, VALUE key)
{
    VALUE fixed = rb_hash_lookup2(slot->fixed, key, Qundef), callable;

    if (fixed == Qundef) return;
    callable = rb_obj_alloc(CLASS_OF(fixed));
    rb_ivar_set(callable, slot_variable, self);
    rb_ivar_set(callable, seq_variable, UINT2NUM(slot->seq));
    rb_hash_aset(environment, key, callable);
}

/* Sets what belongs to a request with a body: its input, and a number for the milliseconds in which it arrived. */
static void
set_body(const struct slot *slot, VALUE environment)
{
    VALUE wait = rb_hash_lookup2(environment, wait_key, Qundef);

    rb_hash_aset(environment, input_key, slot->input);
    if (wait != Qundef) rb_hash_aset(environment, wait_key, DBL2NUM(rb_str_to_dbl(wait, 0)));
}

VALUE
shape_environment(VALUE self, struct slot *slot, unsigned number, const char *values, size_t size)
{
    VALUE shape, environment;

    if (number == 0) {
        environment = open_environment(slot, values, size);
    } else {
        shape = rb_ary_entry(slot->shapes, (long)number);
        if (NIL_P(shape)) protocol_error("a REQUEST of shape %u, which was not defined", number);
        environment = shaped_environment(shape, values, size);
    }
    rb_hash_aset(environment, after_key, rb_ary_new());
    rb_hash_aset(environment, finished_key, rb_ary_new());
    set_callable(self, slot, environment, hijack_key);
    set_callable(self, slot, environment, hints_key);
    if (slot->input != slot->no_input) set_body(slot, environment);
    return environment;
}
