// SPDX-License-Identifier: Apache-2.0
// sky: machines that SkyPilot rents for the measurements and takes down afterwards (queues.h).
//
// A machine that was asked for costs money until it is known to be gone. So every way out ends in
// `sky down` and a look whether the machine is still listed: after the last task, after a launch
// that failed half-way, on cancelling. Where that cannot be made sure of, the place fails with the
// command for it.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "advise/quote_job.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/money.h"
#include "base/proc.h"
#include "bill/market.h"
#include "fleet/queues.h"
#include "fleet/script.h"
#include "fleet/target.h"

// ==== --top ====
// The most promising offers of a quote that SkyPilot can rent.

// The run that a quote of the command would start from: the last one, if it ran the same.
static int check_command(const struct quote_job *job, char *const *command, struct err *err)
{
    const struct run *run = job->runs.count > 0 ? &job->runs.items[0] : NULL;
    size_t count = 0;
    while (command[count])
        count++;
    bool same = run && run->command.count == count;
    for (size_t i = 0; same && i < count; i++)
        same = strcmp(run->command.items[i], command[i]) == 0;
    if (same)
        return 0;
    err_set(err, ERR_MISSING, "--top: the last run was not of this command, so there is no quote");
    return err_hint(err, "measure a sample of it here first: fare run --sample -- %.80s ...",
                    command[0]);
}

static bool is_there(const struct places *places, size_t from, const struct offer *offer)
{
    for (size_t i = from; i < places->count; i++) {
        const struct sky_offer *own = places->items[i].own;
        size_t len = strlen(own->instance);
        if (strcmp(own->cloud, offer->provider) == 0 &&
            strncmp(own->instance, offer->name, len) == 0 &&
            (offer->name[len] == '\0' || offer->name[len] == '+') &&
            own->spot == (offer->kind == OFFER_SPOT))
            return true;
    }
    return false;
}

// Takes the offers of the quote in its order, each type of machine once.
static int take(const struct quote_job *job, struct places *places, size_t top, struct err *err)
{
    const struct bill **rows = quote_rows(&job->quote, err);
    size_t from = places->count;
    int rc = rows ? 0 : ERR_MEMORY;
    for (size_t i = 0; rc == 0 && rows[i] && places->count - from < top; i++) {
        struct offer offer;
        if (bill_doubtful(rows[i]) || !rows[i]->offer ||
            quote_offer(&job->ask, rows[i], &offer, NULL) != 0 || !sky_rents(&offer, NULL) ||
            is_there(places, from, &offer))
            continue;
        rc = target_sky.parse(rows[i]->offer, places, err);
    }
    if (rc == 0 && places->count == from) {
        err_set(err, ERR_MISSING, "--top: the quote has no offer that SkyPilot can rent");
        rc = err_hint(err, "'fare quote' shows what it has; --on sky:OFFER names one");
    }
    free(rows);
    return rc;
}

int sky_top(struct places *places, const char *workload, char *const *command,
            struct ledger *ledger, size_t top, struct err *err)
{
    SCOPED(quote_release)
    struct quote_job job = {
        .asked = !workload,
        .ask = {.market = places->market, .max_age = QUOTE_MAX_AGE, .estimates = true}};
    TRY(quote_load(&job, workload, ledger, err));
    if (command)
        TRY(check_command(&job, command, err));
    TRY(quote_assemble(&job, err));
    return take(&job, places, top, err);
}

// ==== the target ====

enum { LAUNCH_S = 2400, CHECK_S = 300, LOOK_S = 300, DOWN_S = 900, PAUSE_S = 15 };
#define STATE "fare-sky "

static void sky_release(struct place *place)
{
    struct sky_offer *own = place->own;
    if (!own)
        return;
    sky_offer_release(own);
    free(own);
    place->own = NULL;
}

// ---- places

static int add_offer(struct places *places, const char *name, struct err *err)
{
    struct offer offer;
    TRY(market_find(places->market, name, 0, &offer, err));
    if (!sky_rents(&offer, err))
        return ERR_USAGE;
    SCOPED(free_pointer) struct sky_offer *own = calloc(1, sizeof *own);
    if (!own)
        return err_memory(err);
    TRY(sky_offer_of(&offer, own, err));
    struct place *place = places_add(places, &target_sky, own->name, own->name, err);
    if (!place) {
        sky_offer_release(own);
        return ERR_MEMORY;
    }
    place->own = own;
    own = NULL;
    return 0;
}

// The offers between commas; a region may have commas too, so the whole is tried first.
static int sky_parse(const char *value, struct places *places, struct err *err)
{
    struct offer whole;
    if (!value || !*value) {
        err_set(err, ERR_USAGE, "--on sky needs offers, or --top N for the best of the quote");
        return err_hint(err, "--on sky:aws/g5.xlarge; 'fare prices' lists offers");
    }
    if (!strchr(value, ',') || market_find(places->market, value, 0, &whole, NULL) == 0) {
        TRY(add_offer(places, value, err));
    } else {
        SCOPED(free_pointer) char *copy = text_copy(value, err);
        if (!copy)
            return ERR_MEMORY;
        for (char *rest = copy; rest;)
            TRY(add_offer(places, strsep(&rest, ","), err));
    }
    if (!proc_in_path("sky")) {
        err_set(err, ERR_MISSING, "--on sky: SkyPilot's program 'sky' is not in PATH");
        return err_hint(err, "install it as docs.skypilot.co says, then run 'sky check'");
    }
    return 0;
}

// ---- calls

// Takes the machine down and prints what SkyPilot knows of it then.
static void add_down(struct buf *out, const char *cluster)
{
    buf_printf(out,
               "sky down -y %s </dev/null >&2\n"
               "sky status -o json %s </dev/null && echo '" STATE "status'\n",
               cluster, cluster);
}

static int add_start(const struct fleet *fleet, const struct place *place, const struct task *task,
                     const char *cluster, struct buf *out, struct err *err)
{
    struct buf folder = {0};
    TRY(sky_write(fleet, place, place->own, task, err));
    sky_folder(fleet, task, &folder);
    buf_adds(out, "cd -- ");
    shell_quote(out, buf_str(&folder));
    // A launch that failed is not tried again: only the machine's end is made sure of.
    buf_printf(out,
               " || exit 70\n"
               "if [ ! -f failed ]; then\n"
               "    if sky launch -y -d -c %s task.yaml </dev/null >launch.log 2>&1; then\n"
               "        echo '" STATE "launched'\n"
               "        exit 0\n"
               "    fi\n"
               "    cp launch.log failed\n"
               "fi\n",
               cluster);
    add_down(out, cluster);
    buf_adds(out, "echo '" STATE "failed'\n"
                  "grep . failed | tail -n 1 >&2\n"
                  "exit 1\n");
    buf_drop(out, &folder);
    return 0;
}

// FARE_SKY_PAUSE: seconds between looks, for tests.
static void add_look(struct buf *out, const char *cluster)
{
    buf_printf(out,
               "sleep \"${FARE_SKY_PAUSE:-%d}\"\n"
               "sky logs %s --no-follow --tail 0 </dev/null\n"
               "rc=$?\n"
               "echo\n"
               "echo \"" STATE "logs $rc\"\n"
               "case $rc in\n"
               "0 | 100 | 101 | 103) ;;\n"
               "*) sky status -r -o json %s </dev/null && echo '" STATE "status' ;;\n"
               "esac\n",
               PAUSE_S, cluster, cluster);
}

static int sky_prepare(const struct fleet *fleet, struct place *place, enum verb verb,
                       const struct chosen *chosen, struct call *call, struct err *err)
{
    const struct sky_offer *own = place->own;
    char cluster[SKY_CLUSTER_BYTES];
    int rc = 0;
    sky_cluster(fleet->dispatch, place, cluster);
    if (verb == VERB_BRING || verb == VERB_CLEAN)
        return 0; // SkyPilot copies; the machine goes with its last task
    call->keep_max = (size_t)48 << 20;
    call_words(call, "sh -s");
    switch (verb) {
    case VERB_CHECK:
        buf_printf(&call->input, "sky check %s -o json </dev/null\n", own->cloud);
        call->limit_ns = CHECK_S * NS_PER_S;
        break;
    case VERB_START:
        rc = add_start(fleet, place, chosen->tasks[0], cluster, &call->input, err);
        call->limit_ns = LAUNCH_S * NS_PER_S;
        break;
    case VERB_LOOK:
        add_look(&call->input, cluster);
        call->limit_ns = LOOK_S * NS_PER_S;
        break;
    default: // CANCEL, CLOSE
        add_down(&call->input, cluster);
        call->limit_ns = DOWN_S * NS_PER_S;
        break;
    }
    return rc != 0 ? rc : call_check(call, err);
}

// ---- answers

const char *sky_status(const char *text, const char *cluster, char out[24])
{
    const char *at = text, *found = NULL;
    // A line that is a bracket begins the list; other lines may come before.
    for (; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        if (*at == '[' && (at[1] == ']' || at[1] == '\n' || at[1] == '{'))
            break;
    json_auto_t *list = at ? json_loads(at, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
    if (json_is_array(list)) {
        snprintf(out, 24, "%s", "");
        found = out;
    }
    for (size_t i = 0; found && i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(item, "name"));
        const char *status = json_string_value(json_object_get(item, "status"));
        if (name && strcmp(name, cluster) == 0)
            snprintf(out, 24, "%s", status && *status ? status : "?");
    }
    return found;
}

bool sky_enabled(const char *text, const char *cloud)
{
    const char *at = strchr(text, '{');
    json_auto_t *all = at ? json_loads(at, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
    bool found = false;
    const char *workspace, *name;
    json_t *clouds, *value;
    json_object_foreach(all, workspace, clouds)
    {
        json_object_foreach(clouds, name, value) found |= strcasecmp(name, cloud) == 0;
    }
    return found;
}

// Whether the line "fare-sky WORD" is in the answer.
static bool sky_says(const struct call_result *result, const char *word)
{
    SCOPED(buf_release) struct buf line = {0};
    buf_printf(&line, STATE "%s\n", word);
    return strstr(buf_str(&result->out), buf_str(&line)) != NULL;
}

// The machine is known to be gone.
static bool is_gone(const struct call_result *result, const char *cluster)
{
    char status[24];
    const char *known =
        sky_says(result, "status") ? sky_status(buf_str(&result->out), cluster, status) : NULL;
    return known && *known == '\0';
}

static int read_start(const struct call_result *result, const char *cluster,
                      struct task_report *report, struct err *err)
{
    if (sky_says(result, "launched")) {
        report->state = REPORT_RUNNING;
        snprintf(report->handle, sizeof report->handle, "%s", cluster);
        return 0;
    }
    if (sky_says(result, "failed") && is_gone(result, cluster)) {
        report->state = REPORT_ABSENT;
        return call_failed(result, ERR_FAIL, "SkyPilot could not launch it", err);
    }
    return call_failed(result, ERR_IO, "the launch failed, but the machine may exist", err);
}

// The exit code of `sky logs`; -1: it did not get that far.
static int logs_code(const struct call_result *result)
{
    static const int codes[] = {0, 100, 101, 102, 103};
    char word[16];
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        snprintf(word, sizeof word, "logs %d", codes[i]);
        if (sky_says(result, word))
            return codes[i];
    }
    return -1;
}

static int read_look(const struct call_result *result, const char *cluster, const char *key,
                     struct task_report *report, struct err *err)
{
    SCOPED(buf_release) struct buf reply = {0};
    int code = logs_code(result);
    char status[24];
    report->state = REPORT_UNKNOWN;
    if (frame_read(buf_str(&result->out), result->out.len, key, &reply)) {
        TRY(reply_read(buf_str(&reply), reply.len, key, report, err));
    } else if (code == 101) {
        report->state = REPORT_RUNNING;
    } else if (code == 0 || code == 100 || code == 103) {
        report->state = REPORT_ENDED;
        report->code = -1;
        buf_adds(&report->words, code == 103 ? "its job was cancelled in SkyPilot"
                                             : "SkyPilot's job ended without a result");
    } else {
        const char *known =
            sky_says(result, "status") ? sky_status(buf_str(&result->out), cluster, status) : NULL;
        if (known && (*known == '\0' || strcmp(known, "STOPPED") == 0)) {
            report->state = REPORT_LOST;
            buf_adds(&report->words, "its machine is gone");
        } else {
            TRY(call_failed(result, ERR_IO, "no answer from SkyPilot", err));
        }
    }
    return 0;
}

static int sky_read(const struct fleet *fleet, struct place *place, enum verb verb,
                    const struct chosen *chosen, const struct call_result *result,
                    struct task_report *reports, struct err *err)
{
    const struct sky_offer *own = place->own;
    char cluster[SKY_CLUSTER_BYTES], key[TASK_KEY_BYTES];
    sky_cluster(fleet->dispatch, place, cluster);
    if (verb == VERB_BRING || verb == VERB_CLEAN)
        return 0;
    if (verb == VERB_START || verb == VERB_LOOK) {
        task_key(fleet->dispatch, chosen->tasks[0], key);
        reports[0].code = -1;
        return verb == VERB_START ? read_start(result, cluster, &reports[0], err)
                                  : read_look(result, cluster, key, &reports[0], err);
    }
    if (verb == VERB_CHECK) {
        place->needs_bundle = false;
        if (call_ended_well(result) && sky_enabled(buf_str(&result->out), own->cloud))
            return 0;
        if (!call_ended_well(result))
            return call_failed(result, ERR_IO, "'sky check' failed", err);
        err_set(err, ERR_FAIL, "SkyPilot is not logged in to %s: see 'sky check %s'", own->cloud,
                own->cloud);
        return ERR_FAIL;
    }
    if (!is_gone(result, cluster))
        return call_failed(result, ERR_IO, "the machine may still be running", err);
    for (size_t i = 0; i < chosen->count; i++)
        reports[i].state = REPORT_ABSENT;
    return 0;
}

// ---- the bill

// The tasks that have to run at a place, and those that may run at any: if no other place can be
// used, at this one.
static void tasks_at(const struct dispatch *d, const struct place *place, int64_t *bound,
                     int64_t *any)
{
    *bound = *any = 0;
    for (size_t i = 0; i < d->tasks.count; i++) {
        const struct task *task = &d->tasks.items[i];
        *bound += task->bound && strcmp(task->bound, place->name) == 0;
        *any += !task->bound;
    }
}

// At most: with its own tasks, `*least`; with those for any place too, `*most`, which is written.
static int cost_of(struct market *market, const struct place *place, const struct dispatch *d,
                   struct buf *out, int64_t *least, int64_t *most, struct err *err)
{
    int64_t bound, any, task_ns, whole_ns;
    struct offer offer;
    struct priced priced;
    const struct startups *startups;
    const struct wishes wishes = {0};
    char amount[MONEY_BYTES], boot[32], work[32];
    struct buf rule = {0};
    tasks_at(d, place, &bound, &any);
    TRY(market_find(market, place->offer, 0, &offer, err));
    TRY(market_startups(market, &startups, err));
    const struct startup_row *row = startup_find(startups, &offer, "boot");
    int64_t boot_ns = row ? row->high_ns > 0 ? row->high_ns : row->ns : 0;
    TRY(market_price(market, &offer, &wishes, &priced, err));
    if (__builtin_mul_overflow(d->limit_ns.v, bound + any, &task_ns) ||
        __builtin_add_overflow(boot_ns, task_ns, &whole_ns))
        return err_set(err, ERR_USAGE, "--limit: all tasks together would take over 290 years");
    TRY(priced_total(&priced, &wishes, boot_ns + d->limit_ns.v * bound, least, err));
    TRY(priced_total(&priced, &wishes, whole_ns, most, err));
    money_short(*most, amount);
    clock_words(boot_ns, boot, sizeof boot);
    clock_words(task_ns, work, sizeof work);
    buf_printf(out, "%s: up to %s USD for %s of starting and %s of work (", place->offer, amount,
               boot, work);
    priced_words(&priced, false, &rule);
    buf_printf(
        out, "%.*s)%s\n", (int)strcspn(buf_str(&rule), ";"), buf_str(&rule),
        sky_takes_down(offer.provider) ? "" : "; this cloud does not end idle machines by itself");
    buf_drop(out, &rule);
    return 0;
}

static int sky_describe(const struct fleet *fleet, const struct places *places, struct buf *out,
                        struct err *err)
{
    const struct dispatch *d = fleet->dispatch;
    int64_t sum = 0, more = 0; // all tasks for any place at the one where they cost most
    char amount[MONEY_BYTES];
    size_t machines = 0;
    if (!d->limit_ns.known) {
        err_set(err, ERR_USAGE, "--on sky rents machines: it needs a time limit");
        return err_hint(err, "--limit 10m: the most that one measurement may take");
    }
    for (size_t i = 0; i < places->count; i++)
        machines += places->items[i].target == &target_sky;
    for (size_t i = 0; i < places->count; i++) {
        const struct place *place = &places->items[i];
        int64_t least = 0, most = 0;
        if (place->target == &target_sky)
            TRY(cost_of(places->market, place, d, out, &least, &most, err));
        TRY(money_add(sum, least, &sum, err));
        more = most - least > more ? most - least : more;
    }
    TRY(money_add(sum, more, &sum, err));
    money_short(sum, amount);
    buf_printf(out, "%zu machine%s, together up to %s USD\n", machines, machines == 1 ? "" : "s",
               amount);
    return buf_check(out, err);
}

static void sky_by_hand(const struct fleet *fleet, const struct place *place,
                        const struct task *task, struct buf *out)
{
    char cluster[SKY_CLUSTER_BYTES];
    (void)task;
    sky_cluster(fleet->dispatch, place, cluster);
    buf_printf(out, "sky down %s", cluster);
}

const struct target target_sky = {
    .name = "sky",
    .value = "OFFER",
    .parse = sky_parse,
    .prepare = sky_prepare,
    .read = sky_read,
    .describe = sky_describe,
    .by_hand = sky_by_hand,
    .release = sky_release,
};
