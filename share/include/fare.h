// SPDX-License-Identifier: Apache-2.0
// fare.h: tells `fare run -- PROGRAM` how a training is getting on. One header for C and C++,
// nothing to link:
//
//     #include "fare.h"
//     fare_phase("train");
//     for (...) {
//         ...
//         fare_step(1, batch, loss);   // NAN where there is no loss
//     }
//
// Without fare (FARE_EVENTS is not set) the calls do nothing. They never fail and hardly cost: at
// most twenty lines a second are written, with the steps in between added up. To be called from
// one thread; of several workers on a machine only the first tells.
#ifndef FARE_H
#define FARE_H

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct fare_events {
    int fd; // 0: not looked for yet; -1: none
    long long step, samples;
    double loss, sent_s, ended_s;
    int pending;
};

static inline struct fare_events *fare_events_get(void)
{
    static struct fare_events events;
    if (events.fd != 0)
        return &events;
    const char *place = getenv("FARE_EVENTS"), *rank = getenv("LOCAL_RANK");
    rank = rank ? rank : getenv("OMPI_COMM_WORLD_LOCAL_RANK");
    events.fd = -1;
    events.loss = NAN;
    if (!place || !*place || (rank && strcmp(rank, "0") != 0))
        return &events;
    if (strncmp(place, "fd:", 3) == 0)
        events.fd = (int)strtol(place + 3, NULL, 10);
    else
        events.fd =
            open(place, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
    if (events.fd <= 0)
        events.fd = -1;
    return &events;
}

static inline void fare_write(const char *line, int len)
{
    struct fare_events *e = fare_events_get();
    if (e->fd > 0 && len > 0 && write(e->fd, line, (size_t)len) < 0)
        e->fd = -1;
}

static inline double fare_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

// Writes what was added up; fare_phase() and the end of the training call for it.
static inline void fare_flush(void)
{
    struct fare_events *e = fare_events_get();
    char line[224], loss[48] = "";
    if (!e->pending)
        return;
    if (e->loss - e->loss == 0)
        snprintf(loss, sizeof loss, ",\"loss\":%.9g", e->loss);
    int len =
        snprintf(line, sizeof line, "{\"step\":%lld,\"samples\":%lld%s,\"at\":%.6f,\"pid\":%d}\n",
                 e->step, e->samples, loss, e->ended_s, (int)getpid());
    fare_write(line, len);
    e->pending = 0;
    e->samples = 0;
}

// `steps` steps ended now, which trained `samples` samples.
static inline void fare_step(long long steps, long long samples, double loss)
{
    struct fare_events *e = fare_events_get();
    if (e->fd < 0)
        return;
    e->step += steps;
    e->samples += samples;
    e->loss = loss;
    e->pending = 1;
    e->ended_s = fare_now_s();
    if (e->ended_s - e->sent_s < 0.05)
        return;
    e->sent_s = e->ended_s;
    fare_flush();
}

// setup, kernels (or compile), load, device, train, evaluate, checkpoint or idle.
static inline void fare_phase(const char *name)
{
    char line[96];
    fare_flush();
    int len = snprintf(line, sizeof line, "{\"phase\":\"%.20s\",\"at\":%.6f,\"pid\":%d}\n", name,
                       fare_now_s(), (int)getpid());
    fare_write(line, len);
}

// After an evaluation: the share of right answers on the held-out part, 0 to 1.
static inline void fare_accuracy(double accuracy)
{
    char line[96];
    fare_flush();
    int len = snprintf(line, sizeof line, "{\"test_accuracy\":%.9g,\"pid\":%d}\n", accuracy,
                       (int)getpid());
    fare_write(line, len);
}

#endif
