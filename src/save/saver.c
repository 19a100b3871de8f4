// SPDX-License-Identifier: Apache-2.0
#include "save/saver.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/parallel.h"
#include "advise/spot/policy.h"

#define LOOK_NS        (1 * NS_PER_S)   // between two looks
#define LEAST_LOOK_NS  (50 * NS_PER_MS) // the same in a hurry
#define LOOKS          8                // within an interval, at least
#define LOOK_SHARE     2000             // a look costs at most this part of the time, else LOOKS
#define LONG_QUIET     5                // times as long for formats that say nothing
#define LEAST_QUIET_NS (250 * NS_PER_MS)
#define NOTE_NS        (60 * NS_PER_S)
#define PAUSE_NS       (5 * NS_PER_S) // after a save that failed
#define GONE           3              // failures for which the job is the cause, until one says so
#define LEAST_COST_NS  (100 * NS_PER_MS)
#define LEAST_NS       (5 * NS_PER_S) // of the best interval
#define MOST_NS        (3600 * NS_PER_S)

struct saver {
    struct saver_options o;
    pthread_t thread;
    bool started, joined;
    atomic_bool stop;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    // Under the lock:
    struct saver_state state;
    int64_t hurry_ns;  // 0: none
    bool final, clean; // the job has ended
    int64_t ended_ns;  // when
    char *told;        // (optional) a path
    struct buf says;
    // The thread's own:
    int64_t saved_ns; // when the last save was begun; 0: never
    int64_t pause_ns, noted_ns, look_ns;
    bool complained; // of a save that failed
};

// ---- the thread

static int64_t best_interval(const struct saver *s)
{
    const struct saver_state *st = &s->state;
    int64_t cost_ns = st->write_ns > LEAST_COST_NS ? st->write_ns : LEAST_COST_NS;
    int64_t best_ns = s->o.every_ns;
    if (best_ns == 0 && s->o.between_ns > 0)
        best_ns = (int64_t)theory_daly((double)cost_ns, (double)s->o.between_ns);
    if (s->o.every_ns == 0)
        best_ns = best_ns < LEAST_NS ? LEAST_NS : best_ns > MOST_NS ? MOST_NS : best_ns;
    return best_ns > 2 * st->save_ns ? best_ns : 2 * st->save_ns;
}

static void saver_say(struct saver *s, const char *what, const char *why)
{
    pthread_mutex_lock(&s->lock);
    buf_printf(&s->says, "%s%s\n", what, why);
    pthread_mutex_unlock(&s->lock);
}

static void note_failure(struct saver *s, const struct find_item *item, int rc,
                         const struct err *err)
{
    bool gone = rc == ERR_FORMAT || !finder_same(s->o.finder, item);
    pthread_mutex_lock(&s->lock);
    int64_t failures = ++s->state.failures;
    pthread_mutex_unlock(&s->lock);
    s->pause_ns = clock_now_ns() + PAUSE_NS;
    if (gone) // it is written again just now, or deleted: the next one is there, or will be soon
        s->pause_ns = 0;
    if (!s->complained && (!gone || failures >= GONE) && !s->stop) {
        s->complained = true;
        saver_say(s, "the checkpoint could not be saved, which is tried again: ", err->text);
    }
}

static void note_save(struct saver *s, const struct find_item *item, const struct keep_saved *saved,
                      int64_t took_ns)
{
    pthread_mutex_lock(&s->lock);
    struct saver_state *st = &s->state;
    if (s->complained)
        buf_adds(&s->says, "checkpoints are saved again\n");
    s->complained = false;
    st->failures = 0;
    st->saves += !saved->same;
    st->sent_bytes += saved->sent_bytes;
    st->step = item->step;
    st->whole_ns = item->whole_ns;
    st->began_ns = item->began_ns;
    st->save_ns = took_ns;
    st->every_ns = best_interval(s);
    pthread_mutex_unlock(&s->lock);
}

struct judged {
    struct finder *finder;
    const struct find_item *item;
};

static bool still_same(void *context)
{
    const struct judged *judged = context;
    return finder_same(judged->finder, judged->item);
}

static void save(struct saver *s, const struct find_item *item, int64_t deadline_ns)
{
    struct keep_saved saved = {0};
    SCOPED(buf_release) struct buf notes = {0}, place = {0};
    struct err err = {0};
    struct judged judged = {s->o.finder, item};
    const struct keep_source source = {.path = item->path,
                                       .step = item->step,
                                       .beside = item->beside,
                                       .place = finder_place(s->o.finder, item, &place),
                                       .same = still_same,
                                       .context = &judged};
    int64_t began_ns = clock_now_ns();
    pthread_mutex_lock(&s->lock);
    s->state.saving = true;
    pthread_mutex_unlock(&s->lock);
    int rc = buf_check(&place, &err);
    if (rc == 0)
        rc = keep_save(s->o.keep, &source, &saved, &notes, deadline_ns, &err);
    if (rc == 0) {
        s->saved_ns = began_ns;
        s->pause_ns = 0;
        note_save(s, item, &saved, clock_now_ns() - began_ns);
        finder_took(s->o.finder, item);
    } else {
        note_failure(s, item, rc, &err);
    }
    pthread_mutex_lock(&s->lock);
    s->state.saving = false;
    buf_adds(&s->says, buf_str(&notes));
    pthread_mutex_unlock(&s->lock);
    if (rc == 0 && s->o.note)
        s->o.note(s->o.context);
}

// A copy of what the others want.
struct wanted {
    bool hurry, final, clean;
    int64_t until_ns, ended_ns, every_ns;
};

static void take_wishes(struct saver *s, struct wanted *w)
{
    pthread_mutex_lock(&s->lock);
    *w = (struct wanted){.hurry = s->hurry_ns > 0,
                         .final = s->final,
                         .clean = s->clean,
                         .until_ns = s->hurry_ns,
                         .ended_ns = s->ended_ns,
                         .every_ns = s->state.every_ns};
    char *told = s->told;
    s->told = NULL;
    pthread_mutex_unlock(&s->lock);
    if (told && finder_told(s->o.finder, told, NULL) != 0)
        saver_say(s, "out of memory: not saved: ", told);
    free(told);
}

static void note_written(struct saver *s, const struct find_item *item)
{
    pthread_mutex_lock(&s->lock);
    struct saver_state *st = &s->state;
    if (item->began_ns > st->written_ns) {
        st->written_ns = item->whole_ns;
        st->write_ns = item->whole_ns - item->began_ns; // as far as looks can tell
    }
    pthread_mutex_unlock(&s->lock);
}

// Only where the format says that nothing is missing. One that says nothing gets its whole time:
// what a slow program has between two files must not pass for a checkpoint.
static int64_t in_a_hurry(int64_t quiet_ns, int64_t left_ns)
{
    int64_t share_ns = left_ns / 8;
    if (share_ns < LEAST_QUIET_NS)
        share_ns = LEAST_QUIET_NS;
    return share_ns < quiet_ns ? share_ns : quiet_ns;
}

// One look. True: there is nothing left to do.
static bool saver_look(struct saver *s, const struct wanted *w)
{
    struct find_item item;
    int64_t began_ns = clock_now_ns(), cpu_ns = clock_thread_ns();
    int64_t quiet_ns = w->final && w->clean ? 0 : s->o.quiet_ns;
    int64_t silent_ns = LONG_QUIET * quiet_ns;
    if (w->hurry && !w->final && w->until_ns - began_ns < 8 * quiet_ns)
        quiet_ns = in_a_hurry(quiet_ns, w->until_ns - began_ns);
    int64_t ended_ns = w->final && !w->clean ? w->ended_ns : 0;
    bool found = finder_look(s->o.finder, quiet_ns, silent_ns, ended_ns, &item, NULL);
    if (!found && w->final) // for lack of memory? There is no later look
        found = finder_look(s->o.finder, quiet_ns, silent_ns, ended_ns, &item, NULL);
    s->look_ns = (clock_thread_ns() - cpu_ns) * LOOK_SHARE;
    if (found)
        note_written(s, &item);
    bool due = s->saved_ns == 0 || began_ns - s->saved_ns >= w->every_ns;
    if (found && (due || w->hurry || w->final) && (began_ns >= s->pause_ns || w->hurry))
        save(s, &item, w->until_ns);
    bool late = w->until_ns > 0 && clock_now_ns() >= w->until_ns;
    return w->final && (!found || s->state.failures == 0 || late || s->state.failures > 3);
}

static void wait(struct saver *s, int64_t ns)
{
    pthread_mutex_lock(&s->lock);
    if (!s->stop && !s->final)
        (void)moment_wait(&s->wake, &s->lock, clock_now_ns() + ns);
    pthread_mutex_unlock(&s->lock);
}

// Looks at a large folder are dear and come less often; but one comes when a save is due.
static int64_t pause_after(const struct saver *s)
{
    int64_t every_ns = s->state.every_ns, part_ns = every_ns / LOOKS;
    int64_t due_ns = s->saved_ns + every_ns - clock_now_ns();
    int64_t most_ns = due_ns > part_ns ? due_ns : part_ns;
    int64_t dear_ns = s->look_ns < most_ns ? s->look_ns : most_ns;
    int64_t pause_ns = part_ns < LOOK_NS ? part_ns : LOOK_NS;
    pause_ns = pause_ns < LEAST_LOOK_NS ? LEAST_LOOK_NS : pause_ns;
    return dear_ns > pause_ns ? dear_ns : pause_ns;
}

static void *saver_work(void *context)
{
    struct saver *s = context;
    s->noted_ns = clock_now_ns();
    while (!s->stop) {
        struct wanted w;
        take_wishes(s, &w);
        if (saver_look(s, &w))
            break;
        if (s->o.note && clock_now_ns() - s->noted_ns > NOTE_NS) {
            s->noted_ns = clock_now_ns();
            s->o.note(s->o.context);
        }
        wait(s, w.hurry ? LEAST_LOOK_NS : pause_after(s));
        if (w.final)
            clock_sleep_ns(LEAST_LOOK_NS);
    }
    return NULL;
}

// ---- for the others

int saver_start(struct saver **out, const struct saver_options *options, struct err *err)
{
    struct saver *s = calloc(1, sizeof *s);
    *out = s;
    if (!s)
        return err_memory(err);
    s->o = *options;
    s->state.step = -1;
    s->state.every_ns = best_interval(s);
    pthread_mutex_init(&s->lock, NULL);
    moment_init(&s->wake);
    TRY(thread_start(&s->thread, 0, saver_work, s, err));
    s->started = true;
    return 0;
}

void saver_state(struct saver *s, struct saver_state *out)
{
    pthread_mutex_lock(&s->lock);
    *out = s->state;
    pthread_mutex_unlock(&s->lock);
}

static void wake(struct saver *s)
{
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
}

void saver_hurry(struct saver *s, int64_t until_ns)
{
    pthread_mutex_lock(&s->lock);
    s->hurry_ns = until_ns;
    wake(s);
}

void saver_told(struct saver *s, const char *path)
{
    char *copy = text_copy(path, NULL);
    pthread_mutex_lock(&s->lock);
    free(s->told);
    s->told = copy;
    wake(s);
}

void saver_says(struct saver *s, struct buf *out)
{
    pthread_mutex_lock(&s->lock);
    buf_adds(out, buf_str(&s->says));
    buf_reset(&s->says);
    pthread_mutex_unlock(&s->lock);
}

static void join(struct saver *s)
{
    if (s->started && !s->joined)
        pthread_join(s->thread, NULL);
    s->joined = true;
}

void saver_finish(struct saver *s, bool clean, int64_t deadline_ns)
{
    pthread_mutex_lock(&s->lock);
    s->final = true;
    s->clean = clean;
    s->ended_ns = clock_now_ns();
    s->hurry_ns = deadline_ns;
    wake(s);
    join(s);
}

void saver_stop(struct saver *s)
{
    s->stop = true;
    pthread_mutex_lock(&s->lock);
    wake(s);
    join(s);
}

bool saver_stopped(const struct saver *s)
{
    return s->stop;
}

void saver_free(struct saver *s)
{
    if (!s)
        return;
    saver_stop(s);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->wake);
    free(s->told);
    buf_release(&s->says);
    free(s);
}
