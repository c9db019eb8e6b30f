/* The state of a NativeSlot. */

#ifndef FOOLSGOLD_SLOT_H
#define FOOLSGOLD_SLOT_H

#include <ruby.h>
#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"

/* The number of cancelled requests that are remembered; only those that are here now matter. */
#define CANCELLED 16

/* The memory of a slot that it shares with the front (PROTOCOL.md, "Claims"). */
struct claim {
    uint32_t begun, withdrawn;
};

/* The number of slots for which there is such memory, as in claims.rs. */
#define CLAIMS 1024

struct slot {
    int fd;
    /* That of all slots of the worker, and the part of this one; NULL in a worker to which nothing is sent ahead. */
    struct claim *claims, *claim;
    bool share;
    struct buffer in;
    struct buffer out;
    /* True while a frame that is not in `out` is being sent. */
    bool is_sending;
    uint64_t started;
    uint32_t seq;
    /* The last request that slot_answer has answered, and the one whose connection is `taken`. */
    uint32_t answered, taken_seq;
    bool has_answered;
    uint32_t cancelled[CANCELLED];
    unsigned cancellations;

    VALUE environment, input, taken;
    /* The pairs that every environment has, and an Array with an Array for each shape. */
    VALUE fixed, shapes;
    /* The input of requests without a body, which is among the fixed pairs. */
    VALUE no_input;
};

/* Defines the methods of the class. */
void slot_init(VALUE klass);
struct slot *slot_of(VALUE self);

/* Methods that the check at load time calls too. */
VALUE slot_next_request(VALUE self);
VALUE slot_answer(VALUE self, VALUE status, VALUE headers, VALUE body);

#endif
