/* The exception for violations of PROTOCOL.md. */

#include "wire.h"

#include <stdarg.h>

void
protocol_error(const char *format, ...)
{
    va_list arguments;
    VALUE message;

    va_start(arguments, format);
    message = rb_vsprintf(format, arguments);
    va_end(arguments);
    rb_exc_raise(rb_exc_new_str(rb_path2class("FoolsGold::ProtocolError"), message));
}
