/* Encoding of answers. */

#ifndef FOOLSGOLD_ANSWER_H
#define FOOLSGOLD_ANSWER_H

#include <ruby.h>
#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"

/* Appends an ANSWER to the buffer if it is of the usual kind: a status from 200 to 599, headers in a Hash of Strings
 * or Arrays of Strings, a body that is an Array of Strings and not too large. Otherwise appends nothing and returns
 * false; then answer.rb sends the answer or reports what is wrong with it. */
bool answer_encode(struct buffer *out, uint32_t seq, VALUE status, VALUE headers, VALUE body);

#endif
