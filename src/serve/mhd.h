// SPDX-License-Identifier: Apache-2.0
// mhd: libmicrohttpd's functions, opened on first use. <microhttpd.h> gives the types; fare does
// not link the library.
#ifndef FARE_SERVE_MHD_H
#define FARE_SERVE_MHD_H

#include <microhttpd.h>

#include "base/err.h"

struct mhd_api {
    struct MHD_Daemon *(*start_daemon)(unsigned flags, uint16_t port, MHD_AcceptPolicyCallback apc,
                                       void *apc_arg, MHD_AccessHandlerCallback handler,
                                       void *handler_arg, ...);
    void (*stop_daemon)(struct MHD_Daemon *daemon);
    const union MHD_DaemonInfo *(*get_daemon_info)(struct MHD_Daemon *daemon,
                                                   enum MHD_DaemonInfoType type, ...);
    const union MHD_ConnectionInfo *(*get_connection_info)(struct MHD_Connection *connection,
                                                           enum MHD_ConnectionInfoType type, ...);
    int (*get_connection_values)(struct MHD_Connection *connection, enum MHD_ValueKind kind,
                                 MHD_KeyValueIterator visit, void *arg);
    const char *(*lookup_connection_value)(struct MHD_Connection *connection,
                                           enum MHD_ValueKind kind, const char *key);
    char *(*basic_auth_get_username_password)(struct MHD_Connection *connection, char **password);
    struct MHD_Response *(*create_response_from_buffer)(size_t size, void *bytes,
                                                        enum MHD_ResponseMemoryMode mode);
    enum MHD_Result (*add_response_header)(struct MHD_Response *response, const char *name,
                                           const char *value);
    enum MHD_Result (*queue_response)(struct MHD_Connection *connection, unsigned status,
                                      struct MHD_Response *response);
    void (*suspend_connection)(struct MHD_Connection *connection);
    void (*resume_connection)(struct MHD_Connection *connection);
    void (*destroy_response)(struct MHD_Response *response);
    void (*free)(void *memory);
};
extern struct mhd_api mhd; // filled in by mhd_load()

int mhd_load(struct err *err) MUST_USE;

#endif
