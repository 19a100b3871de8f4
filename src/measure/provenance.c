// SPDX-License-Identifier: Apache-2.0
#include "measure/provenance.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/tree.h"
#include "machine/cpu.h"
#include "measure/code.h"
#include "measure/rates.h"
#include "version.h"

#define BOOT_MAX_S 3600

// The loader starts a bundle's program, with the loader's own arguments after the name
// (launch/launch.c).
#define LAUNCHED 6

// The command line of this program, masked word by word: a value may hold spaces.
static int note_command_line(const struct secrets *secrets, struct run_program *program,
                             struct err *err)
{
    SCOPED(buf_release) struct buf line = {0}, shown = {0};
    if (fs_read("/proc/self/cmdline", 1 << 20, &line, NULL) != 0)
        return 0;
    TRY(buf_check(&line, err));
    const char *text = buf_str(&line), *end = text + line.len;
    int number = 0, first = LAUNCHED; // of the argument after the name
    const char *before = NULL;
    for (const char *arg = text; arg < end; arg += strlen(arg) + 1, number++) {
        if (number == 1 && strcmp(arg, "--library-path") != 0)
            first = 1;
        if (number > 0 && number < first)
            continue;
        buf_adds(&shown, shown.len > 0 ? " " : "");
        secret_mask_word(secrets, before, arg, &shown);
        before = arg;
    }
    TRY(buf_check(&shown, err));
    return text_set(&program->command_line, buf_str(&shown), err);
}

static int add_labels(const struct opt_texts *labels, struct run *run, struct err *err)
{
    for (size_t i = 0; i < labels->count; i++) {
        const char *equals = strchr(labels->items[i], '=');
        if (!equals || equals == labels->items[i])
            return err_set(err, ERR_USAGE, "--label '%s': expected KEY=VALUE", labels->items[i]);
        size_t price = strlen(RUN_PRICE_LABEL "=");
        if (strncmp(labels->items[i], RUN_PRICE_LABEL "=", price) == 0 &&
            amount_too_large(labels->items[i] + price))
            return err_set(err, ERR_USAGE, "--label '%.60s': the price is %s", labels->items[i],
                           range_amount.not_so);
        struct run_label *label = LIST_ADD(&run->labels, err);
        SCOPED(free_pointer)
        char *key = strndup(labels->items[i], (size_t)(equals - labels->items[i]));
        if (!label || !key)
            return err_memory(err);
        TRY(TEXTS_SET(err, {&label->key, key}, {&label->value, equals + 1}));
    }
    return 0;
}

// The label records that the offer was assumed, not found in metadata.
static int add_offer(const char *offer, struct run *run, struct err *err)
{
    const char *slash = strchr(offer, '/');
    struct run_label *label = LIST_ADD(&run->labels, err);
    TRY(label ? TEXTS_SET(err, {&label->key, "offer"}, {&label->value, offer}) : ERR_MEMORY);
    if (!slash || run->machine.provider || run->machine.instance_type)
        return 0;
    SCOPED(free_pointer) char *provider = strndup(offer, (size_t)(slash - offer));
    SCOPED(free_pointer) char *name = strndup(slash + 1, strcspn(slash + 1, "@:"));
    return provider && name ? TEXTS_SET(err, {&run->machine.provider, provider},
                                        {&run->machine.instance_type, name})
                            : err_memory(err);
}

// The name or its hash, which is stable so that a ledger can be filtered by it.
static int set_name(char **member, const char *name, bool plain, struct err *err)
{
    char hashed[RUN_HASHED_BYTES];
    run_hashed_name(name, hashed);
    return text_set(member, plain ? name : hashed, err);
}

static int set_identity(const char *identity, struct run *run, struct err *err)
{
    char host[256] = "", user[64];
    if (identity && strcmp(identity, "none") == 0)
        return 0;
    bool plain = identity && strcmp(identity, "plain") == 0;
    const char *login = getenv("LOGNAME") ? getenv("LOGNAME") : getenv("USER");
    snprintf(user, sizeof user, "uid %ld", (long)geteuid());
    if (gethostname(host, sizeof host - 1) == 0)
        TRY(set_name(&run->host, host, plain, err));
    return set_name(&run->user, login && *login ? login : user, plain, err);
}

// The project that pays.
static int set_project(const char *given, struct run *run, struct err *err)
{
    const char *label = run_label(run, "project");
    const char *set = getenv("FARE_PROJECT");
    char here[PATH_MAX];
    struct buf name = {0};
    if (given || (set && *set) || label)
        return text_set(&run->project, given ? given : set && *set ? set : label, err);
    if (getcwd(here, sizeof here) && here[0] == '/')
        git_name(here, &name);
    return text_take(&run->project, &name, err);
}

// The machine's id at its provider, by which an invoice names it.
static int set_resource(const char *id, const char *identity, struct run *run, struct err *err)
{
    if (!id || (identity && strcmp(identity, "none") == 0))
        return 0;
    return set_name(&run->spent.resource, id, identity && strcmp(identity, "plain") == 0, err);
}

int provenance_set(const struct measure_options *o, const struct secrets *secrets,
                   const struct machine *machine, struct run *run, struct err *err)
{
    TRY(run_begin_record(run, clock_date_s(), err));
    TRY(run_set_machine(run, machine, err));
    TRY(rates_recall(machine->fingerprint, &run->machine.rates, err));
    run->machine.thread_ops_per_s = some_real(speed_thread());
    TRY(text_set(&run->program.version, FARE_VERSION, err));
    TRY(text_set(&run->program.build, FARE_BUILD, err));
    TRY(note_command_line(secrets, &run->program, err));
    TRY(set_identity(o->identity, run, err));
    if (o->name)
        TRY(text_set(&run->name, o->name, err));
    TRY(add_labels(&o->labels, run, err));
    TRY(set_project(o->project, run, err));
    TRY(set_resource(machine->where.instance_id, o->identity, run, err));
    return o->offer ? add_offer(o->offer, run, err) : 0;
}

// ---- boot

// Whether no earlier run has counted this start of the machine: after one, the time since the start
// was not idle. A line in the user's data folder holds the last start counted; if it cannot be
// written, every run counts the start.
static bool launch_is_new(const struct machine_where *where, const char *started, bool kept)
{
    SCOPED(buf_release) struct buf path = {0}, now = {0}, counted = {0};
    buf_printf(&now, "%s %s\n", where->instance_id ? where->instance_id : "-", started);
    bool is_new = true;
    if (folder_data(&path, NULL) == 0 && (!kept || fs_mkdirs_private(buf_str(&path), NULL) == 0)) {
        buf_adds(&path, "/launched");
        is_new = fs_read(buf_str(&path), 4096, &counted, NULL) != 0 ||
                 strcmp(buf_str(&counted), buf_str(&now)) != 0;
        if (is_new && kept)
            (void)!fs_write_private(buf_str(&path), buf_str(&now), now.len, NULL);
    }
    return is_new;
}

// What FARE_ORDERED says (fleet/sky_task.c): `*ordered_s` is when fare ordered this machine for the
// task that runs now; 0: the machine did a task before, or the text is none of ours. False: not
// set.
static bool read_ordered(int64_t *ordered_s)
{
    const char *text = getenv("FARE_ORDERED");
    if (text && *text && (!text_int(text, ordered_s) || *ordered_s < 0))
        *ordered_s = 0;
    return text && *text;
}

// Of a machine that fare ordered: from the order to the start of this run, for its first run.
static int set_ordered(const struct machine *machine, int64_t ordered_s, bool kept, struct run *run,
                       struct err *err)
{
    int64_t now_s = clock_date_s();
    char date[CLOCK_ISO_BYTES];
    if (ordered_s <= 0 || ordered_s > now_s || now_s - ordered_s > BOOT_MAX_S)
        return 0;
    clock_iso(ordered_s, date);
    if (!launch_is_new(&machine->where, date, kept))
        return 0;
    run->phases.boot_ns = some_int((now_s - ordered_s) * NS_PER_S);
    return TEXTS_SET(err, {&run->boot_from, RUN_BOOT_ORDERED}, {&run->boot_to, "fare"});
}

// Google's and Azure's metadata do not tell the launch.
int provenance_boot(const struct machine *machine, bool first, bool kept, struct run *run,
                    struct err *err)
{
    const struct machine_where *where = &machine->where;
    const struct machine_system *system = &machine->system;
    const char *started = where->launched_at ? where->launched_at : system->booted_at;
    int64_t started_s = 0, ready_s = 0, ordered_s = 0, now_s = clock_date_s();
    if (read_ordered(&ordered_s))
        return first ? set_ordered(machine, ordered_s, kept, run, err) : 0;
    if (!started || !clock_parse(started, &started_s) || started_s > now_s)
        return 0;
    bool ready = system->ready_at && clock_parse(system->ready_at, &ready_s) &&
                 ready_s >= started_s && ready_s <= now_s;
    if (first && launch_is_new(where, started, kept))
        run->idle_before_ns = some_int((now_s - (ready ? ready_s : started_s)) * NS_PER_S);
    if (!ready || ready_s - started_s > BOOT_MAX_S) // it was started again since its launch
        return 0;
    run->phases.boot_ns = some_int((ready_s - started_s) * NS_PER_S);
    return TEXTS_SET(err, {&run->boot_from, where->launched_at ? "metadata" : "kernel"},
                     {&run->boot_to, system->ready_by});
}
