/* The input and output buffers of a slot. */

#ifndef FOOLSGOLD_BUFFER_H
#define FOOLSGOLD_BUFFER_H

#include <stddef.h>

/* The content of the buffer is at bytes + from, up to bytes + end. */
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

/* Makes room for `extra` bytes after the end; may move the content. */
void buffer_reserve(struct buffer *buffer, size_t extra);

/* Removes `count` bytes from the start. Their memory is unchanged until the next buffer_reserve. */
void buffer_take(struct buffer *buffer, size_t count);

void buffer_free(struct buffer *buffer);

#endif
