/* Shapes of requests, and environments made from them. */

#ifndef FOOLSGOLD_SHAPE_H
#define FOOLSGOLD_SHAPE_H

#include <stddef.h>

#include "slot.h"

/* Interns the keys that this file writes itself. */
void shape_init(void);

/* Returns the pairs that every environment has, from those that the Ruby slot gives one. */
VALUE shape_fixed(VALUE pairs);

/* Handles the payload of a SHAPE frame. */
void shape_define(struct slot *slot, const char *payload, size_t size);

/* Returns a new environment with these values; the input is that of the slot, the lists of blocks for after the
 * answer are new, and so is what belongs to this request alone (hijack, early hints). `self` is the slot's object. */
VALUE shape_environment(VALUE self, struct slot *slot, unsigned shape, const char *values, size_t size);

#endif
