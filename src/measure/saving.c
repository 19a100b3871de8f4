// SPDX-License-Identifier: Apache-2.0
#include "measure/saving.h"

#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/sha256.h"
#include "base/tree.h"
#include "save/guard.h"
#include "measure/code.h"
#include "measure/price.h"
#include "measure/session.h"
#include "record/run.h"

static double seconds(struct maybe_int ns)
{
    return ns.known && ns.v > 0 ? (double)ns.v / 1e9 : 0;
}

// The time of this run as if it had projected it. A start-up comes once in a training, too.
static struct run_projection measured(const struct run_phases *p)
{
    double wall_s = seconds(p->wall_ns);
    return (struct run_projection){
        .after_s = some_real(wall_s),
        .wall_s = some_real(wall_s),
        .low_s = some_real(wall_s),
        .high_s = some_real(wall_s),
        .train_s = some_real(seconds(p->warmup_ns) + seconds(p->train_ns)),
        .evaluate_s = some_real(seconds(p->evaluate_ns)),
        .checkpoint_s = some_real(seconds(p->checkpoint_ns)),
        .load_s = some_real(seconds(p->setup_ns) + seconds(p->kernels_ns) + seconds(p->load_ns) +
                            seconds(p->device_ns))};
}

// The steps before this run, as a multiple of those that `projection` is about; 0: unknown.
static double share_before(const struct run *run, bool finished)
{
    const struct run_saving *s = &run->saving;
    struct maybe_int from = s->attempts.items[s->attempts.count - 1].from_step;
    int64_t total = run->total_steps.known ? run->total_steps.v : 0;
    int64_t steps = run->steps.known ? run->steps.v : 0;
    if (finished) // what it did not make was made before
        return steps > 0 && total > steps ? (double)(total - steps) / (double)steps : 0;
    bool fits = from.known && from.v > 0 && from.v < total && steps <= total - from.v;
    return fits ? (double)from.v / (double)(total - from.v) : 0;
}

static double saved_before_s(const struct run_saving *s)
{
    double sum = 0;
    for (size_t i = 0; i + 1 < s->attempts.count; i++)
        if (s->attempts.items[i].saved_s.known && s->attempts.items[i].saved_s.v > 0)
            sum += s->attempts.items[i].saved_s.v;
    return sum;
}

static void stretch(struct maybe_real *part, double factor)
{
    if (part->known)
        part->v *= factor;
}

// Earlier steps were as fast as the steady ones here, within their interval. Where there is none,
// they may have taken no time or twice as much.
static void add_before(struct run_projection *p, const struct run_steady *steady, double before_s)
{
    bool even = steady->step_ms.known && steady->step_ms.v > 0 && steady->low_ms.known &&
                steady->high_ms.known;
    double once_s = p->load_s.known ? p->load_s.v : 0;
    double own_s = p->wall_s.v - once_s, factor = own_s > 0 ? (own_s + before_s) / own_s : 1;
    if (p->low_s.known && p->high_s.known) {
        p->low_s.v += even ? before_s * steady->low_ms.v / steady->step_ms.v : 0;
        p->high_s.v += even ? before_s * steady->high_ms.v / steady->step_ms.v : 2 * before_s;
    }
    p->wall_s.v += before_s;
    stretch(&p->train_s, factor);
    stretch(&p->evaluate_s, factor);
    stretch(&p->checkpoint_s, factor);
    stretch(&p->epoch_end_s, factor);
}

void resumed_project(struct run *run)
{
    bool finished = run->full.known && run->full.v && run->phases.wall_ns.known;
    struct run_projection p = finished ? measured(&run->phases) : run->projection;
    if (run->saving.attempts.count == 0 || !p.wall_s.known)
        return;
    double once_s = p.load_s.known ? p.load_s.v : 0;
    double before_s = share_before(run, finished) * (p.wall_s.v - once_s);
    if (!(before_s > 0))
        before_s = saved_before_s(&run->saving);
    if (!(before_s > 0))
        return;
    add_before(&p, &run->steady, before_s);
    run->projection = p;
    run->full = some_bool(false);
}

// ---- A saved job

struct saving {
    const struct measure_options *o;
    const struct measure_price *price;
    struct session *session;
    struct guard *guard;
    char *job, *folder, *fetch;
    char **argv;                    // a command's; each on the heap
    char *resume, *places, *notice; // "NAME=value"
    struct buf between_from;
    struct scratch scratch;
    int64_t asked; // checkpoints asked for
    bool told, ending, lost;
    struct guard_look last;
    char told_text[200]; // the last one in FARE_NOTICE
    pid_t hook;          // the user's command; 0: none
};

// ---- identity and folders

static void add_number(struct sha256 *sha, const char *name, int64_t value)
{
    char text[64];
    int len = snprintf(text, sizeof text, "%s=%lld;", name, (long long)value);
    sha256_add(sha, text, (size_t)len);
}

static void add_text(struct sha256 *sha, const char *text)
{
    sha256_add(sha, text ? text : "", text ? strlen(text) + 1 : 1);
}

// What makes it the same training: the arguments, or the workload's options. Not the machine.
static void hash_job(const struct session *s, char out[SHA256_HEX_BYTES])
{
    const struct measure_options *o = s->o;
    struct sha256 sha;
    uint8_t digest[SHA256_BYTES];
    sha256_init(&sha);
    for (size_t i = 0; s->command && s->command[i]; i++)
        add_text(&sha, s->command[i]);
    if (s->workload) {
        add_text(&sha, s->workload->name);
        add_number(&sha, "seed", o->seed);
        add_number(&sha, "batch", s->batch);
        add_number(&sha, "epochs", o->epochs);
        add_number(&sha, "variant", o->variant.hard_gates + 2 * o->variant.auxiliary);
        if (o->with) {
            add_text(&sha, o->with);
            add_text(&sha, o->precision);
        }
        if (o->variant.size)
            add_text(&sha, o->variant.size);
        if (o->variant.context > 0)
            add_number(&sha, "context", o->variant.context);
    }
    sha256_done(&sha, digest);
    sha256_hex(digest, out);
}

static int name_job(struct saving *v, struct err *err)
{
    const struct session *s = v->session;
    char hash[SHA256_HEX_BYTES];
    struct buf name = {0};
    if (s->o->job) {
        v->job = text_copy(s->o->job, err);
        return v->job ? 0 : ERR_MEMORY;
    }
    char *word = NULL;
    hash_job(s, hash);
    if (s->command)
        TRY(code_name(s->command, &word, err));
    for (const char *c = word ? word : s->workload->name; *c && name.len < 40; c++)
        buf_addc(&name, strchr("/ \t", *c) ? '-' : *c);
    free(word);
    buf_printf(&name, "-%.10s", hash);
    v->job = buf_take(&name, err);
    return v->job ? 0 : ERR_MEMORY;
}

// Options with which programs are told where to write checkpoints.
static const char *folder_in(char *const *argv)
{
    static const char names[] = "output_dir out_dir checkpoint_dir checkpoints ckpt_dir save_dir "
                                "checkpoint_path save_path default_root_dir save_folder";
    for (size_t i = 1; argv[i]; i++) {
        char word[64];
        const char *name = argv[i] + strspn(argv[i], "-");
        size_t len = strcspn(name, "=");
        if (len >= sizeof word)
            continue;
        for (size_t k = 0; k <= len; k++)
            word[k] = k == len ? '\0' : name[k] == '-' ? '_' : name[k];
        const char *value = name[len] == '=' ? name + len + 1 : argv[i + 1];
        if (text_has_word(names, word, ' ') && value && *value && *value != '-' && *value != '{')
            return value;
    }
    return NULL;
}

static int own_folder(struct saving *v, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0};
    TRY(folder_data(&path, err));
    buf_adds(&path, "/jobs/");
    for (const char *c = v->job; *c; c++)
        buf_addc(&path, *c == '/' ? '-' : *c);
    v->folder = buf_take(&path, err);
    return v->folder ? fs_mkdirs_private(v->folder, err) : ERR_MEMORY;
}

static int find_folder(struct saving *v, struct err *err)
{
    const struct session *s = v->session;
    const char *given = s->workload ? s->o->checkpoint : s->o->checkpoints;
    if (!given && s->command)
        given = folder_in(s->command);
    if (!given)
        TRY(own_folder(v, err));
    else if (!(v->folder = text_copy(given, err)))
        return ERR_MEMORY;
    bool mentioned = s->workload || given;
    for (size_t i = 0; s->command && s->command[i]; i++)
        mentioned |= strstr(s->command[i], "{checkpoints}") != NULL;
    if (!mentioned)
        buf_printf(
            s->says,
            "where it writes checkpoints is not known: --checkpoints DIR says so; until then "
            "only what it writes to $FARE_CHECKPOINTS (%s) is saved\n",
            v->folder);
    // One file is fetched into its folder.
    struct stat st;
    const char *slash = strrchr(v->folder, '/'), *dot = strrchr(slash ? slash : v->folder, '.');
    bool file = stat(v->folder, &st) == 0 ? !S_ISDIR(st.st_mode) : dot && dot > v->folder && dot[1];
    struct buf fetch = {0};
    if (file && slash)
        buf_add(&fetch, v->folder, (size_t)(slash - v->folder) + (slash == v->folder));
    else
        buf_adds(&fetch, file ? "." : v->folder);
    v->fetch = buf_take(&fetch, err);
    return v->fetch ? 0 : ERR_MEMORY;
}

// ---- the command

// Replaces every `name` in `text`; the result is on the heap.
static char *replace(const char *text, const char *name, const char *with, struct err *err)
{
    struct buf out = {0};
    for (const char *at; (at = strstr(text, name)) != NULL; text = at + strlen(name)) {
        buf_add(&out, text, (size_t)(at - text));
        buf_adds(&out, with);
    }
    buf_adds(&out, text);
    return buf_take(&out, err);
}

static int add_argument(struct saving *v, size_t *count, const char *word, struct err *err)
{
    const char *resume = guard_resume(v->guard);
    bool asks = strstr(word, "{resume}") != NULL;
    if (asks && !resume) {
        bool alone = strcmp(word, "{resume}") == 0;
        if (alone && *count > 1 && v->argv[*count - 1][0] == '-') {
            free(v->argv[--*count]);
            v->argv[*count] = NULL;
        }
        return 0;
    }
    SCOPED(free_pointer) char *one = replace(word, "{resume}", resume ? resume : "", err);
    char *two = one ? replace(one, "{checkpoints}", v->folder, err) : NULL;
    if (!two)
        return ERR_MEMORY;
    v->argv[(*count)++] = two;
    return 0;
}

static int make_command(struct saving *v, struct err *err)
{
    char *const *argv = v->session->command;
    size_t count = 0, words = 0;
    while (argv && argv[words])
        words++;
    v->argv = calloc(words + 1, sizeof *v->argv);
    if (!v->argv)
        return err_memory(err);
    for (size_t i = 0; i < words; i++)
        TRY(add_argument(v, &count, argv[i], err));
    return 0;
}

static int make_variables(struct saving *v, struct err *err)
{
    struct buf text = {0};
    const char *resume = guard_resume(v->guard), *tmp = getenv("TMPDIR");
    buf_printf(&text, "FARE_RESUME=%s", resume ? resume : "");
    if (!(v->resume = buf_take(&text, err)))
        return ERR_MEMORY;
    buf_printf(&text, "FARE_CHECKPOINTS=%s", v->folder);
    if (!(v->places = buf_take(&text, err)))
        return ERR_MEMORY;
    if (scratch_make(&v->scratch, tmp && tmp[0] == '/' ? tmp : "/tmp", NULL) != 0)
        return 0; // the job is told by signals only
    buf_printf(&text, "FARE_NOTICE=%s/notice", v->scratch.path);
    v->notice = buf_take(&text, err);
    return v->notice ? 0 : ERR_MEMORY;
}

char *const *saving_command(const struct saving *v)
{
    return v->argv;
}

size_t saving_environment(const struct saving *v, char **own, size_t count)
{
    char *const all[SAVING_VARIABLES] = {v->resume, v->places, v->notice};
    for (size_t i = 0; i < SAVING_VARIABLES; i++)
        if (all[i])
            own[count++] = all[i];
    return count;
}

// ---- open

static int cost(void *context, struct run_attempt *attempt, struct err *err)
{
    const struct saving *v = context;
    const struct run_machine *m = &v->session->run->machine;
    SCOPED(buf_release) struct buf name = {0};
    if (m->provider && m->instance_type)
        buf_printf(&name, "%s/%s", m->provider, m->instance_type);
    else
        buf_adds(&name, m->gpu ? m->gpu : m->cpu ? m->cpu : "");
    if (name.len > 0)
        TRY(text_set(&attempt->machine, buf_str(&name), err));
    return measure_price_attempt(v->price, attempt, err);
}

static bool waiting(void *context, const char *doing)
{
    const struct saving *v = context;
    (void)doing;
    return !run_plan_interrupted(&v->session->plan);
}

// How often machines like this one are taken away: given, from the book, or assumed.
static int find_between(struct saving *v, int64_t *between_ns, struct err *err)
{
    struct buf *from = &v->between_from;
    *between_ns = v->o->between_ns;
    if (*between_ns > 0)
        buf_adds(from, "given");
    else
        TRY(measure_price_between(v->price, between_ns, from, err));
    if (*between_ns == 0) {
        *between_ns = GUARD_BETWEEN_NS;
        buf_adds(from, "assumed");
    }
    return buf_check(from, err);
}

static int open_guard(struct saving *v, struct err *err)
{
    const struct measure_options *o = v->o;
    const struct session *s = v->session;
    int64_t between_ns;
    TRY(find_between(v, &between_ns, err));
    const struct guard_options g = {
        .save = o->save,
        .job = v->job,
        .checkpoints = v->folder,
        .fetch = v->fetch,
        .run = s->run->id,
        .host = s->run->host,
        .notices = {.wanted = o->notice,
                    .provider = o->no_cloud ? NULL : s->run->machine.provider,
                    .metadata = getenv("FARE_METADATA")},
        .until_ns = s->plan.until_ns,
        .every_ns = o->save_every_ns,
        .between_ns = between_ns,
        .between_from = buf_str(&v->between_from),
        .lease_ns = o->lease_ns,
        .quiet_ns = o->quiet_ns,
        .keep = (int)o->keep,
        .patience_ns = o->patience_ns,
        .start_over = o->start_over,
        .asks = s->workload != NULL,
        .watches = s->command != NULL,
        .waiting = waiting,
        .cost = cost,
        .context = v,
    };
    return guard_open(&v->guard, &g, s->says, err);
}

int saving_open(struct saving **out, struct session *s, const struct measure_price *price,
                struct err *err)
{
    struct saving *v = calloc(1, sizeof *v);
    *out = v;
    if (!v)
        return err_memory(err);
    v->o = s->o;
    v->price = price;
    v->session = s;
    TRY(name_job(v, err));
    TRY(find_folder(v, err));
    TRY(open_guard(v, err));
    if (guard_done(v->guard))
        return 0;
    TRY(make_command(v, err));
    TRY(make_variables(v, err));
    char step[40] = "", words[200];
    if (guard_resume_step(v->guard) >= 0)
        snprintf(step, sizeof step, ", step %lld", (long long)guard_resume_step(v->guard));
    guard_words(v->guard, words, sizeof words);
    if (guard_resume(v->guard))
        buf_line(s->says, "resumes from %s%s", guard_resume(v->guard), step);
    buf_line(s->says, "start %zu of %s, saved in %s; watching %s", guard_starts(v->guard), v->job,
             v->o->save, words[0] ? words : "no notices");
    return 0;
}

void saving_free(struct saving *v)
{
    if (!v)
        return;
    guard_free(v->guard);
    for (size_t i = 0; v->argv && v->argv[i]; i++)
        free(v->argv[i]);
    free(v->argv);
    free(v->job);
    free(v->folder);
    free(v->fetch);
    free(v->resume);
    free(v->places);
    free(v->notice);
    buf_release(&v->between_from);
    scratch_remove(&v->scratch);
    free(v);
}

bool saving_done(const struct saving *v)
{
    return guard_done(v->guard);
}

const char *saving_folder(const struct saving *v)
{
    return v->folder;
}

// ---- while it runs

int saving_start(struct saving *v, struct err *err)
{
    return guard_start(v->guard, err);
}

static void write_notice(struct saving *v)
{
    char *text = v->told_text, path[300];
    size_t size = sizeof v->told_text;
    const struct notice *n = &v->last.notice;
    double left_s = (double)(n->until_ns - clock_now_ns()) / 1e9;
    int len = snprintf(text, size, "{\"save\": %lld, \"end\": %s", (long long)v->asked,
                       v->told ? "true" : "false");
    if (v->told)
        len += snprintf(text + len, size - (size_t)len, ", \"left_s\": %.1f, \"source\": \"%s\"",
                        left_s > 0 ? left_s : 0, n->source);
    len += snprintf(text + len, size - (size_t)len, "}\n");
    if (!v->notice)
        return;
    snprintf(path, sizeof path, "%s/notice", v->scratch.path);
    (void)!fs_write(path, text, (size_t)len, NULL); // the signal tells it too
}

void saving_line(const struct saving *v, char *out, size_t size)
{
    snprintf(out, size, "{\"notice\": %.*s}\n", (int)strcspn(v->told_text, "\n"), v->told_text);
}

unsigned saving_look(struct saving *v, struct buf *says)
{
    unsigned wishes = guard_look(v->guard, &v->last);
    char left[24];
    clock_words(v->last.notice.until_ns - clock_now_ns(), left, sizeof left);
    if (wishes & GUARD_TELL) {
        v->told = true;
        buf_printf(says, "%s in %s: saving a checkpoint\n", v->last.notice.words, left);
    }
    if (wishes & GUARD_RECALL) {
        v->told = false;
        buf_adds(says, "the notice was withdrawn: it goes on\n");
    }
    if (wishes & (GUARD_SAVE | GUARD_TELL))
        v->asked++;
    if (wishes & (GUARD_SAVE | GUARD_TELL | GUARD_RECALL))
        write_notice(v);
    if (wishes & (GUARD_END | GUARD_KILL))
        v->ending = true;
    v->lost |= (wishes & GUARD_KILL) && strcmp(v->last.by, "lease") == 0;
    guard_says(v->guard, says);
    if (v->hook > 0 && waitpid(v->hook, NULL, WNOHANG) != 0)
        v->hook = 0;
    return wishes;
}

bool saving_signal(struct saving *v, int number)
{
    return guard_signal(v->guard, number);
}

void saving_event(struct saving *v, const char *line)
{
    if (!strstr(line, "\"saved\""))
        return;
    json_auto_t *json = json_loads(line, 0, NULL);
    const char *path = json_string_value(json_object_get(json, "saved"));
    if (path && *path)
        guard_told(v->guard, path);
}

static void start_hook(struct saving *v, pid_t pid)
{
    char number[32];
    snprintf(number, sizeof number, "%d", (int)pid);
    v->hook = fork();
    if (v->hook != 0)
        return;
    setenv("FARE_PID", number, 1);
    if (v->notice)
        putenv(v->notice);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execl("/bin/sh", "sh", "-c", v->o->on_notice, (char *)NULL);
    _exit(127);
}

int saving_tell(struct saving *v, pid_t pid)
{
    if (!v->o->on_notice)
        return v->last.notice.signal; // passed on, as without fare
    int number = notice_signal_named(v->o->on_notice, strlen(v->o->on_notice));
    if (number == 0 && v->hook == 0)
        start_hook(v, pid);
    return number;
}

bool saving_told(const struct saving *v)
{
    return v->told;
}

const char *saving_by(const struct saving *v)
{
    return v->ending ? v->last.by : NULL;
}

// ---- the end

int saving_finish(struct saving *v, struct session *s, struct err *err)
{
    struct run *run = s->run;
    bool spent = v->last.by && strcmp(v->last.by, "max-spend") == 0;
    bool whole = s->workload && run->full.known && run->full.v; // the notice came too late
    if ((v->told || v->ending) && !whole) {
        free(run->problem); // our signal, mostly
        run->problem = NULL;
        TRY(text_set(&run->ended, spent ? "stopped" : "interrupted", err));
        TRY(text_set(&run->stopped_by, v->last.by ? v->last.by : "notice", err));
        run->full = some_bool(false);
    }
    bool finished = run->ended && strcmp(run->ended, "finished") == 0;
    char why[240];
    snprintf(why, sizeof why, "%s", run->problem ? run->problem : v->last.by ? v->last.why : "");
    const struct guard_end end = {.ended = run->ended ? run->ended : "failed",
                                  .why = why[0] ? why : NULL,
                                  .clean = (s->workload && !s->o->with) ||
                                           (run->exit_code.known && run->exit_code.v == 0),
                                  .done = finished,
                                  .taken = v->told && !spent,
                                  .lost = v->lost};
    if (v->last.by && !finished)
        buf_printf(s->says, "ended: %s\n", v->last.why);
    int rc = guard_finish(v->guard, &end, &run->saving, s->says, err);
    if (rc == 0 && guard_resume(v->guard))
        resumed_project(run);
    if ((v->told || v->lost) && !finished && !spent)
        s->exit_code = MEASURE_INTERRUPTED;
    return rc;
}
