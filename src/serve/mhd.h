// SPDX-License-Identifier: Apache-2.0
// mhd: libmicrohttpd's functions, opened on first use. <microhttpd.h> gives the types; fare does
// not link the library.
#ifndef FARE_SERVE_MHD_H
#define FARE_SERVE_MHD_H

#include <microhttpd.h>

#include "base/err.h"

// clang-format off
#define MHD_FUNCTIONS(X) \
    X(start_daemon) X(stop_daemon) X(get_daemon_info) X(get_connection_info) \
    X(get_connection_values) X(lookup_connection_value) X(basic_auth_get_username_password) \
    X(create_response_from_buffer) X(add_response_header) X(queue_response) X(destroy_response) \
    X(suspend_connection) X(resume_connection) X(free)
// clang-format on
#define MHD_MEMBER(name) __typeof__(MHD_##name) *name;

struct mhd_api {
    MHD_FUNCTIONS(MHD_MEMBER)
};
extern struct mhd_api mhd; // filled in by mhd_load()

int mhd_load(struct err *err) MUST_USE;

#endif
