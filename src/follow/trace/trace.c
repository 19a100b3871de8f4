// SPDX-License-Identifier: Apache-2.0
#include "follow/trace/trace.h"

#include <fcntl.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "follow/trace/account.h"
#include "follow/trace/ring.h"
#include "follow/trace/worker.h"

struct injection {
    struct scratch folder; // without a path: none
    struct buf library_entry, folder_entry;
    char *environment[3]; // "NAME=value"; null-terminated
    const char *off;      // for a person; null: it is on
};

#define LIBRARY   "libfare-trace.so"
#define INJECTION "CUDA_INJECTION64_PATH"

// Variables of profilers that use CUPTI themselves or inject a library of their own.
static const char *other_profiler(void)
{
    static const struct {
        const char *variable, *text;
    } others[] = {
        {INJECTION, INJECTION " is set: another profiler has the GPU"},
        {"NVTX_INJECTION64_PATH", "NVTX_INJECTION64_PATH is set: another profiler has the GPU"},
        {"NSYS_PROFILING_SESSION_ID", "it runs under Nsight Systems"},
        {"NV_COMPUTE_PROFILER_PERFWORKS_DIR", "it runs under Nsight Compute"},
        {"KINETO_USE_DAEMON", "KINETO_USE_DAEMON is set: PyTorch's profiler may be started"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (getenv(others[i].variable) && *getenv(others[i].variable))
            return others[i].text;
    return NULL;
}

static int make_folder(struct injection *in, struct err *err)
{
    const char *tmp = getenv("TMPDIR");
    const char *const places[] = {"/dev/shm", tmp && *tmp == '/' ? tmp : "/tmp", "/tmp"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct err why = {0};
        int rc = scratch_make(&in->folder, places[i], &why);
        if (rc == 0 || rc == ERR_MEMORY)
            return rc == 0 ? 0 : err_memory(err);
    }
    in->off = "there is no room for its records";
    return 0;
}

static int find_library(struct injection *in, const char *given, struct buf *path, struct err *err)
{
    struct err why = {0};
    if (given)
        buf_adds(path, given);
    else if (fs_program_dir(path, &why) == ERR_MEMORY)
        return err_memory(err);
    buf_adds(path, given ? "" : "/" LIBRARY);
    TRY(buf_check(path, err));
    if (access(path->data, R_OK) != 0)
        in->off = "fare's " LIBRARY " is not beside the program";
    return 0;
}

// `library` replaces the library's path (for tests). Fails only for lack of memory. What was opened
// is to be released even after a failure.
static int injection_open(struct injection *in, const char *library, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0};
    in->off = other_profiler();
    if (!in->off)
        TRY(find_library(in, library, &path, err));
    if (!in->off)
        TRY(make_folder(in, err));
    if (in->off)
        return 0;
    buf_printf(&in->folder_entry, TRACE_FOLDER "=%s", in->folder.path);
    buf_printf(&in->library_entry, INJECTION "=%s", buf_str(&path));
    TRY(buf_check(&in->folder_entry, err));
    TRY(buf_check(&in->library_entry, err));
    in->environment[0] = in->folder_entry.data;
    in->environment[1] = in->library_entry.data;
    return 0;
}

static void injection_release(struct injection *in)
{
    scratch_remove(&in->folder);
    buf_release(&in->folder_entry);
    buf_release(&in->library_entry);
}

// ---- Rings

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

// ---- Recording

enum {
    PROCESSES = 16,      // recorded
    ANALYSE_MS = 1000,   // at most this often,
    ANALYSE_SHARE = 100, // and for one part in this many of the time
    BURST_LEAST = 4000,  // records of the first burst
    BURST_MOST = 20000,
    BURST_LATE = 3000,  // records more, before it is off
    BURST_STEPS = 8,    // that a burst should have at first,
    BURST_LONGEST = 64, // and where those between bursts take longer
    PEEKS = 10,         // between two bursts, if the steps are wanted,
    PEEK_LEAST = 2000,  // each as if it had so many records: turning CUPTI on and off has its price
    LOOKS = 3,          // peeks after the account is made, to see how long steps take otherwise:
    LOOK_S = 3,         // after that time, then twice that, ...
};

// A burst of records may cost this share of the time since the process began to use CUDA. On an
// H200's host, a record cost a program that waits for the host 3.3 and 5.8 µs
// (docs/gpu-results.md).
#define COST_SHARE 0.01
#define RECORD_NS  6000.0

// Steps between bursts that take so many times as long as those in them: the bursts show how a
// queue of batches is worked off, and not the waiting for the next.
#define APART 1.5

// The account is good enough with these many steps over this time; or with few, long ones.
static const struct {
    int64_t steps;
    double s;
} enoughs[] = {{30, 2}, {8, 5}, {3, 20}};

struct trace {
    struct injection injection;
    struct ring rings[PROCESSES];
    struct burst {
        bool on, peek;
        int peeks;            // since the last full one
        uint64_t least, most; // records: begins once so many are allowed; takes no more
        uint64_t from;        // records before it
        uint32_t launch;      // at the end of the last step counted
        uint32_t per_step;    // launches; 0: not known
        uint64_t took;        // records, for what they may cost
        int steps;            // that the next one should have,
        bool longer;          // which are more than the last one had
        int looks;            // so far
        int64_t look_ns;      // not before
        bool vain;            // the last one had no steps
        struct account before;
    } bursts[PROCESSES];
    struct account accounts[PROCESSES]; // of each alone
    int seen;                           // rings so far
    enum trace_want want;
    bool gpu_bound; // the host is ahead of the GPU

    int64_t analyse_ns; // next time
    int64_t ended_ns;   // 0: it goes on
    struct account account;

    struct ring *leader; // the process whose steps count
    struct pattern pattern;
    int64_t found; // steps reported,
    int64_t fresh; // and to report,
    int64_t last_ns;
    bool by_time; // launches do not tell the steps between two bursts

    int64_t span_ns; // from one burst or peek to the next, in all,
    double span;     // and the steps then, by launches
};

// ---- start and end

int trace_new(struct trace **trace, const char *library, struct err *err)
{
    struct trace *t = *trace = calloc(1, sizeof *t);
    if (!t)
        return err_memory(err);
    for (int i = 0; i < PROCESSES; i++)
        t->rings[i].fd = -1;
    int rc = injection_open(&t->injection, library, err);
    if (rc != 0) {
        trace_free(t);
        *trace = NULL;
    }
    return rc;
}

void trace_free(struct trace *t)
{
    if (!t)
        return;
    for (int i = 0; i < PROCESSES; i++)
        ring_close(&t->rings[i]);
    pattern_release(&t->pattern);
    injection_release(&t->injection);
    free(t);
}

char *const *trace_environment(const struct trace *t)
{
    return t->injection.environment;
}

// ---- reading

static void open_rings(struct trace *t)
{
    for (; t->injection.folder.path && t->seen < TRACE_RINGS; t->seen++) {
        struct ring one = {.fd = -1}, *to = t->seen < PROCESSES ? &t->rings[t->seen] : &one;
        if (!ring_open(to, t->injection.folder.path, t->seen))
            return;
        if (to == &one)
            ring_close(to);
        else
            t->bursts[t->seen] =
                (struct burst){.least = BURST_LEAST, .most = BURST_MOST, .steps = BURST_STEPS};
    }
}

// The newest burst's account, unless it has too few steps or covers much less time than the one
// before.
static bool is_better(const struct account *now, const struct account *before)
{
    bool fair = now->covered_ns >= before->covered_ns / 2;
    bool far = now->covered_ns / 4 > before->covered_ns;
    return fair && (now->steps >= BURST_STEPS || now->steps > before->steps || far);
}

// The first records of a burst are a part of a step, whose layers may look like steps: what all of
// its records show replaces that, whatever it is. A peek has no more than a part.
static int analyse(struct trace *t, struct err *err)
{
    t->account = (struct account){0};
    for (int i = 0; i < PROCESSES && t->rings[i].fd >= 0; i++) {
        struct ring *r = &t->rings[i];
        struct pattern pattern;
        struct account account;
        if (t->bursts[i].peek) {
            account_add(&t->account, &t->accounts[i]);
            continue;
        }
        ring_sort(r);
        TRY(pattern_find(r->items, r->count, &pattern, err));
        int rc = account_make(r->items, r->count, &pattern, &account, err);
        const struct account *before = &t->bursts[i].before;
        t->accounts[i] = is_better(&account, before) ? account : *before;
        account_add(&t->account, &t->accounts[i]);
        if (rc == 0 && pattern.count > 0 && (!t->leader || t->leader == r)) {
            pattern_release(&t->pattern);
            t->pattern = pattern;
            t->leader = r;
        } else {
            pattern_release(&pattern);
            TRY(rc);
        }
    }
    return 0;
}

// ---- counting steps over bursts

static int by_size(const void *a, const void *b)
{
    uint32_t one = *(const uint32_t *)a, two = *(const uint32_t *)b;
    return (one > two) - (one < two);
}

// Launches in a step: the median. Zero if steps differ, or if the driver does not count them, as
// may be in graphs.
static int launches_per_step(const struct pattern *p, uint32_t *launches, struct err *err)
{
    size_t count = p->count - 1, close = 0;
    SCOPED(free_pointer) uint32_t *each = malloc(count * sizeof *each);
    *launches = 0;
    if (!each)
        return err_memory(err);
    for (size_t i = 0; i < count; i++)
        each[i] = p->launches[i + 1] - p->launches[i];
    qsort(each, count, sizeof *each, by_size);
    uint32_t median = each[count / 2];
    for (size_t i = 0; i < count; i++)
        close += each[i] >= median - median / 20 && each[i] <= median + median / 20;
    if (close * 3 >= count * 2)
        *launches = median;
    return 0;
}

// So long these steps took since the last burst or peek. If that is longer than in the bursts, the
// next one is twice as long.
static void note_span(struct trace *t, struct burst *b, int64_t took_ns, int64_t steps)
{
    double step_ns = (double)took_ns / (double)steps;
    t->span_ns += took_ns;
    t->span += (double)steps;
    if (b->longer || b->steps >= BURST_LONGEST || step_ns <= APART * (double)t->account.step_ns)
        return;
    b->longer = true;
    b->steps *= 2;
    b->least *= 2;
    b->most *= 2;
}

// At the end of a burst: the steps up to its last one, since the last burst's. The driver counts
// launches whether they are recorded or not; so steps while nothing was recorded are launches by
// launches per step.
static int count_steps(struct trace *t, struct burst *b, struct err *err)
{
    const struct pattern *p = &t->pattern;
    TRY(launches_per_step(p, &b->per_step, err));
    int64_t end_ns = p->ends[p->count - 1], steps = (int64_t)p->count;
    if (b->per_step > 0)
        steps = llround((double)(p->launches[p->count - 1] - b->launch) / b->per_step);
    else if (t->found > 0 && t->account.step_ns > 0)
        steps = llround((double)(end_ns - t->last_ns) / (double)t->account.step_ns);
    t->by_time |= b->per_step == 0 && t->found > 0;
    b->launch = p->launches[p->count - 1];
    if (steps <= 0 || (t->found > 0 && end_ns <= t->last_ns))
        return 0;
    if (b->per_step > 0 && t->found > 0)
        note_span(t, b, end_ns - t->last_ns, steps);
    t->last_ns = end_ns;
    t->fresh += steps;
    return 0;
}

// After a burst of a few records: a launch and its time are enough, since launches in a step are
// known. It lies within a step, so the end of the one before is interpolated.
static void count_launches(struct trace *t, const struct ring *r, struct burst *b)
{
    const struct trace_item *last = NULL;
    for (size_t i = 0; i < r->count; i++)
        if (r->items[i].kind == TRACE_KERNEL && (!last || r->items[i].start_ns > last->start_ns))
            last = &r->items[i];
    double since = last ? (double)(last->launch - b->launch) / b->per_step : 0;
    int64_t steps = (int64_t)since;
    if (steps < 1 || last->start_ns <= t->last_ns)
        return;
    int64_t took_ns = (int64_t)((double)(last->start_ns - t->last_ns) * (double)steps / since);
    note_span(t, b, took_ns, steps);
    t->last_ns += took_ns;
    b->launch += (uint32_t)steps * b->per_step;
    t->fresh += steps;
}

// ---- bursts

static uint64_t allowed(const struct ring *r, int64_t now_ns)
{
    return (uint64_t)((double)(now_ns - r->opened_ns) * COST_SHARE / RECORD_NS);
}

static uint64_t used(const struct ring *r)
{
    return r->header.head + r->header.dropped;
}

static bool may_peek(const struct trace *t, const struct burst *b)
{
    return t->want == TRACE_STEPS && b->per_step > 0 && b->peeks < PEEKS;
}

// The account is made; now and then a look at the launches tells whether other steps take as long.
static bool may_look(const struct trace *t, const struct burst *b)
{
    return t->want == TRACE_ACCOUNT && b->per_step > 0 && b->looks < LOOKS;
}

static void begin_burst(struct trace *t, int i, uint64_t records, bool look)
{
    struct ring *r = &t->rings[i];
    struct burst *b = &t->bursts[i];
    b->on = true;
    b->peek = look || may_peek(t, b);
    b->peeks = b->peek ? b->peeks + 1 : 0;
    b->looks += look;
    if (!b->peek)
        b->before = t->accounts[i];
    b->from = used(r);
    r->count = r->sorted = 0;
    if (t->leader == r)
        pattern_release(&t->pattern);
    records -= b->peek ? 0 : BURST_LATE;
    ring_want(r, (uint32_t)(b->peek ? 1 : records < b->most ? records : b->most));
}

// The next one is as long as some steps; or, if none were found, twice as long as this one.
static int end_burst(struct trace *t, int i, struct err *err)
{
    struct ring *r = &t->rings[i];
    struct burst *b = &t->bursts[i];
    uint64_t records = used(r) - b->from, most = UINT32_MAX / 2;
    ring_want(r, 0);
    b->on = false;
    b->look_ns = clock_now_ns() + ((int64_t)LOOK_S << b->looks) * NS_PER_S;
    b->took += records < PEEK_LEAST ? PEEK_LEAST : records;
    if (b->peek) {
        count_launches(t, r, b);
        return 0;
    }
    TRY(analyse(t, err));
    if (t->leader == r && t->pattern.count > 0) {
        b->longer = false;
        TRY(count_steps(t, b, err));
        b->most = records / t->pattern.count * (uint64_t)b->steps;
    } else {
        b->launch = r->count > 0 ? r->items[r->count - 1].launch : b->launch;
        b->most = records * 2;
    }
    b->most = b->most < BURST_LEAST ? BURST_LEAST : b->most < most ? b->most : most;
    b->least = b->most;
    b->vain = t->account.steps == 0;
    return 0;
}

// Without detaching it, CUPTI goes on costing a program that waits for the host.
static bool may_record(const struct trace *t, const struct ring *r)
{
    return r->header.state == TRACE_WAITING &&
           (r->header.cupti >= TRACE_DETACH_SINCE || t->gpu_bound);
}

static bool enough(const struct trace *t)
{
    const struct account *a = &t->account;
    bool on = false;
    for (int i = 0; i < PROCESSES; i++)
        on |= t->bursts[i].on && !t->bursts[i].peek;
    if (!on && a->steps >= BURST_STEPS)
        return true;
    for (size_t i = 0; i < sizeof enoughs / sizeof *enoughs; i++)
        if (a->steps >= enoughs[i].steps && (double)a->covered_ns >= enoughs[i].s * 1e9)
            return true;
    return false;
}

static int pace(struct trace *t, int64_t now_ns, struct err *err)
{
    for (int i = 0; i < PROCESSES && t->rings[i].fd >= 0; i++) {
        struct ring *r = &t->rings[i];
        struct burst *b = &t->bursts[i];
        bool on = r->header.state == TRACE_WAITING || r->header.state == TRACE_RECORDING;
        bool done = t->want == TRACE_ACCOUNT && enough(t);
        bool look = done && may_look(t, b) && now_ns >= b->look_ns;
        uint64_t most = allowed(r, now_ns);
        uint64_t least = look || may_peek(t, b) ? PEEK_LEAST : b->least + BURST_LATE;
        if (b->on && (!on || t->want == TRACE_NOTHING || (done && !b->peek)))
            TRY(end_burst(t, i, err));
        else if (!b->on && t->want != TRACE_NOTHING && (!done || look) && most >= b->took + least &&
                 may_record(t, r))
            begin_burst(t, i, most - b->took, look);
    }
    return 0;
}

static int read_all(struct trace *t, struct err *err)
{
    bool any = false;
    open_rings(t);
    for (int i = 0; i < PROCESSES; i++) {
        uint64_t before = t->rings[i].read;
        TRY(ring_read(&t->rings[i], err));
        any |= t->rings[i].read != before;
    }
    int64_t now_ns = clock_now_ns();
    if (any && t->want == TRACE_ACCOUNT && now_ns >= t->analyse_ns) {
        TRY(analyse(t, err));
        int64_t took_ns = clock_now_ns() - now_ns, pause_ns = ANALYSE_MS * NS_PER_MS;
        if (took_ns * ANALYSE_SHARE > pause_ns)
            pause_ns = took_ns * ANALYSE_SHARE;
        t->analyse_ns = now_ns + pause_ns;
    }
    return pace(t, now_ns, err);
}

int trace_read(struct trace *t, int64_t *steps, int64_t *at_ns, struct err *err)
{
    *steps = 0;
    if (t->injection.off)
        return 0;
    if (t->ended_ns == 0)
        TRY(read_all(t, err));
    *steps = t->fresh;
    t->found += t->fresh;
    t->fresh = 0;
    if (*steps > 0)
        *at_ns = ring_clock(t->leader, t->last_ns);
    return 0;
}

bool trace_by_time(const struct trace *t)
{
    return t->by_time;
}

bool trace_enough(const struct trace *t)
{
    bool looks = false;
    for (int i = 0; i < PROCESSES; i++)
        looks |= may_look(t, &t->bursts[i]) || t->bursts[i].on;
    return enough(t) && !looks;
}

void trace_record(struct trace *t, enum trace_want want)
{
    if (want == t->want)
        return;
    t->want = want;
    for (int i = 0; i < PROCESSES && want != TRACE_NOTHING; i++) {
        t->bursts[i].least = BURST_LEAST;
        t->bursts[i].most = BURST_MOST;
        t->account = t->accounts[i] = t->bursts[i].before = (struct account){0};
    }
}

void trace_gpu_bound(struct trace *t, bool gpu_bound)
{
    t->gpu_bound = gpu_bound;
}

// ---- sentences for the user

static const char *why_too_costly(const struct trace *t)
{
    for (int i = 0; i < PROCESSES && t->rings[i].fd >= 0; i++) {
        if (t->bursts[i].vain && t->rings[i].read > 0) // else no kernel ran: its GPU may be hidden
            return "its records show no steps, and recording more would cost over 1 %";
        if (t->want != TRACE_NOTHING && t->rings[i].header.cupti < TRACE_DETACH_SINCE &&
            t->rings[i].header.state == TRACE_WAITING)
            return "it waits for the host, and CUPTI before CUDA 12.6 would go on costing over 1 %";
    }
    return NULL;
}

// Null while it is on. For a person: "CUDA_INJECTION64_PATH is set: another profiler has the GPU".
static const char *trace_why_off(const struct trace *t)
{
    static const char *const texts[] = {
        [TRACE_LIMIT] = "recording ended at its limit of ten minutes or 67 million records",
        [TRACE_UNREAD] = "the command was faster than the records could be read",
        [TRACE_NO_CUPTI] = "the process has no CUPTI (libcupti.so) to record its GPU",
        [TRACE_OTHER] = "another profiler has the GPU",
        [TRACE_FAILED] = "CUPTI does not record this GPU",
    };
    if (t->injection.off)
        return t->injection.off;
    for (int i = 0; i < PROCESSES; i++) {
        uint32_t state = t->rings[i].fd < 0 ? TRACE_RECORDING : t->rings[i].header.state;
        if (state < sizeof texts / sizeof *texts && texts[state])
            return texts[state];
    }
    return t->account.steps == 0 ? why_too_costly(t) : NULL;
}

int trace_end(struct trace *t, struct err *err)
{
    if (t->injection.off)
        return 0;
    TRY(read_all(t, err));
    for (int i = 0; i < PROCESSES && t->rings[i].fd >= 0; i++)
        if (t->bursts[i].on)
            TRY(end_burst(t, i, err));
    t->ended_ns = clock_now_ns();
    return 0;
}

int64_t trace_exit_ns(const struct trace *t)
{
    const struct ring *r = t->leader;
    bool told = r && r->header.ended_ns >= (uint64_t)r->opened_ns &&
                r->header.ended_ns <= (uint64_t)t->ended_ns;
    return told ? (int64_t)r->header.ended_ns : t->ended_ns;
}

static double between_ns(const struct trace *t) // mean step from burst to burst; 0: unknown
{
    return t->span >= PATTERN_LEAST ? (double)t->span_ns / t->span : 0;
}

int trace_ranks(const struct trace *t, struct trace_rank *list)
{
    int count = 0;
    for (int i = 0; i < PROCESSES && t->rings[i].fd >= 0; i++) {
        const struct trace_header *h = &t->rings[i].header;
        const struct account *a = &t->accounts[i];
        bool placed =
            h->size > 0 && h->size <= WORKER_SIZE_MOST && h->rank >= 0 && h->rank < h->size;
        // The recorded steps stand for those between bursts, which may be longer. All ranks' steps
        // last equally long, but one rank's burst may have more of the long ones than another's.
        bool others = between_ns(t) > APART * (double)a->step_ns ||
                      (t->want == TRACE_STEPS && between_ns(t) > 0); // the run's own step time
        if (account_collectives_ns(a) > 0 && a->covered_ns > 0)
            list[count++] = (struct trace_rank){
                .rank = placed ? h->rank : -1,
                .size = placed ? h->size : -1,
                .pid = (int)h->pid,
                .covered_ns = others ? (int64_t)(between_ns(t) * (double)a->steps) : a->covered_ns,
                .exposed_ns = a->exposed_ns};
    }
    return count;
}

int trace_account(struct trace *t, struct run_account *r, struct err *err)
{
    int64_t processes = 0, dropped = 0;
    for (int i = 0; i < PROCESSES; i++) {
        const struct ring *ring = &t->rings[i];
        double lived_ns = (double)(t->ended_ns - ring->opened_ns);
        if (ring->read > 0 && lived_ns > 0) {
            double share = (double)t->bursts[i].took * RECORD_NS / lived_ns;
            r->cost_share = some_real(share > r->cost_share.v ? share : r->cost_share.v);
        }
        processes += ring->read > 0;
        dropped += t->rings[i].fd < 0 ? 0 : (int64_t)(t->rings[i].header.dropped & INT64_MAX >> 8);
    }
    TRY(text_set(&r->off, trace_why_off(t), err));
    if (processes == 0)
        return 0;
    r->processes = some_int(processes);
    r->dropped = some_int(dropped);
    if (t->found + t->fresh > 0)
        r->steps_by_pattern = some_int(t->found + t->fresh);
    if (between_ns(t) > 0)
        r->between_ms = some_real(between_ns(t) / 1e6);
    return account_record(&t->account, r, err);
}
