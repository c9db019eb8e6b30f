/* An input or output buffer: one block of memory that grows as needed. */

#include "buffer.h"

#include <ruby.h>
#include <string.h>

#define FIRST 65536
/* The largest block that is kept; one that grew beyond this for one frame is freed. */
#define KEPT 262144

void
buffer_reserve(struct buffer *buffer, size_t extra)
{
    size_t held = buffer_size(buffer), capacity = buffer->capacity ? buffer->capacity : FIRST;

    if (held == 0 && buffer->capacity > KEPT && extra <= FIRST) {
        buffer_free(buffer);
        capacity = FIRST;
    }
    if (buffer->capacity - buffer->end >= extra && buffer->bytes) return;
    if (buffer->from > 0) {
        memmove(buffer->bytes, buffer_start(buffer), held);
        buffer->from = 0;
        buffer->end = held;
    }
    while (capacity - held < extra) capacity *= 2;
    if (capacity == buffer->capacity) return;
    buffer->bytes = xrealloc(buffer->bytes, capacity);
    buffer->capacity = capacity;
}

void
buffer_take(struct buffer *buffer, size_t count)
{
    buffer->from += count;
    if (buffer->from == buffer->end) buffer->from = buffer->end = 0;
}

void
buffer_free(struct buffer *buffer)
{
    xfree(buffer->bytes);
    memset(buffer, 0, sizeof *buffer);
}
