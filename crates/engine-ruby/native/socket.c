/* The system calls of a slot. A call that does not block is made with the interpreter lock held: releasing the lock
 * and taking it again costs more than such a call, and no other thread of a small worker needs it. */

#include "socket.h"

#include <errno.h>
#include <ruby.h>
#include <ruby/thread.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#define READ 65536

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* Ruby ignores SIGPIPE anyway. */
#endif

struct reading {
    int fd;
    int error;
    ssize_t count;
    struct buffer *in;
};

static void *
receive(void *pointer)
{
    struct reading *reading = pointer;
    struct buffer *in = reading->in;

    reading->count = recv(reading->fd, in->bytes + in->end, in->capacity - in->end, 0);
    reading->error = errno;
    /* Here, and not in the caller: an exception may come as soon as the lock is held again, and must not lose bytes. */
    if (reading->count > 0) in->end += (size_t)reading->count;
    return NULL;
}

bool
socket_fill(int fd, struct buffer *in, bool share)
{
    struct reading reading = {fd, 0, -1, in};

    buffer_reserve(in, READ);
    if (!share) {
        ssize_t count = recv(fd, in->bytes + in->end, in->capacity - in->end, MSG_DONTWAIT);
        if (count > 0) in->end += (size_t)count;
        if (count >= 0) return count > 0;
        if (errno == ECONNRESET) return false;
        if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) rb_sys_fail("a slot cannot read");
    }
    for (;;) {
        reading.count = -1;
        reading.error = EINTR; /* When an interrupt comes first, the function is not called. */
        rb_thread_call_without_gvl(receive, &reading, RUBY_UBF_IO, NULL);
        if (reading.count >= 0) return reading.count > 0;
        if (reading.error == ECONNRESET) return false;
        if (reading.error == EAGAIN || reading.error == EWOULDBLOCK) rb_thread_wait_fd(fd);
        else if (reading.error != EINTR) rb_syserr_fail(reading.error, "a slot cannot read");
    }
}

/* Waits until the socket is writable, after a write that took nothing. Other threads may add to the buffer
 * meanwhile, which is why send(2) does not block. */
static void
wait_to_send(int fd)
{
    if (errno == EAGAIN || errno == EWOULDBLOCK) rb_thread_fd_writable(fd);
    else if (errno == EINTR) rb_thread_check_ints();
    else rb_sys_fail("a slot cannot write");
}

size_t
socket_send(int fd, const struct buffer *out)
{
    ssize_t count = send(fd, buffer_start(out), buffer_size(out), MSG_DONTWAIT | MSG_NOSIGNAL);

    if (count >= 0) return (size_t)count;
    wait_to_send(fd);
    return 0;
}

size_t
socket_send_two(int fd, const char *first, size_t first_size, const char *second, size_t second_size)
{
    struct iovec blocks[2] = {{(char *)first, first_size}, {(char *)second, second_size}};
    struct msghdr message = {0};
    ssize_t count;

    message.msg_iov = blocks;
    message.msg_iovlen = 2;
    while ((count = sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL)) < 0) wait_to_send(fd);
    return (size_t)count;
}
