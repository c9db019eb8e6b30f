/* Reading and writing the connection of a slot. */

#ifndef FOOLSGOLD_SOCKET_H
#define FOOLSGOLD_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

#include "buffer.h"

/* Waits for at least one byte and reads what is there; returns false at the end of the connection. The interpreter
 * lock is released only to wait, or, if `share` says that other threads serve too, at each call. */
bool socket_fill(int fd, struct buffer *in, bool share);

/* Writes what the connection takes at once, and returns the number of bytes. If that is none, waits until the
 * connection is writable and returns 0: the content of the buffer may have changed meanwhile. */
size_t socket_send(int fd, const struct buffer *out);

/* Writes two consecutive blocks of bytes, as socket_send does. */
size_t socket_send_two(int fd, const char *first, size_t first_size, const char *second, size_t second_size);

#endif
