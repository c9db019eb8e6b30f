/* Reading and writing the connection of a slot. */

#ifndef FOOLSGOLD_SOCKET_H
#define FOOLSGOLD_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

#include "buffer.h"

/* Waits for at least one byte and reads what is there; false at the end of the connection. The lock of the interpreter
 * is given up only to wait, or, where `share` says that other threads serve too, at each call. */
bool socket_fill(int fd, struct buffer *in, bool share);

/* Writes what the connection takes at once; gives the number of bytes. Where it takes nothing it waits until it does
 * and gives 0: what is to be written may be another thing by then. */
size_t socket_send(int fd, const struct buffer *out);

/* The same for two blocks of bytes, one behind the other. */
size_t socket_send_two(int fd, const char *first, size_t first_size, const char *second, size_t second_size);

#endif
