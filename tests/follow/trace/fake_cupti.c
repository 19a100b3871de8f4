// SPDX-License-Identifier: Apache-2.0
// A stand-in for CUPTI: records go into the client's buffers as CUDA 13 lays them out, and full
// buffers go back. FAKE_CUPTI=WORD makes it difficult:
//   subscribed  another profiler was there first
//   refuses     cuptiActivityEnable() fails
//   reversed    buffers come back in pairs, the later one first
//   keeps       buffers never come back
//   uncounted   launches have no numbers
//   old         it is CUDA 12.1's, which cannot be detached
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "follow/trace/fake_cupti.h"
#include "follow/trace/inject/cupti.h"

enum { KERNEL_BYTES = 216, COPY_BYTES = 80 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cupti_requested *requested;
static cupti_completed *completed;
static uint32_t enabled; // a bit per kind
static cupti_called *called;
static int watched, finalized;
static int64_t launches; // counted whether they are recorded or not, as the driver does
static struct buffer {
    uint8_t *at;
    size_t size, used;
} buffer, held;

static int is(const char *word)
{
    const char *text = getenv("FAKE_CUPTI");
    return text && strcmp(text, word) == 0;
}

int cuptiGetVersion(uint32_t *version)
{
    *version = is("old") ? 18 : 130000;
    return 0;
}

int cuptiGetTimestamp(uint64_t *ns)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    *ns = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
    return 0;
}

int cuptiSubscribe(void **subscriber, cupti_called *callback, void *data)
{
    (void)data;
    *subscriber = &buffer;
    called = callback;
    return is("subscribed") ? 39 : 0;
}

int cuptiUnsubscribe(void *subscriber)
{
    __atomic_store_n(&watched, 0, __ATOMIC_RELEASE);
    return subscriber == &buffer ? 0 : 1;
}

int cuptiEnableDomain(uint32_t enable, void *subscriber, uint32_t domain)
{
    if (enable > 1 || subscriber != &buffer || domain != CUPTI_DOMAIN_RUNTIME)
        return 1;
    __atomic_store_n(&watched, enable, __ATOMIC_RELEASE);
    return 0;
}

int cuptiFinalize(void)
{
    finalized++;
    return enabled; // records must be off
}

int cuptiActivityRegisterCallbacks(cupti_requested *r, cupti_completed *c)
{
    requested = r;
    completed = c;
    return 0;
}

int cuptiActivityEnable(uint32_t kind)
{
    if (is("refuses") && kind == CUPTI_KIND_MEMCPY)
        return 35;
    enabled |= 1u << kind;
    return 0;
}

int cuptiActivityDisable(uint32_t kind)
{
    enabled &= ~(1u << kind);
    return 0;
}

static void give_back_all(void);

// From the library's own thread.
int cuptiActivityFlushAll(uint32_t flag)
{
    (void)flag;
    pthread_mutex_lock(&lock);
    give_back_all();
    pthread_mutex_unlock(&lock);
    return 0;
}

int cuptiActivityGetNextRecord(uint8_t *from, size_t valid, void **record)
{
    uint8_t *next = from;
    if (*record) {
        uint32_t kind;
        memcpy(&kind, *record, sizeof kind);
        next =
            (uint8_t *)*record + (kind == CUPTI_KIND_CONCURRENT_KERNEL ? KERNEL_BYTES : COPY_BYTES);
    }
    if (next >= from + valid)
        return 12; // the end
    *record = next;
    return 0;
}

// ---- for the program

int fake_finalized(void)
{
    return finalized;
}

uint32_t fake_enabled(void)
{
    return enabled;
}

static void give_back(struct buffer *b)
{
    if (b->at)
        completed(NULL, 0, b->at, b->size, b->used);
    *b = (struct buffer){0};
}

static void give_back_all(void)
{
    if (is("keeps"))
        return;
    give_back(&buffer);
    give_back(&held);
}

void fake_flush(void)
{
    pthread_mutex_lock(&lock);
    give_back_all();
    pthread_mutex_unlock(&lock);
}

static void full(void)
{
    if (is("keeps")) {
        buffer = (struct buffer){0};
    } else if (is("reversed") && !held.at) {
        held = buffer;
        buffer = (struct buffer){0};
    } else {
        give_back_all();
    }
}

static void add(const struct fake_record *r)
{
    size_t bytes = r->kind == CUPTI_KIND_CONCURRENT_KERNEL ? KERNEL_BYTES : COPY_BYTES;
    size_t max = 0;
    if (!(enabled & 1u << r->kind))
        return;
    if (buffer.at && buffer.used + bytes > buffer.size)
        full();
    if (!buffer.at)
        requested(&buffer.at, &buffer.size, &max);
    if (!buffer.at)
        return;
    uint8_t *to = buffer.at + buffer.used;
    memset(to, 0, bytes);
    if (bytes == KERNEL_BYTES) {
        struct cupti_kernel *k = (struct cupti_kernel *)to;
        *k = (struct cupti_kernel){.kind = r->kind, .start = r->start, .end = r->end};
        k->device = r->device;
        k->stream = r->stream;
        k->grid[0] = r->blocks;
        k->grid[1] = k->grid[2] = 1;
        k->name = r->name;
        k->graph = r->graph;
        k->grid_id = launches;
    } else {
        struct cupti_copy *c = (struct cupti_copy *)to;
        *c = (struct cupti_copy){.kind = r->kind, .start = r->start, .end = r->end};
        c->copy = (uint8_t)r->copy;
        c->bytes = r->bytes;
        c->device = r->device;
        c->stream = r->stream;
    }
    buffer.used += bytes;
}

void fake_ended(const struct fake_record *r)
{
    for (uint32_t site = 0; site <= CUPTI_SITE_EXIT; site++)
        if (__atomic_load_n(&watched, __ATOMIC_ACQUIRE))
            called(NULL, CUPTI_DOMAIN_RUNTIME, 1, &site);
    pthread_mutex_lock(&lock);
    launches += r->kind == CUPTI_KIND_CONCURRENT_KERNEL && !is("uncounted");
    add(r);
    pthread_mutex_unlock(&lock);
}
