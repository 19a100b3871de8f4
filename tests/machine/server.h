// SPDX-License-Identifier: Apache-2.0
// Starts and ends metadata_server.py, or the SERVER_SCRIPT of the file that includes this, for a
// test.
#ifndef FARE_TESTS_MACHINE_SERVER_H
#define FARE_TESTS_MACHINE_SERVER_H

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "test.h"

#ifndef TESTS_DIR // the build says where; this is for whoever reads the header alone
#define TESTS_DIR "tests"
#endif

#ifndef SERVER_SCRIPT
#define SERVER_SCRIPT "machine/metadata_server.py"
#endif

struct server {
    struct proc proc;
    char url[64]; // "http://127.0.0.1:PORT"
    int port;
};

// `more` are further arguments, null-terminated, or null. False when it does not start.
static inline bool server_try(struct server *server, const char *mode, const char *const *more)
{
    const char *argv[16] = {"/usr/bin/python3", TESTS_DIR "/" SERVER_SCRIPT, mode};
    for (size_t i = 0; more && more[i]; i++)
        argv[3 + i] = more[i];
    struct err err = {0};
    if (command_start(&server->proc, argv, NULL, &err) != 0)
        return false;
    char line[32] = "";
    struct pollfd wait = {.fd = server->proc.out, .events = POLLIN};
    for (size_t len = 0; len < sizeof line - 1 && !strchr(line, '\n'); len++)
        if (poll(&wait, 1, 10000) != 1 || read(server->proc.out, line + len, 1) != 1)
            break;
    if (sscanf(line, "%d", &server->port) != 1) {
        proc_kill(&server->proc);
        return false;
    }
    snprintf(server->url, sizeof server->url, "http://127.0.0.1:%d", server->port);
    return true;
}

static inline void server_start(struct server *server, const char *mode, const char *const *more)
{
    if (!server_try(server, mode, more))
        fail_msg("the server for '%s' did not start", mode);
}

static inline void server_end(struct server *server)
{
    proc_kill(&server->proc);
}

#endif
