// SPDX-License-Identifier: Apache-2.0
// Streams and events of the stand-in for the CUDA driver (fake_gpu.c). What is queued runs at once,
// or, with FAKE_GPU_LATE=1, as late as the driver's rules allow: only when the host waits for it,
// or for something behind it that waits for it. So what was not waited for has not happened.
//
// What other processes take part in may not be ready yet (NOT_READY): it stays the first of its
// stream, and is tried again. Between cuStreamBeginCapture and cuStreamEndCapture such calls are
// only noted. A GPU goes on while its host waits for something else; this one does not, so that two
// processes could wait for each other: with FAKE_GPU_BLOCKS=1 what is queued is also finished at
// once.
#ifndef FARE_TESTS_ENGINE_FAKE_STREAMS_H
#define FARE_TESTS_ENGINE_FAKE_STREAMS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NOT_READY = 600 };

struct call { // of another stand-in; may return NOT_READY
    int (*run)(void *data);
    void *data;
};

struct event {
    struct stream *stream; // that it was recorded in last
    int recorded, done;    // times
};

struct op {
    int (*run)(const struct op *op); // null: an event's
    struct event *waits, *records;
    int number; // of the event's record
    uint64_t to, from;
    unsigned char *own; // bytes to copy that the caller may change
    size_t bytes;
    unsigned char value;
    void *function; // of a launch, or a graph
    unsigned x, y, threads, shared;
    uint64_t args[1900 / 8];
    struct call call;
    struct op *next;
};

struct stream {
    struct op *first, *last;
    bool captures;
    struct call captured;
    struct stream *next;
};
static struct stream null_stream; // the default one
static struct stream *streams = &null_stream;

static int run_until(struct event *event, int number);

static int run_first(struct stream *stream)
{
    struct op *op = stream->first;
    int code = op->waits ? run_until(op->waits, op->number) : 0;
    if (code == 0 && op->run)
        code = op->run(op);
    if (code == NOT_READY)
        return code;
    stream->first = op->next;
    if (op->records)
        op->records->done = op->number;
    free(op->own);
    free(op);
    return code;
}

static int run_until(struct event *event, int number)
{
    int code = 0;
    while (event->done < number && event->stream && event->stream->first) {
        int now = run_first(event->stream);
        code = code ? code : now;
        if (now == NOT_READY)
            break;
    }
    return code;
}

static int run_all(struct stream *stream)
{
    int code = 0;
    if (!stream)
        stream = &null_stream;
    while (stream->first) {
        int now = run_first(stream);
        code = code ? code : now;
        if (now == NOT_READY)
            break;
    }
    return code;
}

static void pause_a_little(void)
{
    static int pauses; // in a row; a minute of them is a fault of the test
    if (++pauses > 600000)
        abort();
    nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

// The same, waiting for other processes.
static int finish_until(struct event *event, int number)
{
    int code;
    while ((code = run_until(event, number)) == NOT_READY)
        pause_a_little();
    return code;
}

static int finish_all(struct stream *stream)
{
    int code;
    while ((code = run_all(stream)) == NOT_READY)
        pause_a_little();
    return code;
}

static int run_everything(void)
{
    int code = 0;
    for (struct stream *s = streams; s; s = s->next) {
        int now = finish_all(s);
        code = code ? code : now;
    }
    return code;
}

static int enqueue(void *stream_, struct op op)
{
    struct stream *stream = stream_ ? stream_ : &null_stream;
    struct op *kept = malloc(sizeof *kept);
    const char *late = getenv("FAKE_GPU_LATE"), *blocks = getenv("FAKE_GPU_BLOCKS");
    if (!kept)
        return 2;
    *kept = op;
    kept->next = NULL;
    if (stream->first)
        stream->last->next = kept;
    else
        stream->first = kept;
    stream->last = kept;
    if (late && *late == '1')
        return 0;
    int code = blocks && *blocks == '1' ? finish_all(stream) : run_all(stream);
    return code == NOT_READY ? 0 : code;
}

static int new_stream(void **out)
{
    struct stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return 2;
    stream->next = streams;
    streams = stream;
    *out = stream;
    return 0;
}

static void end_stream(struct stream *stream)
{
    (void)run_everything();
    for (struct stream **at = &streams; *at; at = &(*at)->next)
        if (*at == stream) {
            *at = stream->next;
            break;
        }
    free(stream);
}

#endif
