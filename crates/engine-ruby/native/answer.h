/* Answers to bytes. */

#ifndef FOOLSGOLD_ANSWER_H
#define FOOLSGOLD_ANSWER_H

#include <ruby.h>
#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"

/* Adds an ANSWER to the buffer if it is of the usual kind: a status from 200 on, headers in a Hash of Strings or Arrays
 * of Strings, a body that is an Array of Strings and not too large. Otherwise it adds nothing and gives false; then
 * answer.rb says what is wrong, or has a way. */
bool answer_encode(struct buffer *out, uint32_t seq, VALUE status, VALUE headers, VALUE body);

#endif
