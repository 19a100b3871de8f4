// SPDX-License-Identifier: Apache-2.0
// One Linux machine on which a shell can be run: what `ssh` and `here` share.
//
// Each verb is one script, sent as standard input to
//
//     sh -c 'eval "$(dd bs=1 count=N 2>/dev/null)"'
//
// so that no login shell sees any word of the user's. What follows the first N bytes (an archive)
// is the script's own input. On the host everything is below ~/.cache/fare: bundle/VERSION-SHA
// (stays) and tasks/KEY (goes). A task is run by a keeper in a session of its own, which no
// connection ends.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "fleet/script.h"

#define ERROR "fare-error "
#define PLACE "fare-place "

enum { SHORT_S = 60, LONG_S = 900, START_WAIT_S = 10 };

// Appends "sh -c ..." for the script that is in call->input, as one argument for a remote shell.
static void host_command(struct call *call, struct buf *out)
{
    buf_printf(out, "exec sh -c 'eval \"$(dd bs=1 count=%zu 2>/dev/null)\"'", call->input.len);
}

// ---- the scripts

static int add_head(struct buf *out, const struct fleet *fleet, bool here, struct err *err)
{
    const struct dispatch_bundle *b = &fleet->dispatch->bundle;
    buf_adds(out, "umask 077\ntrap '' HUP PIPE\n"
                  "fail() { echo \"" ERROR "$*\"; exit 3; }\n");
    if (here) {
        struct buf program = {0};
        int rc = bundle_program(&program, err);
        shell_set(out, "root", fleet->folder);
        shell_set(out, "fare", buf_str(&program));
        buf_drop(out, &program);
        if (rc != 0)
            return rc;
    } else {
        buf_printf(out,
                   "root=${XDG_CACHE_HOME:-${HOME:?}/.cache}/fare\n"
                   "bundle=$root/bundle/%s-%.12s\n"
                   "fare=$bundle/fare\n",
                   b->version, b->sha256);
    }
    buf_adds(out, "tasks=$root/tasks\n");
    return 0;
}

static void add_check(struct buf *out)
{
    buf_adds(out,
             "[ \"$(uname -s) $(uname -m)\" = 'Linux x86_64' ] ||\n"
             "    fail unfit \"it is $(uname -s) on $(uname -m); fare needs Linux on x86_64\"\n"
             "for p in tar gzip sha256sum setsid grep; do\n"
             "    command -v $p >/dev/null || fail unfit \"it has no program '$p'\"\n"
             "done\n"
             "[ -x \"$fare\" ] || { echo '" PLACE "bundle'; exit 0; }\n"
             "says=$(\"$fare\" --version 2>&1 </dev/null) ||\n"
             "    fail unfit \"$fare does not start: $(echo \"$says\" | head -n 1)\"\n"
             "echo '" PLACE "ready'\n");
}

// Unpacked beside, then renamed: a copy that was cut off is never found by its name.
static void add_bring(struct buf *out, const struct dispatch_bundle *b)
{
    buf_adds(out, "new=$root/bundle/.$$.new\n"
                  "trap 'rm -rf \"$new\"' EXIT\n"
                  "mkdir -p \"$new/in\" || fail room 'cannot make a folder for the bundle'\n"
                  "find \"$root/bundle\" -maxdepth 1 -name '.*.new' -mtime +1 -exec rm -rf {} + "
                  "2>/dev/null\n"
                  "cat >\"$new/archive\" || fail room 'no room for the bundle'\n");
    buf_printf(out,
               "[ \"$(sha256sum <\"$new/archive\" | cut -c 1-64)\" = %s ] ||\n"
               "    fail cut 'the bundle did not arrive whole'\n",
               b->sha256);
    buf_adds(out, "tar -xzf \"$new/archive\" -C \"$new/in\" >/dev/null 2>&1 ||\n"
                  "    fail room 'no room to unpack the bundle'\n"
                  "sync\n"
                  "set -- \"$new\"/in/*\n"
                  "[ -x \"$1/fare\" ] || fail unfit 'the bundle has no program'\n"
                  "mv -T \"$1\" \"$bundle\" 2>/dev/null || [ -d \"$bundle\" ] ||\n"
                  "    mv \"$1\" \"$bundle\" || fail room 'cannot put the bundle in its place'\n"
                  "echo '" PLACE "ready'\n");
}

// On this machine a folder is used as it is: unpacked into it, its own older files would come back.
static bool in_place(const struct fleet *fleet, bool here)
{
    const char *from = fleet->dispatch->folder.from;
    return here && from && *from == '/';
}

// The task's folder is made under another name and renamed, which only one of several succeeds in:
// that one starts the keeper.
static int add_start(struct buf *out, const struct fleet *fleet, const struct place *place,
                     const struct task *task, bool here)
{
    const struct dispatch_folder *folder = &fleet->dispatch->folder;
    struct buf run = {0};
    buf_adds(&run, "cd \"$1\" || exit 1\nfare=$2\necho $$ >keeper.new && mv keeper.new keeper\n");
    script_run(&run, fleet, place, task);
    shell_set(out, "run", buf_str(&run));
    buf_drop(out, &run);
    buf_adds(out, "start() {\n"
                  "    new=$tasks/.$key.$$\n"
                  "    trap 'rm -rf \"$new\"' EXIT\n"
                  "    mkdir -p \"$new\" || fail room \"cannot make a folder in $tasks\"\n");
    bool as_it_is = in_place(fleet, here);
    if (as_it_is) {
        buf_adds(out, "    ln -s ");
        shell_quote(out, folder->from);
        buf_adds(out, " \"$new/work\"\n");
    } else {
        buf_adds(out, "    mkdir \"$new/work\" || fail room 'no room for the task'\n");
    }
    if (folder->file && !as_it_is)
        buf_printf(out,
                   "    cat >\"$new/archive\" || fail room 'no room for the folder'\n"
                   "    [ \"$(sha256sum <\"$new/archive\" | cut -c 1-64)\" = %s ] ||\n"
                   "        fail cut 'the folder did not arrive whole'\n"
                   "    tar -xzf \"$new/archive\" -C \"$new/work\" >/dev/null 2>&1 ||\n"
                   "        fail room 'no room to unpack the folder'\n"
                   "    rm \"$new/archive\"\n",
                   folder->sha256);
    buf_adds(out, "    printf '%s' \"$run\" >\"$new/run\" || fail room 'no room for the task'\n"
                  "    mv -T \"$new\" \"$dir\" 2>/dev/null || {\n"
                  "        [ ! -d \"$dir\" ] && mv \"$new\" \"$dir\"\n"
                  "    } || return 0\n"
                  "    FARE_KEEPER=$key. setsid sh \"$dir/run\" \"$dir\" \"$fare\" "
                  "</dev/null >/dev/null 2>&1 &\n"
                  "}\n"
                  "[ -d \"$dir\" ] || start\n");
    // The keeper's first words. A host under load may take its time.
    buf_printf(out,
               "i=0\nwhile [ ! -f \"$dir/started\" ] && [ $i -lt %d ]; do\n"
               "    sleep 0.2 2>/dev/null || sleep 1; i=$((i + 1))\n"
               "done\n"
               "fare_reply \"$key\" \"$dir\"\n",
               START_WAIT_S * 5);
    return 0;
}

static void add_look(struct buf *out)
{
    buf_printf(out,
               "i=0\nwhile [ -f \"$dir/started\" ] && [ ! -f \"$dir/code\" ] && "
               "fare_alive \"$key\" \"$dir\" && [ $i -lt %d ]; do\n"
               "    sleep 0.5 2>/dev/null || { sleep 1; i=$((i + 1)); }; i=$((i + 1))\n"
               "done\n"
               "fare_reply \"$key\" \"$dir\"\n",
               2 * FLEET_LOOK_S);
}

// The keeper first: it would record the end of its task as one. Then fare, which ends its command.
static void add_cancel(struct buf *out)
{
    buf_adds(out, "fare_alive \"$key\" \"$dir\" && [ -f \"$dir/keeper\" ] &&\n"
                  "    kill -KILL \"$(cat \"$dir/keeper\")\" 2>/dev/null\n"
                  "fare_end \"$key\" TERM\n"
                  "i=0\n"
                  "while grep -qsF \"FARE_TASK=$key.\" /proc/[0-9]*/environ && [ $i -lt 15 ]; do\n"
                  "    sleep 1; i=$((i + 1))\n"
                  "done\n"
                  "i=0\n" // again, for what was started meanwhile; and until all are gone
                  "while fare_end \"$key\" KILL\n"
                  "    grep -qsF \"FARE_TASK=$key.\" /proc/[0-9]*/environ && [ $i -lt 10 ]; do\n"
                  "    sleep 1; i=$((i + 1))\n"
                  "done\n"
                  "if grep -qsF \"FARE_TASK=$key.\" /proc/[0-9]*/environ; then\n"
                  "    fare_reply \"$key\" \"$dir\"\n" // something cannot be killed now
                  "    exit 0\n"
                  "fi\n"
                  "fare_remove \"$dir\" \"$tasks/.$key.\"*\n"
                  "rmdir \"$tasks\" 2>/dev/null\n"
                  "fare_absent \"$key\"\n");
}

static void add_clean(struct buf *out)
{
    buf_adds(out, "fare_remove \"$dir\"\nrmdir \"$tasks\" 2>/dev/null\nfare_absent \"$key\"\n");
}

static int input_file(struct call *call, const char *file, struct err *err)
{
    call->input_file = file ? text_copy(file, err) : NULL;
    return file && !call->input_file ? ERR_MEMORY : 0;
}

// The bytes of a task's records at most, and some for its other words.
static size_t reply_most(const struct dispatch *d)
{
    enum { WORDS = 1 << 20, MOST = 64 << 20 };
    int64_t records = d->runs.known ? d->runs.v * RUN_BYTES_MOST : MOST;
    return records < MOST ? (size_t)records + WORDS : MOST;
}

// Fills call->input and the rest but for argv. `here`: on this machine, with this program, and in
// the folder dispatch->folder.from itself, unless that is a git revision.
static int host_prepare(const struct fleet *fleet, enum verb verb, const struct place *place,
                        const struct chosen *chosen, bool here, struct call *call, struct err *err)
{
    const struct dispatch *d = fleet->dispatch;
    struct buf *out = &call->input;
    int rc = add_head(out, fleet, here, err);
    call->limit_ns = (verb == VERB_BRING || verb == VERB_START ? LONG_S : SHORT_S) * NS_PER_S;
    if (verb == VERB_LOOK || verb == VERB_CANCEL)
        call->limit_ns += FLEET_LOOK_S * NS_PER_S;
    call->keep_max = reply_most(d);
    if (rc == 0 && verb >= VERB_START) {
        char key[TASK_KEY_BYTES];
        task_key(d, chosen->tasks[0], key);
        script_reply(out);
        script_remove(out);
        buf_printf(out, "key=%s\ndir=$tasks/$key\n", key);
    }
    switch (verb) {
    case VERB_CHECK:
        add_check(out);
        break;
    case VERB_BRING:
        add_bring(out, &d->bundle);
        rc = rc != 0 ? rc : input_file(call, d->bundle.file, err);
        break;
    case VERB_START:
        add_start(out, fleet, place, chosen->tasks[0], here);
        if (rc == 0 && !in_place(fleet, here))
            rc = input_file(call, d->folder.file, err);
        break;
    case VERB_LOOK:
        add_look(out);
        break;
    case VERB_CANCEL:
        add_cancel(out);
        break;
    case VERB_CLEAN:
        add_clean(out);
        break;
    case VERB_CLOSE:
    case VERBS:
        break;
    }
    return rc != 0 ? rc : buf_check(out, err);
}

// ---- the answers

// "room no room for the bundle": the script's own complaint.
static int complaint(const char *text, struct err *err)
{
    const char *words = strchr(text, ' ');
    words = words ? words + 1 : text;
    bool later = strncmp(text, "room ", 5) == 0 || strncmp(text, "cut ", 4) == 0;
    return err_set(err, later ? ERR_IO : ERR_FAIL, "%.300s", words);
}

// As target->read, for the answer of a script that was reached.
static int host_read(const struct fleet *fleet, struct place *place, enum verb verb,
                     const struct chosen *chosen, const struct call_result *result,
                     struct task_report *reports, struct err *err)
{
    SCOPED(buf_release) struct buf words = {0};
    int rc = 0;
    const char *error = script_marked(&result->out, ERROR, &words);
    if (error && verb == VERB_START) { // it says itself that nothing was started
        reports[0].state = REPORT_ABSENT;
        reports[0].run_s = reports[0].queue_s = -1;
        rc = complaint(error, err);
    } else if (error) {
        rc = complaint(error, err);
    } else if (verb == VERB_CHECK || verb == VERB_BRING) {
        const char *state = script_marked(&result->out, PLACE, &words);
        place->needs_bundle = state && strcmp(state, "bundle") == 0;
        rc = state ? 0 : call_failed(result, ERR_IO, NULL, err);
    } else {
        char key[TASK_KEY_BYTES];
        task_key(fleet->dispatch, chosen->tasks[0], key);
        rc = reply_read(buf_str(&result->out), result->out.len, key, &reports[0], err);
        if (rc == 0 && result->cut && reports[0].state == REPORT_UNKNOWN)
            rc = err_set(err, ERR_FAIL, "its answer is over %zu MiB long",
                         reply_most(fleet->dispatch) >> 20);
        if (rc == 0 && reports[0].state == REPORT_UNKNOWN)
            rc = call_failed(result, ERR_IO, NULL, err);
        else if (rc == 0 && (verb == VERB_CANCEL || verb == VERB_CLEAN))
            rc = script_left(result, &reports[0], err);
    }
    return rc;
}

// ==== here ====
// This machine, one task after the other, with this program and in this folder. For sweeps.

static int here_parse(const char *value, struct places *places, struct err *err)
{
    if (value)
        return err_set(err, ERR_USAGE, "--on here takes no value");
    return places_add(places, &target_here, NULL, NULL, err) ? 0 : ERR_MEMORY;
}

static int here_prepare(const struct fleet *fleet, struct place *place, enum verb verb,
                        const struct chosen *chosen, struct call *call, struct err *err)
{
    SCOPED(buf_release) struct buf command = {0};
    TRY(host_prepare(fleet, verb, place, chosen, true, call, err));
    host_command(call, &command);
    call_words(call, "sh -c");
    call_arg(call, buf_str(&command));
    call->failed |= command.failed;
    return 0;
}

const struct target target_here = {
    .name = "here",
    .parse = here_parse,
    .prepare = here_prepare,
    .read = host_read,
    .look_waits = true,
    .no_bundle = true,
};

// ==== ssh ====
// Hosts, through OpenSSH's own client: its configuration, agent, keys and known hosts decide.

enum { HOSTS_BYTES_MOST = 16 << 20 };

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

// [USER@]HOST of characters that names and addresses have, and no dash first: ssh would take that
// for an option.
static bool host_fits(const char *host)
{
    const char *at = strrchr(host, '@');
    char allowed[128];
    snprintf(allowed, sizeof allowed, "%s._-+@", letters);
    if (at && (at == host || *host == '-' || strspn(host, allowed) < (size_t)(at - host)))
        return false;
    host = at ? at + 1 : host;
    snprintf(allowed, sizeof allowed, "%s._-:%%[]", letters);
    return *host && *host != '-' && strspn(host, allowed) == strlen(host) && strlen(host) < 256;
}

// "HOST" or "HOST=OFFER".
static int add_host(const char *host, const char *offer, struct places *places, struct err *err)
{
    if (!host_fits(host)) {
        err_set(err, ERR_USAGE, "'%.100s' is not the name of a host", host);
        return err_hint(err, "USER@HOST, an address, or a name of your ~/.ssh/config, which is "
                             "the place for ports and keys");
    }
    return places_add(places, &target_ssh, host, offer, err) ? 0 : ERR_MEMORY;
}

static int add_host_word(char *word, struct places *places, struct err *err)
{
    char *offer = strchr(word, '=');
    if (offer)
        *offer++ = '\0';
    return add_host(word, offer, places, err);
}

// A line: HOST [OFFER] [# ...].
static int add_host_line(char *line, struct places *places, struct err *err)
{
    char *save = NULL;
    line[strcspn(line, "#")] = '\0';
    char *host = strtok_r(line, " \t\r", &save);
    if (host && strncmp(host, "ssh:", 4) == 0) // as --on has it
        host += 4;
    char *offer = host ? strtok_r(NULL, " \t\r", &save) : NULL;
    if (!host)
        return 0;
    if (strtok_r(NULL, " \t\r", &save))
        return err_set(err, ERR_USAGE, "expected a host and its offer, and no more words");
    return offer ? add_host(host, offer, places, err) : add_host_word(host, places, err);
}

static int add_host_file(const char *path, struct places *places, struct err *err)
{
    SCOPED(buf_release) struct buf text = {0};
    size_t before = places->count;
    TRY(fs_read(path, HOSTS_BYTES_MOST, &text, err));
    if (strlen(buf_str(&text)) != text.len)
        return err_set(err, ERR_USAGE, "'%s' is not text", path);
    char *rest = text.data;
    if (rest && strncmp(rest, "\xef\xbb\xbf", 3) == 0) // some editors mark UTF-8
        rest += 3;
    for (size_t number = 1; rest; number++)
        if (add_host_line(strsep(&rest, "\n"), places, err) != 0)
            return err_context(err, "%s:%zu", path, number);
    return places->count > before ? 0 : err_set(err, ERR_USAGE, "'%s' names no host", path);
}

static int ssh_parse(const char *value, struct places *places, struct err *err)
{
    if (!value || !*value) {
        err_set(err, ERR_USAGE, "--on ssh needs a host");
        return err_hint(err, "ssh:USER@HOST, or ssh:@FILE with one on each line");
    }
    if (*value == '@')
        return add_host_file(value + 1, places, err);
    SCOPED(free_pointer) char *copy = text_copy(value, err);
    if (!copy)
        return ERR_MEMORY;
    for (char *rest = copy; rest;)
        TRY(add_host_word(strsep(&rest, ","), places, err));
    return 0;
}

// Its own settings win over the user's where a connection is shared by a program, not a person:
// nobody is there to be asked, and a dead one has to be noticed. Host keys are checked as ever.
static int ssh_prepare(const struct fleet *fleet, struct place *place, enum verb verb,
                       const struct chosen *chosen, struct call *call, struct err *err)
{
    static const char *const options[] = {"-T",
                                          "-x",
                                          "-oBatchMode=yes",
                                          "-oConnectTimeout=10",
                                          "-oServerAliveInterval=10",
                                          "-oServerAliveCountMax=3",
                                          "-oClearAllForwardings=yes",
                                          "-oRemoteCommand=none",
                                          "-oLogLevel=ERROR"};
    SCOPED(buf_release) struct buf command = {0};
    const char *program = getenv("FARE_SSH");
    SCOPED(free_pointer) char **words = program && *program ? shell_split(program) : NULL;
    TRY(host_prepare(fleet, verb, place, chosen, false, call, err));
    if (words)
        call_args(call, words);
    else
        call_arg(call, "ssh");
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        call_arg(call, options[i]);
    call_arg(call, "--");
    call_arg(call, place->value);
    host_command(call, &command);
    call_arg(call, buf_str(&command));
    call->failed |= command.failed;
    return 0;
}

static int ssh_read(const struct fleet *fleet, struct place *place, enum verb verb,
                    const struct chosen *chosen, const struct call_result *result,
                    struct task_report *reports, struct err *err)
{
    // Trying again cannot help: the user has to do something first.
    static const char *const hopeless[] = {
        "Permission denied",          "Host key verification failed",
        "Bad configuration option",   "Name or service not known",
        "hostname contains invalid",  "Too many authentication",
        "Could not resolve hostname", NULL,
    };
    const char *says = buf_str(&result->err_text);
    bool never = call_says(says, hopeless) && !strstr(says, "Temporary failure");
    if (result->timed_out || !result->exited || result->exit_code == 255)
        return call_failed(result, never ? ERR_FAIL : ERR_IO, NULL, err);
    return host_read(fleet, place, verb, chosen, result, reports, err);
}

static void ssh_by_hand(const struct fleet *fleet, const struct place *place,
                        const struct task *task, struct buf *out)
{
    (void)task;
    buf_printf(out, "fare runs cancel %s, once %s answers", fleet->dispatch->id, place->value);
}

const struct target target_ssh = {
    .name = "ssh",
    .value = "[USER@]HOST[=OFFER]",
    .parse = ssh_parse,
    .prepare = ssh_prepare,
    .read = ssh_read,
    .look_waits = true,
    .by_hand = ssh_by_hand,
};
