// SPDX-License-Identifier: Apache-2.0
#include "trace/rings.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"

#define FAR_NS (INT64_C(1) << 57) // four years: nonsense, and sums stay in range

static bool get(const struct ring *r, void *to, size_t size, size_t at)
{
    return pread(r->fd, to, size, (off_t)at) == (ssize_t)size;
}

static void put(const struct ring *r, const void *from, size_t size, size_t at)
{
    if (pwrite(r->fd, from, size, (off_t)at) != (ssize_t)size) {
        // The writer stops by itself where nobody reads.
    }
}

// Its name stays taken by an empty file; the ring itself goes when both sides have closed it, even
// if we are killed.
static void leave_empty(const char *folder, const char *path)
{
    char empty[4096];
    int n = snprintf(empty, sizeof empty, "%s/empty", folder);
    int fd =
        n > 0 && (size_t)n < sizeof empty ? open(empty, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd < 0)
        return;
    close(fd);
    if (rename(empty, path) != 0)
        unlink(empty);
}

int ring_open(struct ring *r, const char *folder, int number)
{
    char path[4096];
    struct stat st;
    int n = snprintf(path, sizeof path, "%s/%d.ring", folder, number);
    if (n <= 0 || (size_t)n >= sizeof path)
        return 0;
    r->fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (r->fd < 0)
        return 0;
    if (fstat(r->fd, &st) == 0 && S_ISREG(st.st_mode) && get(r, &r->header, sizeof r->header, 0) &&
        r->header.magic == TRACE_MAGIC && r->header.version == sizeof(struct trace_file)) {
        leave_empty(folder, path);
        r->opened_ns = clock_now_ns();
        return 1;
    }
    close(r->fd); // not complete yet, or not ours
    r->fd = -1;
    return 0;
}

void ring_close(struct ring *r)
{
    if (r->fd >= 0)
        close(r->fd);
    free(r->items);
    *r = (struct ring){.fd = -1};
}

static void read_names(struct ring *r)
{
    uint32_t names = r->header.names < TRACE_NAMES ? r->header.names : TRACE_NAMES;
    for (; r->names < names; r->names++) {
        struct trace_name name;
        char text[TRACE_NAME_BYTES + 1] = "";
        if (get(r, &name, sizeof name,
                offsetof(struct trace_file, names) + r->names * sizeof name) &&
            name.len <= TRACE_NAME_BYTES && name.at <= TRACE_TEXT_BYTES - name.len)
            get(r, text, name.len, offsetof(struct trace_file, text) + name.at);
        text[TRACE_NAME_BYTES] = '\0';
        r->classes[r->names] = classify_kernel(text);
    }
}

static void add_item(struct ring *r, const struct trace_record *from)
{
    static const uint8_t copies[TRACE_KINDS] = {[TRACE_COPY_IN] = CLASS_IN,
                                                [TRACE_COPY_OUT] = CLASS_OUT,
                                                [TRACE_COPY_WITHIN] = CLASS_WITHIN,
                                                [TRACE_SET] = CLASS_ELEMENTWISE};
    if (r->base_ns == 0)
        r->base_ns = from->start_ns;
    int64_t start_ns = (int64_t)(from->start_ns - r->base_ns);
    if (from->kind >= TRACE_KINDS || start_ns > FAR_NS || start_ns < -FAR_NS)
        return;
    struct kernel_class class = {copies[from->kind], PRECISION_NONE};
    uint32_t key = TRACE_NAMES + from->kind;
    if (from->kind == TRACE_KERNEL) {
        key = from->name < r->names ? from->name : 0;
        class = r->classes[key];
    }
    r->items[r->count++] = (struct trace_item){
        .start_ns = start_ns,
        .end_ns = start_ns + from->duration_ns,
        .key = key,
        .size = from->size,
        .launch = from->launch,
        .kind = from->kind,
        .class = class.class,
        .precision = class.precision,
        .device = from->device,
    };
}

// Half of the window goes when it is full.
static void make_room(struct ring *r, size_t more)
{
    if (r->count + more <= RING_WINDOW)
        return;
    ring_sort(r);
    size_t gone = r->count / 2;
    memmove(r->items, r->items + gone, (r->count - gone) * sizeof *r->items);
    r->count -= gone;
    r->sorted = r->count;
}

int ring_read(struct ring *r, struct err *err)
{
    if (r->fd < 0 || r->damaged)
        return 0;
    if (!r->items && !(r->items = malloc(RING_WINDOW * sizeof *r->items)))
        return err_memory(err);
    if (!get(r, &r->header, sizeof r->header, 0) || r->header.head < r->read ||
        r->header.head - r->read > TRACE_RECORDS) {
        r->damaged = true;
        return 0;
    }
    read_names(r);
    while (r->read < r->header.head) {
        struct trace_record some[1024];
        uint64_t place = r->read % TRACE_RECORDS, count = r->header.head - r->read;
        count = count < 1024 ? count : 1024;
        count = count < TRACE_RECORDS - place ? count : TRACE_RECORDS - place;
        if (!get(r, some, count * sizeof *some,
                 offsetof(struct trace_file, records) + place * sizeof *some)) {
            r->damaged = true;
            break;
        }
        make_room(r, count);
        for (size_t i = 0; i < count; i++)
            add_item(r, &some[i]);
        r->read += count;
    }
    put(r, &r->read, sizeof r->read, offsetof(struct trace_header, tail));
    return 0;
}

static int by_start(const void *a, const void *b)
{
    const struct trace_item *one = a, *two = b;
    return (one->start_ns > two->start_ns) - (one->start_ns < two->start_ns);
}

void ring_sort(struct ring *r)
{
    if (r->sorted == r->count)
        return;
    qsort(r->items, r->count, sizeof *r->items, by_start);
    r->sorted = r->count;
}

void ring_want(const struct ring *r, uint32_t records)
{
    if (r->fd >= 0)
        put(r, &records, sizeof records, offsetof(struct trace_header, wanted));
}

int64_t ring_clock(const struct ring *r, int64_t item_ns)
{
    return (int64_t)((uint64_t)item_ns + r->base_ns + r->header.clock_ns - r->header.cupti_ns);
}
