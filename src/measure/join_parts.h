// SPDX-License-Identifier: Apache-2.0
// Shared by the parts of join.h: the job's secret and its first process (join.c), and the
// others (join_other.c).
#ifndef FARE_MEASURE_JOIN_PARTS_H
#define FARE_MEASURE_JOIN_PARTS_H

#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/sha256.h"
#include "measure/join.h"

struct join_peer;

#define JOIN_MAGIC UINT64_C(0x326e696f6a666172)

enum {
    JOIN_PORT_TRIES = 8, // other programs may use some of them
    JOIN_TIMEOUT_S = 5,  // of a connection, and of what is sent
};

enum join_kind { JOIN_NEWS, JOIN_END };

// Another process begins with a hello, the first one answers with a welcome: each has a number that
// was never used before, and proves the key of the job. From both follows the key of the
// connection, which every message and every answer proves, with its number. Both sides are of one
// build: sizes are checked.
struct join_hello {
    uint64_t magic;
    int32_t seat, seats;
    uint8_t nonce[SHA256_BYTES];
    uint8_t proof[SHA256_BYTES];
};

struct join_welcome {
    uint8_t nonce[SHA256_BYTES];
    uint8_t proof[SHA256_BYTES];
};

struct join_message {
    uint32_t bytes; // of this struct
    uint32_t kind;
    char host[64];
    int32_t status;
    int32_t count;
    struct rank_times ranks[RANK_TIMES_MOST];
    uint8_t proof[SHA256_BYTES];
};

struct join_answer {
    char letter;
    uint8_t why; // of JOIN_STOP
    uint8_t proof[SHA256_BYTES];
};
#define JOIN_STOP  'S'
#define JOIN_HEARD 'H' // to every message

struct join_session {
    uint8_t key[SHA256_BYTES];
    uint64_t messages, answers; // so far
};

struct join {
    struct worker place;
    char job[96];
    uint8_t key[SHA256_BYTES]; // of the job
    char from[256];            // where its secret is from
    char problem[320];         // why it has none; else empty
    bool local;                // all are on this machine
    // The first one.
    int listening;           // -1: not
    struct join_peer *peers; // one for each other process, and some for strangers
    int peer_count;
    struct join_seat *seats;
    uint8_t stopping; // why; 0: not
    int refused;      // connections that proved nothing; the last one:
    char refused_from[48];
    const char *refused_why;
    // The others.
    char hosts[1024]; // where the first one may be, a zero behind each
    pthread_mutex_t lock;
    pthread_cond_t news;
    bool started; // the thread runs
    struct join_message out;
    bool ending, heard;
    uint8_t stopped; // why; 0: not
    bool gone;       // the thread is to free it
};

int join_port(const struct join *join, int attempt);
socklen_t join_address(const struct join *join, struct sockaddr_un *to); // of one machine
bool join_is_friend(const struct join *join, int fd); // of the same user, as far as one can ask
const char *join_variable(const char *name);          // null: not set, or empty

// Whether a message is possible.
bool join_valid(const struct join_message *message);

// A proof of `bytes` as the `number`th of their kind, by who has the key.
void join_prove(const uint8_t key[SHA256_BYTES], char what, uint64_t number, const void *bytes,
                size_t len, uint8_t proof[SHA256_BYTES]);
bool join_proves(const uint8_t key[SHA256_BYTES], char what, uint64_t number, const void *bytes,
                 size_t len, const uint8_t proof[SHA256_BYTES]) MUST_USE;
bool join_draw(uint8_t nonce[SHA256_BYTES]) MUST_USE;

// The proof that a welcome to this hello needs, and the key of the connection.
void join_bind(const struct join *join, const struct join_hello *hello,
               const struct join_welcome *welcome, uint8_t proof[SHA256_BYTES],
               struct join_session *session);
void join_other_open(struct join *join);
void join_release(struct join *join); // the memory of it, once no thread uses it

#endif
