// SPDX-License-Identifier: Apache-2.0
#include "trace/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/scratch.h"
#include "trace/account.h"
#include "trace/rings.h"

#define LIBRARY   "libfare-trace.so"
#define INJECTION "CUDA_INJECTION64_PATH"

enum {
    PROCESSES = 4,       // recorded
    ANALYSE_MS = 1000,   // at most this often,
    ANALYSE_SHARE = 100, // and for one part in this many of the time
    ACCOUNT_RECORDS = 20000,
};

// The account is good enough with these many steps over this time; or with few, long ones.
static const struct {
    int64_t steps;
    double s;
} enough[] = {{30, 2}, {8, 5}, {3, 20}};

struct trace {
    struct scratch folder;
    struct buf library_entry, folder_entry;
    char *environment[3];
    const char *off;
    struct ring rings[PROCESSES];
    int seen; // rings so far
    enum trace_want want;

    int64_t analyse_ns; // next time
    struct account account;
    int64_t found; // steps reported

    struct ring *leader; // the process whose steps count
    struct pattern pattern;
    size_t next; // step of the pattern to report
    int64_t last_ns;
};

// ---- start and end

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

static int make_folder(struct trace *t, struct err *err)
{
    const char *tmp = getenv("TMPDIR");
    const char *const places[] = {"/dev/shm", tmp && *tmp == '/' ? tmp : "/tmp", "/tmp"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct err why = {0};
        int rc = scratch_make(&t->folder, places[i], &why);
        if (rc == 0 || rc == ERR_MEMORY)
            return rc == 0 ? 0 : err_memory(err);
    }
    t->off = "there is no room for its records";
    return 0;
}

static int find_library(struct trace *t, const char *given, struct buf *path, struct err *err)
{
    struct err why = {0};
    if (given)
        buf_adds(path, given);
    else if (fs_program_dir(path, &why) == ERR_MEMORY)
        return err_memory(err);
    buf_adds(path, given ? "" : "/" LIBRARY);
    TRY(buf_check(path, err));
    if (access(path->data, R_OK) != 0)
        t->off = "fare's " LIBRARY " is not beside the program";
    return 0;
}

static int open_trace(struct trace *t, const char *library, struct err *err)
{
    struct buf path = {0};
    int rc = 0;
    t->off = other_profiler();
    if (!t->off)
        rc = find_library(t, library, &path, err);
    if (rc == 0 && !t->off)
        rc = make_folder(t, err);
    if (rc == 0 && !t->off) {
        buf_printf(&t->folder_entry, TRACE_FOLDER "=%s", t->folder.path);
        buf_printf(&t->library_entry, INJECTION "=%s", buf_str(&path));
        rc = buf_check(&t->folder_entry, err);
        if (rc == 0)
            rc = buf_check(&t->library_entry, err);
        t->environment[0] = t->folder_entry.data;
        t->environment[1] = t->library_entry.data;
    }
    buf_release(&path);
    return rc;
}

int trace_new(struct trace **trace, const char *library, struct err *err)
{
    struct trace *t = *trace = calloc(1, sizeof *t);
    if (!t)
        return err_memory(err);
    for (int i = 0; i < PROCESSES; i++)
        t->rings[i].fd = -1;
    int rc = open_trace(t, library, err);
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
    scratch_remove(&t->folder);
    buf_release(&t->folder_entry);
    buf_release(&t->library_entry);
    free(t);
}

char *const *trace_environment(const struct trace *t)
{
    return t->environment;
}

// ---- reading

static uint32_t records_of(enum trace_want want)
{
    return want == TRACE_STEPS ? UINT32_MAX : want == TRACE_ACCOUNT ? ACCOUNT_RECORDS : 0;
}

static void open_rings(struct trace *t)
{
    for (; t->folder.path && t->seen < TRACE_RINGS; t->seen++) {
        struct ring one = {.fd = -1}, *to = t->seen < PROCESSES ? &t->rings[t->seen] : &one;
        if (!ring_open(to, t->folder.path, t->seen))
            return;
        ring_want(to, to != &one ? records_of(t->want) : 0);
        if (to == &one)
            ring_close(to);
    }
}

static int analyse(struct trace *t, struct err *err)
{
    struct account sum = {0};
    for (int i = 0; i < PROCESSES && t->rings[i].fd >= 0; i++) {
        struct ring *r = &t->rings[i];
        struct pattern pattern;
        struct account account;
        ring_sort(r);
        TRY(pattern_find(r->items, r->count, &pattern, err));
        int rc = account_make(r->items, r->count, &pattern, &account, err);
        account_add(&sum, &account);
        if (rc == 0 && pattern.count > 0 && (!t->leader || t->leader == r)) {
            pattern_release(&t->pattern);
            t->pattern = pattern;
            t->leader = r;
            t->next = 0;
        } else {
            pattern_release(&pattern);
            TRY(rc);
        }
    }
    t->account = sum;
    return 0;
}

// The steps before the first analysis are one report: when they are known, time has passed.
static int64_t next_steps(struct trace *t, int64_t *at_ns)
{
    int64_t steps = 0;
    bool first = t->found == 0;
    for (; t->next < t->pattern.count && (first || steps == 0); t->next++) {
        int64_t end_ns = t->pattern.ends[t->next];
        if (t->found > 0 && end_ns <= t->last_ns + t->account.step_ns / 2)
            continue; // reported before
        t->last_ns = end_ns;
        t->found++;
        steps++;
    }
    if (steps > 0)
        *at_ns = ring_clock(t->leader, t->last_ns);
    return steps;
}

static int read_all(struct trace *t, bool analyse_now, struct err *err)
{
    bool any = false;
    open_rings(t);
    for (int i = 0; i < PROCESSES; i++) {
        uint64_t before = t->rings[i].read;
        TRY(ring_read(&t->rings[i], err));
        any |= t->rings[i].count > 0 && (t->rings[i].read != before || analyse_now);
    }
    int64_t now_ns = clock_now_ns();
    if (!any || (now_ns < t->analyse_ns && !analyse_now))
        return 0;
    TRY(analyse(t, err));
    int64_t took_ns = clock_now_ns() - now_ns, pause_ns = ANALYSE_MS * NS_PER_MS;
    if (took_ns * ANALYSE_SHARE > pause_ns)
        pause_ns = took_ns * ANALYSE_SHARE;
    t->analyse_ns = now_ns + pause_ns;
    return 0;
}

int trace_read(struct trace *t, int64_t *steps, int64_t *at_ns, struct err *err)
{
    *steps = 0;
    if (t->off)
        return 0;
    *steps = next_steps(t, at_ns);
    if (*steps > 0)
        return 0;
    TRY(read_all(t, false, err));
    *steps = next_steps(t, at_ns);
    return 0;
}

bool trace_enough(const struct trace *t)
{
    const struct account *a = &t->account;
    for (int i = 0; i < PROCESSES; i++)
        if (t->rings[i].fd >= 0 && t->rings[i].header.state == TRACE_ENOUGH)
            return true;
    for (size_t i = 0; i < sizeof enough / sizeof *enough; i++)
        if (a->steps >= enough[i].steps && (double)a->covered_ns >= enough[i].s * 1e9)
            return true;
    return false;
}

void trace_record(struct trace *t, enum trace_want want)
{
    if (want == t->want)
        return;
    t->want = want;
    for (int i = 0; i < PROCESSES; i++) {
        ring_want(&t->rings[i], records_of(want));
        if (want != TRACE_NOTHING)
            t->rings[i].count = t->rings[i].sorted = 0;
    }
    if (want != TRACE_NOTHING)
        t->account = (struct account){0};
}

// ---- sentences for the user

const char *trace_why_off(const struct trace *t)
{
    static const char *const texts[] = {
        [TRACE_LIMIT] = "recording ended at its limit of ten minutes or 67 million records",
        [TRACE_UNREAD] = "the command was faster than the records could be read",
        [TRACE_NO_CUPTI] = "the process has no CUPTI (libcupti.so) to record its GPU",
        [TRACE_OTHER] = "another profiler has the GPU",
        [TRACE_FAILED] = "CUPTI does not record this GPU",
    };
    if (t->off)
        return t->off;
    for (int i = 0; i < PROCESSES; i++) {
        uint32_t state = t->rings[i].fd < 0 ? TRACE_RECORDING : t->rings[i].header.state;
        if (state < sizeof texts / sizeof *texts && texts[state])
            return texts[state];
    }
    return NULL;
}

int trace_end(struct trace *t, struct err *err)
{
    return t->off ? 0 : read_all(t, true, err);
}

int trace_account(struct trace *t, struct run_account *r, struct err *err)
{
    int64_t processes = 0, dropped = 0;
    for (int i = 0; i < PROCESSES; i++) {
        processes += t->rings[i].read > 0;
        dropped += t->rings[i].fd < 0 ? 0 : (int64_t)(t->rings[i].header.dropped & INT64_MAX >> 8);
    }
    TRY(text_set(&r->off, trace_why_off(t), err));
    if (processes == 0)
        return 0;
    r->processes = some_int(processes);
    r->dropped = some_int(dropped);
    if (t->found > 0)
        r->steps_by_pattern = some_int(t->found);
    return account_record(&t->account, r, err);
}
