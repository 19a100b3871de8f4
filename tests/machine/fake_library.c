// SPDX-License-Identifier: Apache-2.0
// A stand-in for cuDNN 9.19.0, cuBLASLt 13.1.0 and NCCL 2.28.9, with the numbers that those answer,
// and as talkative as some are.
#include <stddef.h>
#include <stdio.h>

__attribute__((constructor)) static void talk(void)
{
    puts("version 1");
    fflush(stdout);
    fputs("problem of its own\n", stderr);
}

size_t cudnnGetVersion(void)
{
    return 91900;
}

size_t cublasLtGetVersion(void)
{
    return 130100;
}

int ncclGetVersion(int *version)
{
    *version = 22809;
    return 0;
}
