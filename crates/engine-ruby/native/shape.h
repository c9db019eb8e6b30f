/* Environments by shape. */

#ifndef FOOLSGOLD_SHAPE_H
#define FOOLSGOLD_SHAPE_H

#include <stddef.h>

#include "slot.h"

/* Interns the keys that this file writes itself. */
void shape_init(void);

/* The pairs that each environment has, from those that the Ruby slot gives one. */
VALUE shape_fixed(VALUE pairs);

/* Takes the payload of a SHAPE frame. */
void shape_define(struct slot *slot, const char *payload, size_t size);

/* A new environment with these values; the input and the blocks for afterwards are those of the slot. */
VALUE shape_environment(struct slot *slot, unsigned shape, const char *values, size_t size);

#endif
