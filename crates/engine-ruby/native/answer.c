/* Encodes the usual answers: one pass adds up their size, a second one copies them. */

#include "answer.h"

#include <string.h>

#include "wire.h"

/* The most headers of a usual answer. */
#define PAIRS 128

struct headers {
    size_t bytes;
    unsigned pairs;
    bool usual;
    VALUE name[PAIRS];
    VALUE value[PAIRS];
};

/* Returns whether a value is a String that can be part of a list. */
static bool
is_item(VALUE string)
{
    return RB_TYPE_P(string, T_STRING) && !memchr(RSTRING_PTR(string), 0, (size_t)RSTRING_LEN(string));
}

/* Returns the size of a header's value in bytes, or -1 if it is unusual. Arrays are joined by line feeds, so their
 * lines must have none. */
static long
value_size(VALUE value)
{
    long size = 0, at;

    if (is_item(value)) return RSTRING_LEN(value);
    if (!RB_TYPE_P(value, T_ARRAY) || RARRAY_LEN(value) == 0) return -1;
    for (at = 0; at < RARRAY_LEN(value); at++) {
        VALUE line = RARRAY_AREF(value, at);
        if (!is_item(line) || memchr(RSTRING_PTR(line), '\n', (size_t)RSTRING_LEN(line))) return -1;
        size += RSTRING_LEN(line) + (at > 0);
        if (size > WHOLE) return -1;
    }
    return size;
}

static int
look_at_header(VALUE name, VALUE value, VALUE pointer)
{
    struct headers *headers = (struct headers *)pointer;
    long size = value_size(value);
    bool usual = size >= 0 && headers->pairs < PAIRS && is_item(name);

    /* Headers with this prefix are meant for the server. */
    if (usual && RSTRING_LEN(name) >= 5 && memcmp(RSTRING_PTR(name), "rack.", 5) == 0) usual = false;
    if (usual) {
        headers->name[headers->pairs] = name;
        headers->value[headers->pairs++] = value;
        headers->bytes += (size_t)RSTRING_LEN(name) + (size_t)size + 2;
        usual = headers->bytes <= WHOLE;
    }
    headers->usual = usual;
    return usual ? ST_CONTINUE : ST_STOP;
}

/* Returns the size of a body in bytes, or -1 if it is unusual. */
static long
body_size(VALUE body)
{
    long size = 0, at;

    if (!RB_TYPE_P(body, T_ARRAY) || CLASS_OF(body) != rb_cArray) return -1;
    for (at = 0; at < RARRAY_LEN(body); at++) {
        VALUE part = RARRAY_AREF(body, at);
        if (!RB_TYPE_P(part, T_STRING)) return -1;
        size += RSTRING_LEN(part);
        if (size > WHOLE) return -1;
    }
    return size;
}

static char *
copy(char *to, VALUE string)
{
    size_t size = (size_t)RSTRING_LEN(string);
    memcpy(to, RSTRING_PTR(string), size);
    return to + size;
}

static char *
copy_header(char *to, VALUE name, VALUE value)
{
    long at;

    to = write_u8(copy(to, name), 0);
    if (RB_TYPE_P(value, T_STRING)) return write_u8(copy(to, value), 0);
    for (at = 0; at < RARRAY_LEN(value); at++) {
        if (at > 0) *to++ = '\n';
        to = copy(to, RARRAY_AREF(value, at));
    }
    return write_u8(to, 0);
}

/* Returns whether the headers are a Hash whose pairs can be read directly. A subclass may iterate differently. */
static bool
is_plain_hash(VALUE headers)
{
    static ID each, each_pair;

    if (!RB_TYPE_P(headers, T_HASH)) return false;
    if (CLASS_OF(headers) == rb_cHash) return true;
    if (!each) {
        each = rb_intern("each");
        each_pair = rb_intern("each_pair");
    }
    return rb_method_basic_definition_p(CLASS_OF(headers), each) &&
           rb_method_basic_definition_p(CLASS_OF(headers), each_pair);
}

bool
answer_encode(struct buffer *out, uint32_t seq, VALUE status, VALUE headers, VALUE body)
{
    struct headers seen;
    long code = RB_FIXNUM_P(status) ? FIX2LONG(status) : 0, size, at;
    unsigned pair;
    char *to;

    if (code < 200 || code > 599 || !is_plain_hash(headers)) return false;
    if ((size = body_size(body)) < 0) return false;
    seen.bytes = 0;
    seen.pairs = 0;
    seen.usual = true;
    rb_hash_foreach(headers, look_at_header, (VALUE)&seen);
    if (!seen.usual) return false;

    buffer_reserve(out, FRAME_HEAD + ANSWER_HEAD + seen.bytes + (size_t)size);
    to = out->bytes + out->end;
    to = write_u32(to, (uint32_t)(1 + ANSWER_HEAD + seen.bytes + (size_t)size));
    to = write_u8(to, KIND_ANSWER);
    to = write_u32(to, seq);
    to = write_u16(to, (unsigned)code);
    to = write_u8(to, 0);
    to = write_u16(to, seen.pairs);
    to = write_u32(to, (uint32_t)seen.bytes);
    for (pair = 0; pair < seen.pairs; pair++) to = copy_header(to, seen.name[pair], seen.value[pair]);
    for (at = 0; at < RARRAY_LEN(body); at++) to = copy(to, RARRAY_AREF(body, at));
    out->end = (size_t)(to - out->bytes);
    RB_GC_GUARD(headers);
    RB_GC_GUARD(body);
    return true;
}
