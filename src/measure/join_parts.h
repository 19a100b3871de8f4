// SPDX-License-Identifier: Apache-2.0
// Shared by the parts of join.h: what a job's processes have in common (join.c), the first of them
// (join_first.c) and the others (join_other.c).
#ifndef FARE_MEASURE_JOIN_PARTS_H
#define FARE_MEASURE_JOIN_PARTS_H

#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "measure/join.h"

#define JOIN_MAGIC UINT64_C(0x316e696f6a666172)

enum {
    JOIN_PORT_TRIES = 8, // other programs may use some of them
    JOIN_TIMEOUT_S = 5,  // of a connection, and of what is sent
};

enum join_kind { JOIN_NEWS, JOIN_END };

// What the others send, whole; the first one answers with single letters. Both sides are of one
// build: the size is checked.
struct join_message {
    uint64_t magic;
    uint32_t bytes; // of this struct
    uint32_t kind;
    char job[96], host[64];
    int32_t seat, seats, status;
    int32_t count;
    struct rank_times ranks[RANK_TIMES_MOST];
};
#define JOIN_STOP  'S'
#define JOIN_HEARD 'H' // to every message: another program at the port would not say so

struct join_peer {
    int fd;   // -1: none
    int seat; // 0: not known yet
    size_t have;
    int64_t heard_ns;
    struct join_message *in;
};

struct join {
    struct worker place;
    char job[96];
    bool local; // all are on this machine
    // The first one.
    int listening;           // -1: not
    struct join_peer *peers; // one for each other process, and some for strangers
    int peer_count;
    struct join_seat *seats;
    bool stopping;
    // The others.
    char hosts[1024]; // where the first one may be, a zero behind each
    pthread_mutex_t lock;
    pthread_cond_t news;
    bool started; // the thread runs
    struct join_message out;
    bool ending, stopped, heard;
    bool gone; // the thread is to free it
};

int join_port(const struct join *join, int attempt);
socklen_t join_address(const struct join *join, struct sockaddr_un *to); // of one machine
bool join_is_friend(const struct join *join, int fd); // of the same user, as far as one can ask
const char *join_variable(const char *name);          // null: not set, or empty

// Whether a message is of this job, and possible; it may come from anyone.
bool join_valid(const struct join *join, const struct join_message *message);

int join_first_open(struct join *join, struct err *err) MUST_USE;
void join_first_close(struct join *join);
void join_other_open(struct join *join);
void join_release(struct join *join); // the memory of it, once no thread uses it

#endif
