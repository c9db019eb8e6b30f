/* Bytes on their way in or out of a slot. */

#ifndef FOOLSGOLD_BUFFER_H
#define FOOLSGOLD_BUFFER_H

#include <stddef.h>

/* What is there stands at bytes + from, up to bytes + end. */
struct buffer {
    char *bytes;
    size_t from;
    size_t end;
    size_t capacity;
};

static inline size_t
buffer_size(const struct buffer *buffer)
{
    return buffer->end - buffer->from;
}

static inline char *
buffer_start(const struct buffer *buffer)
{
    return buffer->bytes + buffer->from;
}

/* Makes room for so many bytes after the end; moves what is there. */
void buffer_reserve(struct buffer *buffer, size_t extra);

/* Forgets so many bytes at the start. The bytes themselves stay until the next buffer_reserve. */
void buffer_take(struct buffer *buffer, size_t count);

void buffer_free(struct buffer *buffer);

#endif
