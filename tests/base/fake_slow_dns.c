// SPDX-License-Identifier: Apache-2.0
// A name server that does not answer, for test_http.c, which preloads this.
#include <netdb.h>
#include <unistd.h>

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **found)
{
    (void)node, (void)service, (void)hints, (void)found;
    sleep(5);
    return EAI_AGAIN;
}
