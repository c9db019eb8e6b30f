/* A slot in C: reads requests, writes answers. Unusual ones are left to the Ruby class above it. */

#include "slot.h"

#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "answer.h"
#include "shape.h"
#include "socket.h"
#include "wire.h"

/* The nanoseconds that an answer waits in the buffer for those of the requests after it. */
#define PATIENCE_NS 1000000
/* How many numbers of requests before another one count as before it, as in claims.rs. */
#define RECENT 1024u

static void
slot_mark(void *pointer)
{
    const struct slot *slot = pointer;

    rb_gc_mark(slot->environment);
    rb_gc_mark(slot->input);
    rb_gc_mark(slot->taken);
    rb_gc_mark(slot->fixed);
    rb_gc_mark(slot->shapes);
    rb_gc_mark(slot->no_input);
}

static void
slot_free(void *pointer)
{
    struct slot *slot = pointer;

    buffer_free(&slot->in);
    buffer_free(&slot->out);
    if (slot->claims != NULL) munmap(slot->claims, CLAIMS * sizeof *slot->claims);
    xfree(slot);
}

static size_t
slot_memsize(const void *pointer)
{
    const struct slot *slot = pointer;
    return sizeof *slot + slot->in.capacity + slot->out.capacity;
}

/* Without RUBY_TYPED_WB_PROTECTED: the fields are set at each request, and barriers for all of them cost more than
 * marking these few objects again. */
static const rb_data_type_t slot_type = {
    .wrap_struct_name = "FoolsGold::NativeSlot",
    .function = {.dmark = slot_mark, .dfree = slot_free, .dsize = slot_memsize},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static VALUE
slot_allocate(VALUE klass)
{
    struct slot *slot;
    VALUE self = TypedData_Make_Struct(klass, struct slot, &slot_type, slot);

    slot->fd = -1;
    slot->environment = slot->input = slot->taken = Qnil;
    slot->fixed = slot->shapes = slot->no_input = Qnil;
    slot->fixed = rb_hash_new();
    slot->shapes = rb_ary_new();
    return self;
}

struct slot *
slot_of(VALUE self)
{
    return rb_check_typeddata(self, &slot_type);
}

static void
flush(struct slot *slot)
{
    /* While a frame is being sent directly, the buffer must wait until its end. Another thread may have begun one
     * while this one waited. */
    while (!slot->is_sending && buffer_size(&slot->out) > 0) {
        size_t count = socket_send(slot->fd, &slot->out);
        buffer_take(&slot->out, count);
    }
}

static bool
is_cancelled(const struct slot *slot)
{
    unsigned at, count = slot->cancellations < CANCELLED ? slot->cancellations : CANCELLED;

    for (at = 0; at < count; at++) {
        if (slot->cancelled[at] == slot->seq) return true;
    }
    return false;
}

/* Begins the request, which was sent ahead; returns false if the front has withdrawn it. Writes before it reads, as the
 * front does, so that one of them sees what the other has written. */
static bool
begin(struct slot *slot)
{
    if (slot->claim == NULL) return true;
    __atomic_store_n(&slot->claim->begun, slot->seq, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return __atomic_load_n(&slot->claim->withdrawn, __ATOMIC_SEQ_CST) - slot->seq >= RECENT;
}

/* Copies the number of the request to the instance variable that methods of the Ruby class use. */
static void
show_seq(VALUE self, const struct slot *slot)
{
    rb_ivar_set(self, rb_intern("@seq"), UINT2NUM(slot->seq));
}

static VALUE
read_input(VALUE self, struct slot *slot, unsigned how, const char *body, size_t size)
{
    if (how == BODY_NONE) return slot->no_input;
    if (how > BODY_FILE) protocol_error("a REQUEST with a body of kind %u", how);
    if (how == BODY_INLINE) {
        VALUE module = rb_path2class("FoolsGold::Input");
        return rb_funcall(module, rb_intern("inline"), 1, rb_str_new(body, (long)size));
    }
    show_seq(self, slot);
    return rb_funcall(self, rb_intern("body_file"), 0);
}

static uint64_t
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Handles the payload of a REQUEST; returns nil when it was withdrawn, or its body cannot be had. */
static VALUE
take_request(VALUE self, struct slot *slot, const char *payload, size_t size)
{
    size_t values;
    uint64_t now = now_ns();
    unsigned how;

    if (size < REQUEST_HEAD) protocol_error("a REQUEST of %lu bytes is too short", (unsigned long)size);
    values = read_u32(payload + 7);
    if (values > size - REQUEST_HEAD) protocol_error("the values of a REQUEST are longer than it");
    slot->seq = read_u32(payload);
    if (now - slot->started > PATIENCE_NS) flush(slot);
    slot->started = now;
    how = (unsigned char)payload[6];
    if ((slot->cancellations > 0 && is_cancelled(slot)) || (how >= AHEAD && !begin(slot))) {
        show_seq(self, slot);
        rb_funcall(self, rb_intern("withdraw"), 0);
        return Qnil;
    }
    how &= ~AHEAD;
    slot->input = read_input(self, slot, how, payload + REQUEST_HEAD + values, size - REQUEST_HEAD - values);
    if (NIL_P(slot->input) && how == BODY_FILE) return Qnil;
    slot->environment = shape_environment(self, slot, read_u16(payload + 4), payload + REQUEST_HEAD, values);
    return slot->environment;
}

/* Returns whether there is a complete frame. Its length counts from the kind on. */
static bool
whole_frame(struct slot *slot, size_t *length)
{
    size_t size = buffer_size(&slot->in);

    if (size < FRAME_HEAD) return false;
    *length = read_u32(buffer_start(&slot->in));
    if (*length < 1 || *length > FRAME_LARGEST) protocol_error("a frame of %lu bytes", (unsigned long)*length);
    if (size >= *length + 4) return true;
    buffer_reserve(&slot->in, *length + 4 - size);
    return false;
}

VALUE
slot_next_request(VALUE self)
{
    struct slot *slot = slot_of(self);
    size_t length;

    for (;;) {
        if (whole_frame(slot, &length)) {
            const char *frame = buffer_start(&slot->in), *payload = frame + FRAME_HEAD;
            unsigned kind = (unsigned char)frame[4];
            /* Nothing is read before the next call, so the bytes stay where they are. */
            buffer_take(&slot->in, length + 4);
            if (kind == KIND_REQUEST) {
                VALUE environment = take_request(self, slot, payload, length - 1);
                if (!NIL_P(environment)) return environment;
            } else if (kind == KIND_SHAPE) {
                shape_define(slot, payload, length - 1);
            } else {
                protocol_error("a frame of kind %u on a slot", kind);
            }
        } else {
            flush(slot);
            if (!socket_fill(slot->fd, &slot->in, slot->share)) return Qnil;
        }
    }
}

static bool
is_taken(const struct slot *slot)
{
    return !NIL_P(slot->taken) && slot->taken_seq == slot->seq;
}

VALUE
slot_answer(VALUE self, VALUE status, VALUE headers, VALUE body)
{
    struct slot *slot = slot_of(self);

    if (is_taken(slot) || !answer_encode(&slot->out, slot->seq, status, headers, body)) return Qfalse;
    slot->answered = slot->seq;
    slot->has_answered = true;
    return Qtrue;
}

static VALUE
slot_initialize(VALUE self, VALUE wire, VALUE worker, VALUE number, VALUE environment)
{
    struct slot *slot = slot_of(self);
    VALUE arguments[4] = {wire, worker, number, environment}, makers, pairs;

    rb_call_super(4, arguments);
    slot->fd = NUM2INT(rb_funcall(rb_ivar_get(self, rb_intern("@io")), rb_intern("fileno"), 0));
    slot->no_input = rb_const_get(rb_path2class("FoolsGold::Input"), rb_intern("EMPTY"));
    /* The environment that shapes.rb makes of no values has the pairs of all requests. */
    makers = rb_funcall(rb_ivar_get(self, rb_intern("@shapes")), rb_intern("makers"), 0);
    pairs = rb_funcall(rb_ary_entry(makers, 0), rb_intern("call"), 4, rb_str_new("", 0), slot->no_input, Qnil, Qnil);
    Check_Type(pairs, T_HASH);
    slot->fixed = shape_fixed(pairs);
    slot->share = RTEST(rb_hash_lookup(slot->fixed, rb_str_new_cstr("rack.multithread")));
    rb_ivar_set(self, rb_intern("@in"), Qnil); /* Large, and not needed here. */
    return self;
}

static VALUE
slot_flush(VALUE self)
{
    flush(slot_of(self));
    return Qnil;
}

static VALUE
slot_add(VALUE self, VALUE kind, VALUE payload)
{
    struct buffer *out = &slot_of(self)->out;
    size_t size;
    char *to;

    StringValue(payload);
    size = (size_t)RSTRING_LEN(payload);
    if (size > PAYLOAD_LARGEST) rb_raise(rb_eArgError, "a frame of %lu bytes is too long", (unsigned long)size);
    buffer_reserve(out, FRAME_HEAD + size);
    to = write_u8(write_u32(out->bytes + out->end, (uint32_t)size + 1), NUM2UINT(kind));
    memcpy(to, RSTRING_PTR(payload), size);
    out->end += FRAME_HEAD + size;
    RB_GC_GUARD(payload);
    return self;
}

/* A part of a String that is being sent, behind the head of its frame. */
struct piece {
    struct slot *slot;
    char head[FRAME_HEAD];
    size_t head_sent;
    const char *bytes;
    size_t left;
};

static VALUE
send_piece(VALUE pointer)
{
    struct piece *piece = (struct piece *)pointer;

    while (piece->left > 0) {
        size_t head = FRAME_HEAD - piece->head_sent;
        const char *from = piece->head + piece->head_sent;
        size_t count = socket_send_two(piece->slot->fd, from, head, piece->bytes, piece->left);
        size_t of_head = count < head ? count : head;
        piece->head_sent += of_head;
        piece->bytes += count - of_head;
        piece->left -= count - of_head;
    }
    return Qnil;
}

/* Inserts the rest of the frame into the buffer, `place` bytes from its start. */
static void
put_rest(struct piece *piece, size_t place)
{
    struct buffer *out = &piece->slot->out;
    size_t head = FRAME_HEAD - piece->head_sent, rest = head + piece->left, held = buffer_size(out);
    char *to;

    buffer_reserve(out, rest);
    to = buffer_start(out) + place;
    memmove(to + rest, to, held - place);
    memcpy(to, piece->head + piece->head_sent, head);
    memcpy(to + head, piece->bytes, piece->left);
    out->end += rest;
}

/* Ends the sending. If an exception of another thread broke it off, the rest of the frame goes to the front of the
 * buffer. */
static VALUE
piece_end(VALUE pointer)
{
    struct piece *piece = (struct piece *)pointer;

    piece->slot->is_sending = false;
    if (piece->left > 0) put_rest(piece, 0);
    return Qnil;
}

/* Sends a CHUNK of these bytes; large ones without copying them, so they must stay as they are until the end. */
static void
send_chunk(struct slot *slot, const char *bytes, size_t size)
{
    struct piece piece = {.slot = slot, .bytes = bytes, .left = size};

    write_u8(write_u32(piece.head, (uint32_t)size + 1), KIND_CHUNK);
    if (size >= LARGE) flush(slot);
    /* While this thread waited in the flush, another one may have begun to send a frame directly: then this one comes
     * after it, from the buffer. */
    if (size < LARGE || slot->is_sending) {
        put_rest(&piece, buffer_size(&slot->out));
    } else {
        slot->is_sending = true;
        rb_ensure(send_piece, (VALUE)&piece, piece_end, (VALUE)&piece);
    }
    flush(slot);
}

/* Sends a CHUNK of bytes of a String of the application. */
static VALUE
slot_send_piece(VALUE self, VALUE string, VALUE from, VALUE count)
{
    struct slot *slot = slot_of(self);
    size_t at = NUM2SIZET(from), size = NUM2SIZET(count);

    StringValue(string);
    /* Another thread may change the String while this one waits. A small piece is copied before that. */
    if (size >= LARGE) string = rb_str_new_frozen(string);
    if (at > (size_t)RSTRING_LEN(string) || size > (size_t)RSTRING_LEN(string) - at || size > WHOLE) {
        rb_raise(rb_eArgError, "%lu bytes at %lu are no piece", (unsigned long)size, (unsigned long)at);
    }
    send_chunk(slot, RSTRING_PTR(string) + at, size);
    RB_GC_GUARD(string);
    return Qnil;
}

/* A String of the caller's own, and the slot that sends it. */
struct own {
    struct slot *slot;
    VALUE string;
};

static VALUE
send_own(VALUE pointer)
{
    const struct own *own = (const struct own *)pointer;

    send_chunk(own->slot, RSTRING_PTR(own->string), (size_t)RSTRING_LEN(own->string));
    return Qnil;
}

/* Sends a CHUNK of a String that only the caller has. It is locked meanwhile: after a frozen copy of it, which shares
 * its bytes, the caller could not fill it again without leaving these bytes to the garbage collector. */
static VALUE
slot_send_own(VALUE self, VALUE string)
{
    struct own own = {slot_of(self), string};

    Check_Type(string, T_STRING);
    if (RSTRING_LEN(string) > WHOLE) {
        rb_raise(rb_eArgError, "a chunk of %lu bytes is too long", (unsigned long)RSTRING_LEN(string));
    }
    rb_str_locktmp(string);
    rb_ensure(send_own, (VALUE)&own, rb_str_unlocktmp, string);
    return Qnil;
}

static VALUE
slot_is_answered(VALUE self)
{
    const struct slot *slot = slot_of(self);
    return slot->has_answered && slot->answered == slot->seq ? Qtrue : Qfalse;
}

static VALUE
slot_is_gone(VALUE self)
{
    return is_cancelled(slot_of(self)) ? Qtrue : Qfalse;
}

static VALUE
slot_cancel(VALUE self, VALUE seq)
{
    struct slot *slot = slot_of(self);

    slot->cancelled[slot->cancellations % CANCELLED] = NUM2UINT(seq);
    slot->cancellations += 1;
    if (slot->cancellations >= 2 * CANCELLED) slot->cancellations -= CANCELLED;
    return Qnil;
}

/* Maps the memory of the claims, if there are any. */
static VALUE
slot_set_claims(VALUE self, VALUE claims)
{
    struct slot *slot = slot_of(self);
    size_t size = CLAIMS * sizeof *slot->claims, number;
    void *mapped;
    VALUE file;

    if (NIL_P(claims) || slot->claims != NULL) return claims;
    number = NUM2SIZET(rb_funcall(self, rb_intern("number"), 0));
    file = rb_funcall(claims, rb_intern("file"), 0);
    mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, NUM2INT(rb_funcall(file, rb_intern("fileno"), 0)), 0);
    if (mapped == MAP_FAILED) rb_sys_fail("mmap of the memory that is shared with the server");
    slot->claims = mapped;
    if (number < CLAIMS) slot->claim = &slot->claims[number];
    return claims;
}

static VALUE
slot_seq(VALUE self)
{
    return UINT2NUM(slot_of(self)->seq);
}

static VALUE
slot_started(VALUE self)
{
    return ULL2NUM(slot_of(self)->started);
}

static VALUE
slot_environment(VALUE self)
{
    return slot_of(self)->environment;
}

static VALUE
slot_input(VALUE self)
{
    return slot_of(self)->input;
}

static VALUE
slot_taken(VALUE self)
{
    const struct slot *slot = slot_of(self);
    return is_taken(slot) ? slot->taken : Qnil;
}

static VALUE
slot_take(VALUE self, VALUE io, VALUE seq)
{
    struct slot *slot = slot_of(self);

    slot->taken_seq = NIL_P(seq) ? 0 : NUM2UINT(seq);
    slot->taken = io;
    return Qnil;
}

/* Gives the calling thread the policy SCHED_BATCH, with which it takes no processor from a running thread when it
 * becomes ready. The kernel may refuse it, and a thread with another policy than the usual one keeps that. */
static VALUE
slot_batch(VALUE klass)
{
#ifdef SCHED_BATCH
    struct sched_param none = {0};

    if (sched_getscheduler(0) == SCHED_OTHER) sched_setscheduler(0, SCHED_BATCH, &none);
#endif
    return Qnil;
}

void
slot_init(VALUE klass)
{
    rb_define_singleton_method(klass, "batch", slot_batch, 0);
    rb_define_alloc_func(klass, slot_allocate);
    rb_define_method(klass, "initialize", slot_initialize, 4);
    rb_define_method(klass, "next_request", slot_next_request, 0);
    rb_define_method(klass, "answer", slot_answer, 3);
    rb_define_method(klass, "answered?", slot_is_answered, 0);
    rb_define_method(klass, "add", slot_add, 2);
    rb_define_method(klass, "flush", slot_flush, 0);
    rb_define_method(klass, "send_piece", slot_send_piece, 3);
    rb_define_method(klass, "send_own", slot_send_own, 1);
    rb_define_method(klass, "gone?", slot_is_gone, 0);
    rb_define_method(klass, "cancel", slot_cancel, 1);
    rb_define_method(klass, "claims=", slot_set_claims, 1);
    rb_define_method(klass, "seq", slot_seq, 0);
    rb_define_method(klass, "consumed", slot_seq, 0); /* It is set when the request is taken. */
    rb_define_method(klass, "started", slot_started, 0);
    rb_define_method(klass, "environment", slot_environment, 0);
    rb_define_method(klass, "input", slot_input, 0);
    rb_define_method(klass, "taken", slot_taken, 0);
    rb_define_method(klass, "take", slot_take, 2);
}
