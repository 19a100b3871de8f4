// SPDX-License-Identifier: Apache-2.0
#include "base/words.h"

#include <stdarg.h>
#include <stdio.h>

struct words words(const char *format, ...)
{
    struct words w;
    va_list args;
    va_start(args, format);
    vsnprintf(w.s, sizeof w.s, format, args);
    va_end(args);
    return w;
}
