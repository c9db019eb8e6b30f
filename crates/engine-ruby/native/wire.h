/* The numbers of the protocol (PROTOCOL.md) that a slot needs. */

#ifndef FOOLSGOLD_WIRE_H
#define FOOLSGOLD_WIRE_H

#include <ruby.h>
#include <stdint.h>

enum { KIND_SHAPE = 20, KIND_REQUEST = 21, KIND_ANSWER = 30, KIND_CHUNK = 31 };
enum { BODY_NONE = 0, BODY_INLINE = 1, BODY_FILE = 2 };
/* Added to the kind of the body of a request that was sent ahead. */
#define AHEAD 128u

/* The head of a frame: length u32, kind u8. */
#define FRAME_HEAD 5
/* The fields of a REQUEST after its kind: seq u32, shape u16, body u8, length of values u32. */
#define REQUEST_HEAD 11
/* The fields of an ANSWER after its kind: seq u32, status u16, flags u8, pairs u16, length of headers u32. */
#define ANSWER_HEAD 13

/* The largest frame, so that a corrupt length does not become gigabytes of memory. */
#define FRAME_LARGEST (64u << 20)
/* The largest body, or headers of a usual answer, that are sent in one frame. */
#define WHOLE 524288
/* The largest payload that the front accepts: room for the largest headers. */
#define PAYLOAD_LARGEST (2 * WHOLE + 65536 - 1)
/* The size below which a chunk of a body is copied to the output buffer. */
#define LARGE 16384

static inline uint16_t
read_u16(const char *at)
{
    const unsigned char *bytes = (const unsigned char *)at;
    return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static inline uint32_t
read_u32(const char *at)
{
    return (uint32_t)read_u16(at) << 16 | read_u16(at + 2);
}

static inline char *
write_u8(char *at, unsigned value)
{
    *at = (char)value;
    return at + 1;
}

static inline char *
write_u16(char *at, unsigned value)
{
    return write_u8(write_u8(at, value >> 8), value);
}

static inline char *
write_u32(char *at, uint32_t value)
{
    return write_u16(write_u16(at, value >> 16), value & 0xffff);
}

/* Raises FoolsGold::ProtocolError. */
NORETURN(void protocol_error(const char *format, ...));

#endif
