// SPDX-License-Identifier: Apache-2.0
// A driver's library that crashes as soon as it is opened.
#include <signal.h>

__attribute__((constructor)) static void crash(void)
{
    raise(SIGSEGV);
}
