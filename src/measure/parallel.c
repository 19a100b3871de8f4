// SPDX-License-Identifier: Apache-2.0
#include "measure/parallel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/tree.h"
#include "measure/measure.h"
#include "follow/trace/exchanges.h"
#include "follow/trace/trace.h"

enum {
    WORK_MS = 100,
    FIRST_MS = 50,             // the first look at processes,
    LOOK_MOST_S = 60,          // then after half the time, at least this often,
    LOOK_SHARE = 100,          // but for one part in this many of the time
    ENVIRONMENT_MAX = 1 << 20, // bytes
    RANKS_MOST = 4096,         // whose times are kept
};

// A rank's times when the first step was seen, and at the last one.
struct pair {
    int seat; // the fare process that told
    struct rank_times begin, end, now;
};

struct parallel {
    struct exchanges *calls; // null: off
    struct join *join;       // null: this is the only fare process
    struct worker place;     // ours, if there are others
    struct pair *pairs;
    int count;
    int64_t due_ns, look_ns, start_ns;
    bool begun;   // a step was seen
    int64_t step; // the last one
    // What launchers told the command's processes.
    const char *by;
    int size, nodes; // the largest; 0: none
    bool differs;    // others were told another number
    int exit_code;   // of the others
    uint8_t seen[(WORKER_SIZE_MOST + 8) / 8];
    int seen_count;
    struct exchanges_one calls_now[EXCHANGES_MOST];
    struct rank_times told[RANK_TIMES_MOST];
};

// ---- before

static bool is_launcher(const char *text, size_t len)
{
    static const char names[] = "torchrun accelerate deepspeed horovodrun mpirun mpiexec orterun "
                                "prterun srun torch.distributed.run torch.distributed.launch "
                                "mpiexec.hydra";
    char word[40];
    snprintf(word, sizeof word, "%.*s", (int)len, text);
    return len < sizeof word && text_has_word(names, word, ' ');
}

// Also behind `env`, `uv run` and within `sh -c '...'`.
static bool launches(char *const *argv)
{
    for (; *argv; argv++)
        for (const char *at = *argv; *at; at += strcspn(at, " \t\n;&|/"), at += *at != '\0')
            if (is_launcher(at, strcspn(at, " \t\n;&|/")))
                return true;
    return false;
}

int parallel_open(struct parallel **parallel, const struct session *s, char *const *argv,
                  struct err *err)
{
    struct worker place;
    bool joined = !s->o->alone && join_place(&place);
    *parallel = NULL;
    struct parallel *t = *parallel = calloc(1, sizeof *t);
    if (!t || !(t->pairs = calloc(RANKS_MOST, sizeof *t->pairs))) {
        parallel_free(t);
        *parallel = NULL;
        return err_memory(err);
    }
    t->start_ns = clock_now_ns();
    if (!s->o->no_trace && (joined || launches(argv)))
        TRY(exchanges_new(&t->calls, NULL, err));
    if (joined) {
        t->place = place;
        TRY(join_new(&t->join, &place, err));
    }
    return 0;
}

void parallel_free(struct parallel *t)
{
    if (!t)
        return;
    exchanges_free(t->calls);
    join_free(t->join);
    free(t->pairs);
    free(t);
}

size_t parallel_environment(const struct parallel *t, char **list, size_t count)
{
    char *const *entries = t && t->calls ? exchanges_environment(t->calls) : NULL;
    for (; entries && *entries; entries++)
        list[count++] = *entries;
    return count;
}

// ---- who they are

// `by` may be null. Launchers that start others, each with one process to a machine, are not the
// ranks: the largest number counts.
static void see(struct parallel *t, const char *by, int rank, int size, int nodes)
{
    if (size < 2 || rank < 0 || rank >= size || size > WORKER_SIZE_MOST)
        return;
    t->differs |= t->size != size && t->by && by && strcmp(t->by, by) == 0;
    if (size > t->size) {
        t->size = size;
        t->nodes = t->seen_count = 0;
        t->by = by;
        memset(t->seen, 0, sizeof t->seen);
    }
    if (size < t->size)
        return;
    t->by = t->by ? t->by : by;
    t->nodes = nodes > t->nodes ? nodes : t->nodes;
    if (!(t->seen[rank / 8] & 1 << rank % 8)) {
        t->seen[rank / 8] |= (uint8_t)(1 << rank % 8);
        t->seen_count++;
    }
}

// Processes of other users cannot be read, and are left out. Children of a rank have its place too.
// False: out of memory.
static bool look_at(struct parallel *t, pid_t pid)
{
    char path[64];
    SCOPED(buf_release) struct buf block = {0};
    struct worker place;
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    int rc = fs_read(path, ENVIRONMENT_MAX, &block, NULL);
    buf_add(&block, "\0", 2);
    bool failed = block.failed || rc == ERR_MEMORY;
    if (rc == 0 && !failed && worker_find(worker_block, block.data, &place))
        see(t, place.by, place.rank, place.size, place.nodes);
    return !failed;
}

static bool look_at_processes(struct parallel *t, const struct child *child, int64_t now_ns)
{
    bool good;
    struct child_process *list = NULL;
    int64_t passed_ns = now_ns - t->start_ns;
    if (passed_ns < FIRST_MS * NS_PER_MS || now_ns < t->look_ns)
        return true;
    int count = child_list(child, &list);
    good = count != ERR_MEMORY;
    for (int i = 0; i < count; i++)
        good &= look_at(t, list[i].pid);
    free(list);
    int64_t took_ns = clock_now_ns() - now_ns, wait_ns = passed_ns / 2;
    wait_ns = wait_ns < LOOK_MOST_S * NS_PER_S ? wait_ns : LOOK_MOST_S * NS_PER_S;
    t->look_ns = now_ns + (wait_ns > took_ns * LOOK_SHARE ? wait_ns : took_ns * LOOK_SHARE);
    return good;
}

// ---- their times

static struct pair *parallel_find(struct parallel *t, int seat, int pid)
{
    for (int i = 0; i < t->count; i++)
        if (t->pairs[i].seat == seat && t->pairs[i].now.pid == pid)
            return &t->pairs[i];
    if (t->count == RANKS_MOST)
        return NULL;
    return &t->pairs[t->count++];
}

static void hear(struct parallel *t, int seat, const struct rank_times *r)
{
    struct pair *p = parallel_find(t, seat, r->pid);
    if (!p || (p->now.pid && r->covered_ns < p->now.covered_ns && !(r->by & RANK_NCCL)))
        return;
    bool first = p->now.pid == 0;
    p->seat = seat;
    p->now = *r;
    if (first && t->begun)
        p->begin = *r;
    see(t, NULL, r->rank, r->size, 0);
}

// What this process's trace and calls tell: of each process one entry, NCCL's where it has both.
static int gather_times(struct parallel *t, const struct tracing *tracing, struct rank_times *list)
{
    struct trace_rank gpus[TRACE_RANKS];
    int count = 0, on_gpus = tracing->trace ? trace_ranks(tracing->trace, gpus) : 0;
    for (int i = 0; i < on_gpus && count < RANK_TIMES_MOST; i++)
        list[count++] = (struct rank_times){.rank = gpus[i].rank,
                                            .size = gpus[i].size,
                                            .pid = gpus[i].pid,
                                            .by = RANK_NCCL,
                                            .covered_ns = gpus[i].covered_ns,
                                            .open_ns = gpus[i].exposed_ns,
                                            .all_ns = -1};
    int called = t->calls ? exchanges_read(t->calls, t->calls_now) : 0;
    for (int i = 0; i < called && count < RANK_TIMES_MOST; i++) {
        const struct exchanges_one *c = &t->calls_now[i];
        bool known = false;
        for (int k = 0; k < on_gpus; k++)
            known |= list[k].pid == c->pid;
        if (!known)
            list[count++] = (struct rank_times){.rank = c->rank,
                                                .size = c->size,
                                                .pid = c->pid,
                                                .by = (c->by & EXCHANGES_MPI ? RANK_MPI : 0) |
                                                      (c->by & EXCHANGES_GLOO ? RANK_GLOO : 0),
                                                .covered_ns = c->at_ns,
                                                .open_ns = c->hidden ? -1 : c->open_ns,
                                                .all_ns = c->all_ns};
    }
    return count;
}

static void gather_all(struct parallel *t, const struct tracing *tracing)
{
    int count = gather_times(t, tracing, t->told);
    if (t->join && t->place.rank > 0)
        join_tell(t->join, t->told, count);
    for (int i = 0; i < count; i++)
        hear(t, t->place.rank, &t->told[i]);
    if (!t->join || t->place.rank > 0)
        return;
    const struct join_seat *seats = join_look(t->join, &count);
    for (int i = 0; i < count; i++)
        for (int k = 0; k < seats[i].count; k++)
            hear(t, i + 1, &seats[i].ranks[k]);
}

int parallel_work(struct parallel *t, const struct child *child, const struct follow *follow,
                  const struct tracing *tracing)
{
    int64_t now_ns = clock_now_ns();
    struct follow_state state;
    if (!t || now_ns < t->due_ns)
        return 0;
    t->due_ns = now_ns + WORK_MS * NS_PER_MS;
    int rc = look_at_processes(t, child, now_ns) ? 0 : ERR_MEMORY;
    gather_all(t, tracing);
    follow_state(follow, &state);
    if (state.step == t->step || state.step <= 0)
        return rc;
    t->step = state.step;
    for (int i = 0; i < t->count; i++)
        *(t->begun ? &t->pairs[i].end : &t->pairs[i].begin) = t->pairs[i].now;
    t->begun = true;
    return rc;
}

enum sampling_end parallel_stopped(const struct parallel *t)
{
    uint8_t why = t && t->join && t->place.rank > 0 ? join_stopped(t->join) : 0;
    return why == 0 ? SAMPLING_GOES_ON : sampling_word(why) ? why : SAMPLING_WITHIN;
}

void parallel_stop(const struct parallel *t, enum sampling_end why)
{
    if (t && t->join)
        join_stop(t->join, (uint8_t)why);
}

int parallel_exit_code(const struct parallel *t)
{
    return t ? t->exit_code : 0;
}

// ---- the record

// The share of its time that a rank is in exchanges; negative: unknown. The trace's account is of
// steps alone, whenever they were.
static double share_of(const struct rank_times *begin, const struct rank_times *end, int64_t ns,
                       int64_t before_ns)
{
    int64_t covered_ns = end->covered_ns - (end->by & RANK_NCCL ? 0 : begin->covered_ns);
    int64_t in_ns = ns - (end->by & RANK_NCCL ? 0 : before_ns);
    if (ns < 0 || before_ns < 0 || covered_ns <= 0 || in_ns < 0 || in_ns > covered_ns)
        return -1;
    return (double)in_ns / (double)covered_ns;
}

struct shares {
    int known;
    double sum, least, most;
    int slowest; // the rank with the least
    int hidden;  // ranks whose share behind the calculation is known,
    double hidden_sum;
    unsigned by;
};

static struct shares add_up(const struct rank_times *begin, const struct rank_times *end, int count)
{
    struct shares s = {.least = 2}; // no share is
    for (int i = 0; i < count; i++) {
        double open = share_of(&begin[i], &end[i], end[i].open_ns, begin[i].open_ns);
        double all = share_of(&begin[i], &end[i], end[i].all_ns, begin[i].all_ns);
        if (open < 0)
            continue;
        s.known++;
        s.sum += open;
        s.by |= end[i].by;
        s.most = open > s.most ? open : s.most;
        if (open < s.least) {
            s.least = open;
            s.slowest = end[i].rank;
        }
        if (all >= open) {
            s.hidden++;
            s.hidden_sum += all - open;
        }
    }
    return s;
}

static int name_sources(unsigned by, struct run_parallel *to, struct err *err)
{
    SCOPED(buf_release) struct buf text = {0};
    buf_printf(&text, "%s%s%s", by & RANK_NCCL ? ", NCCL's kernels" : "",
               by & RANK_MPI ? ", MPI's calls" : "", by & RANK_GLOO ? ", gloo's calls" : "");
    TRY(text_set(&to->from, text.len > 2 ? buf_str(&text) + 2 : NULL, err));
    return text.failed ? err_memory(err) : 0;
}

int parallel_derive(const struct rank_times *begin, const struct rank_times *end, int count,
                    int64_t ranks, struct run *run, struct err *err)
{
    struct shares s = add_up(begin, end, count);
    struct run_parallel *to = &run->parallel;
    double step = run->step_ms.v;
    to->ranks_seen = some_int(s.known);
    if (s.known == 0 || !run->step_ms.known)
        return 0;
    double mean = s.sum / s.known;
    to->exchange_ms = some_real(step * mean);
    if (s.hidden == s.known)
        to->hidden_ms = some_real(step * s.hidden_sum / s.hidden);
    run->step_calculation_ms = some_real(step * (1 - mean));
    TRY(name_sources(s.by, to, err));
    if (s.known < ranks)
        return 0;
    run->step_communication_ms = some_real(step * s.least);
    run->step_waiting_ms = some_real(step * (mean - s.least));
    to->slowest_rank = some_int(s.slowest);
    to->most_ms = some_real(step * (1 - s.least));
    to->least_ms = some_real(step * (1 - s.most));
    return 0;
}

// One pair for each rank, that with the longest time: a rank may have started others.
static int choose_pairs(struct parallel *t, struct rank_times *begin, struct rank_times *end)
{
    int count = 0;
    for (int i = 0; i < t->count; i++) {
        const struct pair *p = &t->pairs[i];
        int at = 0;
        if (p->end.pid == 0 || p->begin.pid == 0)
            continue;
        while (at < count && (p->end.rank < 0 || end[at].rank != p->end.rank))
            at++;
        if (at < count &&
            p->end.covered_ns - p->begin.covered_ns <= end[at].covered_ns - begin[at].covered_ns)
            continue;
        begin[at] = p->begin;
        end[at] = p->end;
        count += at == count;
    }
    return count;
}

// Machines by their names, where the launcher did not tell how many there are.
static int count_hosts(const struct join_seat *seats, int count)
{
    char own[sizeof seats->host] = "";
    int hosts = 1;
    gethostname(own, sizeof own - 1);
    for (int i = 0; i < count; i++) {
        bool known = strcmp(seats[i].host, own) == 0 || seats[i].state == JOIN_ABSENT;
        for (int k = 0; k < i; k++)
            known |= strcmp(seats[i].host, seats[k].host) == 0;
        hosts += !known;
    }
    return hosts;
}

// `missing` of them did not tell how they ended; `rank` is the first of those.
static int note_missing(struct parallel *t, int rank, int missing, struct run *run,
                        struct buf *says, struct err *err)
{
    int count;
    const struct join_seat *one = &join_look(t->join, &count)[rank - 1];
    bool absent = one->state == JOIN_ABSENT;
    SCOPED(buf_release) struct buf text = {0};
    buf_printf(&text, "%d of %d fare processes did not tell how they ended: rank %d %s%s%s%s",
               missing, count + 1, rank,
               absent                    ? "was never heard of"
               : one->state == JOIN_LOST ? "was lost, on "
                                         : "went on, on ",
               one->host, missing > 1 ? ", and others" : "",
               one->state == JOIN_LOST ? "; whether its command finished is unknown" : "");
    if (absent) {
        join_say_refused(t->join, &text);
        join_say_secret(t->join, says);
        buf_addc(says, '\n');
    }
    return text.failed ? err_memory(err) : run_taint(run, buf_str(&text), err);
}

// The other fare processes: which were not heard to the end, and how one of them failed.
static int note_seats(struct parallel *t, struct run *run, struct buf *says, struct err *err)
{
    int count, missing = 0, first = 0, failed = 0;
    const struct join_seat *seats = join_look(t->join, &count);
    bool sampled = run->stopped_by != NULL; // all were told to end
    for (int i = 0; i < count; i++) {
        bool ended = seats[i].state == JOIN_ENDED || (sampled && seats[i].state == JOIN_HERE);
        missing += !ended;
        first = !ended && first == 0 ? i + 1 : first;
        if (!ended && seats[i].state == JOIN_LOST)
            t->exit_code = EXIT_FAILURE;
        failed =
            seats[i].state == JOIN_ENDED && seats[i].status != 0 && failed == 0 ? i + 1 : failed;
        if (seats[i].state != JOIN_ABSENT)
            see(t, t->place.by, i + 1, t->place.size, t->place.nodes);
    }
    if (t->nodes == 0 && missing == 0)
        t->nodes = count_hosts(seats, count);
    if (missing > 0)
        TRY(note_missing(t, first, missing, run, says, err));
    if (failed == 0 || !run->ended || strcmp(run->ended, "finished") != 0)
        return 0;
    int status = seats[failed - 1].status;
    char text[64];
    snprintf(text, sizeof text, WIFEXITED(status) ? "rank %d: exit code %d" : "rank %d: signal %d",
             failed, WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    t->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    run->full = some_bool(false);
    TRY(text_set(&run->ended, "failed", err));
    return text_set(&run->problem, text, err);
}

static int parallel_fill(struct parallel *t, struct run *run, struct buf *says, struct err *err)
{
    SCOPED(free_pointer) struct rank_times *begin = calloc(RANKS_MOST, sizeof *begin);
    SCOPED(free_pointer) struct rank_times *end = calloc(RANKS_MOST, sizeof *end);
    int count = begin && end ? choose_pairs(t, begin, end) : 0;
    TRY(begin && end ? 0 : err_memory(err));
    // An environment alone proves nothing: a variable may be left from another job.
    bool several = t->seen_count > 1 || count > 0;
    if (several) {
        run->ranks = some_int(t->size);
        if (t->nodes > 0)
            run->nodes = some_int(t->nodes);
        TRY(text_set(&run->parallel.launcher, t->by, err));
        TRY(parallel_derive(begin, end, count, t->size, run, err));
        if (t->differs)
            TRY(run_taint(run, "its processes do not agree how many they are", err));
    } else if (t->size > 1) {
        buf_printf(says,
                   "its environment says that it is one of %d processes, but no other was seen\n",
                   t->size);
    }
    return 0;
}

int parallel_finish(struct parallel *t, int status, bool (*hurry)(void), struct run *run,
                    struct buf *says, struct err *err)
{
    if (!t)
        return 0;
    if (t->join && t->place.rank > 0) {
        buf_reset(says); // the first one says what there is to say
        const char *why = sampling_word(parallel_stopped(t));
        if (why)
            buf_printf(says, "rank %d: rank 0 ended the job (%s)\n", t->place.rank, why);
        (void)!join_ended(t->join, status, says);
        return 0;
    }
    if (t->join) {
        join_wait(t->join, hurry);
        TRY(note_seats(t, run, says, err));
    }
    return t->size > 1 ? parallel_fill(t, run, says, err) : 0;
}
