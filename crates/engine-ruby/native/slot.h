/* What a NativeSlot holds. */

#ifndef FOOLSGOLD_SLOT_H
#define FOOLSGOLD_SLOT_H

#include <ruby.h>
#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"

/* Requests that nobody waits for any more: those that are here now, so few are enough. */
#define CANCELLED 16

struct slot {
    int fd;
    bool share;
    struct buffer in;
    struct buffer out;
    /* A frame that is not in `out` is half-way sent. */
    bool is_sending;
    /* How many of the bytes in `out` are older than the current request. */
    size_t mark;
    uint64_t started;
    uint32_t seq;
    uint32_t cancelled[CANCELLED];
    unsigned cancellations;

    VALUE wire, worker, number, io;
    VALUE environment, input, taken;
    /* The pairs that each environment has, and an Array with an Array for each shape. */
    VALUE fixed, shapes;
    /* The input of requests without a body, which is among the fixed pairs. */
    VALUE no_input;
};

/* Gives the class its methods. */
void slot_init(VALUE klass);
struct slot *slot_of(VALUE self);

/* The methods that the check calls too. */
VALUE slot_next_request(VALUE self);
VALUE slot_answer(VALUE self, VALUE status, VALUE headers, VALUE body);

#endif
