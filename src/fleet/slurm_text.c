// SPDX-License-Identifier: Apache-2.0
// The files and shell texts of the Slurm target (queues.h). Settings of the user reach a shell
// only through shell_quote().
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/sha256.h"
#include "fleet/script.h"
#include "base/buf.h"
#include "fleet/queues.h"

enum { REPLIES = 50, LOOK_EVERY_S = 2, MARGIN_MIN = 10, CANCEL_S = 45 };

// Each place has its own, as one may be done and removed before another begins.
void slurm_base(const struct fleet *fleet, const struct place_words *words, struct buf *out)
{
    const char *dir = words->values[SLURM_DIR];
    struct buf all = {0};
    char hex[SHA256_HEX_BYTES];
    buf_adds(&all, words->head);
    for (size_t i = 0; i < SLURM_KEYS; i++)
        buf_printf(&all, ",%s", words->values[i] ? words->values[i] : "");
    sha256_hex_of(buf_str(&all), all.len, hex);
    if (dir)
        buf_printf(out, "%s/fare-%s-%.8s", dir, fleet->dispatch->id, hex);
    else
        buf_printf(out, "%s/slurm-%.8s", fleet->folder, hex);
    buf_drop(out, &all);
}

// Once for each version: where ssh hosts have it too, unless a folder is named.
void slurm_program(const struct fleet *fleet, const struct place_words *words, struct buf *out)
{
    const struct dispatch_bundle *bundle = &fleet->dispatch->bundle;
    const char *dir = words->values[SLURM_DIR], *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    if (dir)
        buf_printf(out, "%s/fare-bundle", dir);
    else if (cache && *cache == '/')
        buf_printf(out, "%s/fare/bundle", cache);
    else
        buf_printf(out, "%s/.cache/fare/bundle", home ? home : "");
    buf_printf(out, "/%s-%.12s", bundle->version ? bundle->version : "",
               bundle->sha256 ? bundle->sha256 : "");
}

static void set_path(struct buf *out, const char *name, const struct fleet *fleet,
                     const struct place_words *words,
                     void path(const struct fleet *, const struct place_words *, struct buf *))
{
    struct buf text = {0};
    path(fleet, words, &text);
    shell_set(out, name, buf_str(&text));
    buf_drop(out, &text);
}

static void enter(const struct fleet *fleet, const struct place_words *words, struct buf *out)
{
    set_path(out, "base", fleet, words, slurm_base);
    buf_adds(out, "cd -- \"$base\" || exit 70\n");
}

static void add_keys(const struct fleet *fleet, const struct chosen *chosen, struct buf *out)
{
    for (size_t i = 0; i < chosen->count; i++) {
        char key[TASK_KEY_BYTES];
        task_key(fleet->dispatch, chosen->tasks[i], key);
        buf_printf(out, " %s", key);
    }
}

// ---- the files

// The script of every array. Its arguments: the folder, the list, when it was queued, the program,
// the archive of the working folder ("": none), and where to push ("": nowhere) with which token.
static const char array_text[] =
    "#!/bin/sh\n"
    "# Written by fare. Element N of the array makes the measurement on line N of the list.\n"
    "base=$1 list=$2 queued=$3 fare=$4/fare folder=$5 push=$6 token=$7\n"
    "if ! cd -- \"$base\"; then\n"
    "    echo \"fare: $(hostname) does not have $base: name a shared folder with dir=\" >&2\n"
    "    exit 70\n"
    "fi\n"
    "key=$(sed -n \"${SLURM_ARRAY_TASK_ID:?}p\" \"$list\")\n"
    "[ -n \"$key\" ] && cd \"$key\" || exit 70\n"
    "[ ! -e cancelled ] || exit 0\n"
    "me=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID\n"
    "ln -sn \"$me\" owner 2>/dev/null\n"
    "[ \"$(readlink owner)\" = \"$me\" ] || exit 0 # it was queued twice\n"
    ": >\"$base/began/$key.$me\"\n"
    "[ ! -L result ] || exit 0\n"
    "try=try-${SLURM_RESTART_COUNT:-0}\n"
    "rm -rf \"$try\"\n"
    "mkdir -p \"$try/work\" && cd \"$try\" || exit 70\n"
    "[ -z \"$folder\" ] || tar -C work -xf \"$folder\" || exit 70\n"
    "echo $(($(date +%s) - queued)) >waited\n"
    // Slurm ends it: the last process that Slurm knows of waits for all of them.
    "trap 'trap \"\" TERM; wait $job; fare_end \"$key\" KILL; exit 143' TERM\n"
    ". ../run.sh\n"
    "trap - TERM\n"
    "[ -z \"$push\" ] || \"$fare\" runs push \"$push\" --token-file=\"$token\" "
    "--ledger=\"$here/ledger.db\" >pushed 2>&1 </dev/null ||\n"
    "    echo \"not pushed to the server: $(head -n 1 pushed)\" >warning\n"
    "cd \"$base/$key\" && [ -f \"$try/code\" ] || exit 70\n"
    "ln -sn \"$try\" result 2>/dev/null && : >\"$base/ended/$key\"\n"
    "exit 0\n";

static int make_folder(const char *base, const char *name, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0};
    buf_printf(&path, "%s/%s", base, name);
    TRY(buf_check(&path, err));
    return fs_mkdirs(buf_str(&path), err);
}

static int write_task(const struct fleet *fleet, const struct place *place, const char *base,
                      const struct task *task, struct err *err)
{
    char key[TASK_KEY_BYTES], name[TASK_KEY_BYTES + 16];
    SCOPED(buf_release) struct buf text = {0};
    task_key(fleet->dispatch, task, key);
    snprintf(name, sizeof name, "%s/run.sh", key);
    script_run(&text, fleet, place, task);
    TRY(make_folder(base, key, err));
    return script_write(base, name, &text, err);
}

static bool is_queued(const char *base, const char *key)
{
    SCOPED(buf_release) struct buf path = {0};
    buf_printf(&path, "%s/%s/job", base, key);
    return access(buf_str(&path), F_OK) == 0;
}

int slurm_write(const struct fleet *fleet, const struct place *place, const char *base,
                const struct chosen *chosen, struct err *err)
{
    SCOPED(buf_release) struct buf script = {0}, list = {0};
    char name[TASK_KEY_BYTES + 16] = "";
    size_t lines = 0;
    buf_adds(&script, array_text);
    TRY(make_folder(base, "began", err));
    TRY(make_folder(base, "ended", err));
    TRY(script_write(base, "array.sh", &script, err));
    for (size_t i = 0; i < chosen->count; i++) {
        char key[TASK_KEY_BYTES];
        task_key(fleet->dispatch, chosen->tasks[i], key);
        if (is_queued(base, key))
            continue;
        TRY(write_task(fleet, place, base, chosen->tasks[i], err));
        if (lines++ % SLURM_ELEMENTS == 0) {
            if (list.len > 0)
                TRY(script_write(base, name, &list, err));
            buf_reset(&list);
            snprintf(name, sizeof name, "list-%s", key);
        }
        buf_printf(&list, "%s\n", key);
    }
    return list.len > 0 ? script_write(base, name, &list, err) : 0;
}

// ---- the verbs

// The archive of the user's folder, unless it is there: it goes with the last task of the place,
// and a lost one may start again after that.
static void add_folder(const struct fleet *fleet, struct buf *out)
{
    buf_adds(out, "folder=\n");
    if (!fleet->dispatch->folder.file)
        return;
    shell_set(out, "from", fleet->dispatch->folder.file);
    buf_adds(out,
             "folder=$base/folder.tar\n"
             "[ -f folder.tar ] || { cp -- \"$from\" folder.new && mv folder.new folder.tar; } "
             "|| exit 73\n");
}

void slurm_bring_text(const struct fleet *fleet, const struct place_words *words, struct buf *out)
{
    const struct dispatch *d = fleet->dispatch;
    enter(fleet, words, out);
    set_path(out, "to", fleet, words, slurm_program);
    if (d->bundle.file) {
        shell_set(out, "from", d->bundle.file);
        buf_adds(out, "new=$to.new.$$\n"
                      "rm -rf \"$new\" && mkdir -p \"$new\" &&\n"
                      "    tar -C \"$new\" --strip-components=1 -xf \"$from\" || exit 73\n"
                      "[ -x \"$new/fare\" ] || exit 74\n"
                      "mv -T \"$new\" \"$to\" 2>/dev/null || rm -rf \"$new\"\n"
                      "[ -x \"$to/fare\" ] || exit 73\n");
    }
    add_folder(fleet, out);
}

// The options of sbatch that settings become; a value is part of its option's word.
static void add_options(const struct fleet *fleet, const struct place_words *words, struct buf *out)
{
    static const char *const options[SLURM_OPTIONS] = {[SLURM_GRES] = "--gres=",
                                                       [SLURM_CONSTRAINT] = "--constraint=",
                                                       [SLURM_NODELIST] = "--nodelist=",
                                                       [SLURM_ACCOUNT] = "--account=",
                                                       [SLURM_QOS] = "--qos=",
                                                       [SLURM_RESERVATION] = "--reservation=",
                                                       [SLURM_CPUS] = "--cpus-per-task=",
                                                       [SLURM_MEM] = "--mem="};
    if (*words->head) {
        buf_adds(out, " --partition=");
        shell_quote(out, words->head);
    }
    for (size_t i = 0; i < SLURM_OPTIONS; i++)
        if (words->values[i]) {
            buf_printf(out, " %s", options[i]);
            shell_quote(out, words->values[i]);
        }
    if (fleet->dispatch->limit_ns.known)
        buf_printf(out, " --time=%lld",
                   (long long)(fleet->dispatch->limit_ns.v / NS_PER_S / 60 + MARGIN_MIN));
}

static void add_submit(const struct fleet *fleet, const struct place_words *words, struct buf *out)
{
    buf_printf(out,
               "submit() {\n" // LIST COUNT
               "    now=$(date +%%s)\n"
               "    id=$(sbatch --parsable --job-name=fare-%s --chdir=\"$base\" --array=1-$2 "
               "--output=slurm-%%A_%%a.out --open-mode=append --requeue",
               fleet->dispatch->id);
    add_options(fleet, words, out);
    buf_adds(out, " array.sh \"$base\" \"$1\" $now \"$to\" \"$folder\" ");
    shell_quote(out, words->values[SLURM_PUSH] ? words->values[SLURM_PUSH] : "");
    buf_addc(out, ' ');
    shell_quote(out, words->values[SLURM_TOKEN] ? words->values[SLURM_TOKEN] : "");
    buf_adds(out,
             " </dev/null) || exit 71\n"
             "    id=${id%%;*}\n"
             "    case $id in\n"
             "    '' | *[!0-9]*) echo \"sbatch printed no job's number: $id\" >&2; exit 72 ;;\n"
             "    esac\n"
             "    n=0\n"
             "    while read -r key; do\n"
             "        n=$((n + 1))\n"
             "        echo \"${id}_$n\" >\"$key/job\"\n"
             "        echo \"job $key ${id}_$n\"\n"
             "    done <\"$1\"\n"
             "}\n");
}

void slurm_start_text(const struct fleet *fleet, const struct place_words *words,
                      const struct chosen *chosen, struct buf *out)
{
    struct buf base = {0};
    slurm_base(fleet, words, &base);
    enter(fleet, words, out);
    set_path(out, "to", fleet, words, slurm_program);
    add_folder(fleet, out);
    add_submit(fleet, words, out);
    size_t lines = 0;
    char first[TASK_KEY_BYTES] = "";
    for (size_t i = 0; i < chosen->count; i++) {
        char key[TASK_KEY_BYTES];
        task_key(fleet->dispatch, chosen->tasks[i], key);
        if (is_queued(buf_str(&base), key)) {
            buf_printf(out, "read -r id <%s/job && echo \"job %s $id\"\n", key, key);
            continue;
        }
        if (lines == SLURM_ELEMENTS) {
            buf_printf(out, "submit list-%s %zu\n", first, lines);
            lines = 0;
        }
        if (lines++ == 0)
            snprintf(first, sizeof first, "%s", key);
    }
    if (lines > 0)
        buf_printf(out, "submit list-%s %zu\n", first, lines);
    buf_drop(out, &base);
}

// One squeue for all tasks, after a wait for the first that ends; then the results. Looked at in
// this order, a job that is gone without a result has none.
void slurm_look_text(const struct fleet *fleet, const struct place_words *words,
                     const struct chosen *chosen, struct buf *out)
{
    enter(fleet, words, out);
    script_reply(out);
    buf_adds(out, "keys='");
    add_keys(fleet, chosen, out);
    buf_printf(out,
               "'\n"
               "ended() { for k in $keys; do [ ! -e \"ended/$k\" ] || return 0; done; return 1; }\n"
               "n=0\n"
               "until [ $n -ge \"$1\" ] || ended; do\n"
               "    sleep %d\n"
               "    n=$((n + %d))\n"
               "done\n"
               "if q=$(squeue -h -r -t all --name=fare-%s -o 'queue %%F_%%K %%T' 2>&1); then\n"
               "    echo \"$q\"\n"
               "else\n"
               "    echo \"$q\" | tail -n 1 >&2\n"
               "    echo squeue failed now\n"
               "fi\n"
               "ls ended >/dev/null\n" // a network file system looks again
               "ls began | sed 's/^\\(.*\\)\\./began \\1 /'\n"
               "n=0\n"
               "for k in $keys; do\n"
               "    [ -e \"ended/$k\" ] || continue\n"
               "    n=$((n + 1))\n"
               "    [ $n -le %d ] || { echo \"later $k ended\"; continue; }\n"
               "    read -r s <\"$k/result/waited\" && echo \"waited $k $s\"\n"
               "    fare_reply \"$k\" \"$k/result\"\n"
               "done\n",
               LOOK_EVERY_S, LOOK_EVERY_S, fleet->dispatch->id, REPLIES);
}

// Removes the folders of tasks, and of the dispatch with its last one: tasks that are queued have a
// job file. $still has lines "still KEY STATE" for tasks that keep theirs.
static void add_removal(const struct fleet *fleet, const struct chosen *chosen, struct buf *out)
{
    enum { AT_ONCE = 500 }; // words of one rm: a process for each task is slow
    script_remove(out);
    buf_adds(out, "set --\n"
                  "for k in");
    add_keys(fleet, chosen, out);
    buf_printf(
        out,
        "; do\n"
        "    case $still in *\"still $k \"*) continue ;; esac\n"
        "    if read -r id 2>/dev/null <\"$k/job\"; then set -- \"$@\" \"slurm-$id.out\"; fi\n"
        "    set -- \"$@\" \"$k\" \"ended/$k\" \"began/$k\".*\n"
        "    [ $# -lt %d ] || { fare_remove \"$@\"; set --; }\n"
        "done\n"
        "[ $# -eq 0 ] || fare_remove \"$@\"\n",
        AT_ONCE);
    buf_adds(out, "for k in */job; do [ ! -e \"$k\" ] || exit 0; done\n"
                  "cd / && fare_remove \"$base\"\n"
                  "exit 0\n");
}

// The jobs of the tasks as far as anyone knows: $jobs has lines "KEY JOB". A job that has not begun
// finds the task cancelled, or no folder, and ends.
static void add_jobs(const struct fleet *fleet, const struct chosen *chosen, struct buf *out)
{
    buf_adds(out, "jobs=$(\n"
                  "for p in");
    for (size_t i = 0; i < chosen->count; i++) {
        char key[TASK_KEY_BYTES];
        const char *handle = chosen->tasks[i]->now.handle;
        struct buf word = {0};
        task_key(fleet->dispatch, chosen->tasks[i], key);
        buf_printf(&word, "%s:%s", key, handle ? handle : "");
        buf_addc(out, ' ');
        shell_quote(out, buf_str(&word));
        buf_drop(out, &word);
    }
    buf_adds(out, "; do\n"
                  "    k=${p%%:*}\n"
                  "    [ -z \"${p#*:}\" ] || echo \"$k ${p#*:}\"\n"
                  "    [ -n \"$base\" ] && [ -d \"$k\" ] || continue\n"
                  "    : >\"$k/cancelled\"\n"
                  "    if read -r id 2>/dev/null <\"$k/job\"; then echo \"$k $id\"; fi\n"
                  "    [ ! -L \"$k/owner\" ] || echo \"$k $(readlink \"$k/owner\")\"\n"
                  "done)\n");
}

// Ends the jobs and waits until Slurm has none of them. Those that are COMPLETING are over: their
// node may be away for long. The others keep their folders.
void slurm_cancel_text(const struct fleet *fleet, const struct place_words *words,
                       const struct chosen *chosen, struct buf *out)
{
    set_path(out, "base", fleet, words, slurm_base);
    buf_adds(out, "cd -- \"$base\" 2>/dev/null || base=\n"
                  "still=\n");
    add_jobs(fleet, chosen, out);
    buf_printf(out,
               "list() {\n"
               "    q=$(squeue -h -r --name=fare-%s -o '%%F_%%K %%T') || return 1\n"
               "    printf '%%s\\n@\\n%%s\\n' \"$jobs\" \"$q\" |\n"
               "        awk '$1 == \"@\" { second = 1 } !second { key[$2] = $1 }\n"
               "             second && $1 in key { print \"still\", key[$1], $2 }'\n"
               "}\n",
               fleet->dispatch->id);
    buf_printf(out,
               "if [ -n \"$jobs\" ]; then\n"
               "    ids=$(echo \"$jobs\" | cut -d ' ' -f 2 | sort -u)\n"
               "    scancel --quiet $ids 2>&1 >/dev/null | grep -v 'Invalid job id' >&2\n"
               "    n=0\n"
               "    while still=$(list) || exit 71; [ -n \"$still\" ] && [ $n -lt %d ]; do\n"
               "        sleep 1\n"
               "        n=$((n + 1))\n"
               "    done\n"
               "    still=$(echo \"$still\" | grep -v ' COMPLETING$')\n"
               "    echo \"$still\"\n"
               "fi\n"
               "[ -n \"$base\" ] || exit 0\n",
               CANCEL_S);
    add_removal(fleet, chosen, out);
}

void slurm_clean_text(const struct fleet *fleet, const struct place_words *words,
                      const struct chosen *chosen, struct buf *out)
{
    set_path(out, "base", fleet, words, slurm_base);
    buf_adds(out, "cd -- \"$base\" 2>/dev/null || exit 0\n"
                  "still=\n");
    add_removal(fleet, chosen, out);
}
