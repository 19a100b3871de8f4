// SPDX-License-Identifier: Apache-2.0
// A library that never comes back from being opened.
#include <unistd.h>

__attribute__((constructor)) static void hang(void)
{
    for (;;)
        pause();
}
