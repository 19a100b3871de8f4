// SPDX-License-Identifier: Apache-2.0
// Stands where the bundle's program stands and prints what it was given: arguments, environment.
#include <stdio.h>

extern char **environ;

int main(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        printf("[%s]", argv[i]);
    for (char **variable = environ; *variable; variable++)
        printf("{%s}", *variable);
    putchar('\n');
    return 42;
}
