// SPDX-License-Identifier: Apache-2.0
#include "fleet/script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"

enum { LOG_BYTES = 2000, GRACE_S = 30, REMOVE_S = 10 };
#define REPLY "fare-reply "
#define LEFT  "fare-left "

// Variables of the functions begin with fare_: a script has its own.
// The processes of a task are those with its key in their environment, wherever they moved to. The
// dot ends the key: no other key begins with it.
static void add_tools(struct buf *out)
{
    buf_adds(out,
             "fare_now() { read -r fare_t _ </proc/uptime; echo \"${fare_t%.*}${fare_t#*.}\"; }\n"
             "fare_end() {\n"
             "    for fare_p in $(grep -lsF \"FARE_TASK=$1.\" /proc/[0-9]*/environ); do\n"
             "        fare_p=${fare_p#/proc/}\n"
             "        kill \"-$2\" \"${fare_p%/environ}\" 2>/dev/null\n"
             "    done\n"
             "}\n");
}

static void add_words(struct buf *out, char *const *written, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct buf word = {0};
        task_word(written[i], &word);
        buf_addc(out, ' ');
        shell_quote(out, buf_str(&word));
        buf_drop(out, &word);
    }
}

static void add_label(struct buf *out, const char *key, const char *value)
{
    struct buf label = {0};
    buf_printf(&label, "--label=%s=%s", key, value);
    buf_addc(out, ' ');
    shell_quote(out, buf_str(&label));
    buf_drop(out, &label);
}

static void add_command(struct buf *out, const struct fleet *fleet, const struct place *place,
                        const struct task *task)
{
    const struct dispatch *d = fleet->dispatch;
    buf_adds(out, "\"$fare\" run --ledger=\"$here/ledger.db\"");
    add_words(out, d->arguments.items, d->arguments.count);
    if (place->offer) {
        buf_adds(out, " --offer=");
        shell_quote(out, place->offer);
    }
    add_label(out, "dispatch", d->id);
    for (size_t i = 0; i < task->settings.count; i++) {
        struct buf value = {0};
        task_word(task->settings.items[i].value, &value);
        add_label(out, task->settings.items[i].name, buf_str(&value));
        buf_drop(out, &value);
    }
    if (task->workload) {
        buf_addc(out, ' ');
        shell_quote(out, task->workload);
        return;
    }
    buf_adds(out, " --");
    add_words(out, task->command.items, task->command.count);
}

void script_run(struct buf *out, const struct fleet *fleet, const struct place *place,
                const struct task *task)
{
    char key[TASK_KEY_BYTES];
    int64_t limit_s = fleet->dispatch->limit_ns.known
                          ? (fleet->dispatch->limit_ns.v + NS_PER_S - 1) / NS_PER_S
                          : 0;
    task_key(fleet->dispatch, task, key);
    add_tools(out);
    buf_printf(out,
               "here=$(pwd)\n"
               "export FARE_TASK=%s.\n"
               "[ -d \"${XDG_DATA_HOME:-${HOME:-}/.local/share}/fare\" ] || "
               "export FARE_HOME=\"$here/home\"\n"
               "began=$(fare_now)\n"
               "echo \"$began\" >started\n"
               "(cd -P work && exec ",
               key);
    add_command(out, fleet, place, task);
    buf_adds(out, ") >log 2>&1 </dev/null &\njob=$!\n");
    if (limit_s > 0)
        buf_printf(out,
                   "(sleep %lld; : >\"$here/limit\"; kill -TERM $job; sleep %d; fare_end %s KILL) "
                   ">/dev/null 2>&1 </dev/null &\nguard=$!\n",
                   (long long)limit_s, GRACE_S, key);
    buf_adds(out, "wait $job\ncode=$?\n");
    if (limit_s > 0)
        buf_adds(out, "kill $guard 2>/dev/null\n");
    buf_printf(out,
               "fare_end %s KILL\n"
               "\"$fare\" runs export --ledger=\"$here/ledger.db\" -o record.jsonl >>log 2>&1 "
               "</dev/null\n"
               "echo \"$code $began $(fare_now)\" >code.new && mv code.new code\n",
               key);
}

void script_reply(struct buf *out)
{
    add_tools(out);
    buf_printf(out,
               "fare_alive() {\n"
               "    [ ! -f \"$2/keeper\" ] || grep -qsF \"FARE_KEEPER=$1.\" "
               "\"/proc/$(cat \"$2/keeper\")/environ\"\n"
               "}\n"
               // Asked before the result is: one that ends in between has it by then.
               "fare_reply() {\n"
               "    fare_runs=no\n"
               "    [ ! -f \"$2/started\" ] || ! fare_alive \"$1\" \"$2\" || fare_runs=yes\n"
               "    if [ ! -d \"$2\" ]; then echo '" REPLY "'\"$1 absent\"\n"
               "    elif [ -f \"$2/code\" ]; then\n"
               "        echo '" REPLY "'\"$1 ended $(cat \"$2/code\")\"\n"
               "        [ ! -f \"$2/limit\" ] || echo '" REPLY "'\"$1 limit\"\n"
               "        [ ! -f \"$2/warning\" ] || "
               "echo '" REPLY "'\"$1 warning $(head -n 1 \"$2/warning\")\"\n"
               "        if [ -f \"$2/record.jsonl\" ]; then\n"
               "            echo '" REPLY "'\"$1 record $(($(wc -c <\"$2/record.jsonl\")))\"\n"
               "            cat \"$2/record.jsonl\"\n"
               "        fi\n"
               "    elif [ $fare_runs = yes ]; then\n"
               "        echo '" REPLY "'\"$1 running $(cat \"$2/started\") $(fare_now)\"\n"
               "    else echo '" REPLY "'\"$1 lost\"; fi\n"
               "    if [ -f \"$2/log\" ]; then\n"
               "        fare_n=$(($(wc -c <\"$2/log\"))); [ $fare_n -lt %d ] || fare_n=%d\n"
               "        echo '" REPLY "'\"$1 log $fare_n\"; tail -c $fare_n \"$2/log\"; echo\n"
               "    fi\n"
               "    echo '" REPLY "'\"$1 end\"\n"
               "}\n"
               "fare_absent() { echo '" REPLY "'\"$1 absent\"; echo '" REPLY "'\"$1 end\"; }\n",
               LOG_BYTES, LOG_BYTES);
}

// A process that is dying, or that nobody sees any more, may still write files while rm goes
// through their folder. All removals of a script share the time.
void script_remove(struct buf *out)
{
    buf_printf(out,
               "fare_tries=%d\n"
               "fare_remove() {\n"
               "    until fare_says=$(rm -rf -- \"$@\" 2>&1); do\n"
               "        if [ $fare_tries -le 0 ]; then\n"
               "            echo '" LEFT "'\"$(echo \"$fare_says\" | head -n 1)\"\n"
               "            return 1\n"
               "        fi\n"
               "        fare_tries=$((fare_tries - 1))\n"
               "        sleep 0.5 2>/dev/null || sleep 1\n"
               "    done\n"
               "}\n",
               2 * REMOVE_S);
}

// ---- the reply

void reply_write(struct buf *out, const char *key, int code, int64_t began_s, int64_t ended_s,
                 const struct buf *records)
{
    buf_printf(out, REPLY "%s ended %d %lld %lld\n", key, code, (long long)began_s,
               (long long)ended_s);
    buf_printf(out, REPLY "%s record %zu\n", key, records->len);
    buf_add(out, buf_str(records), records->len);
    buf_printf(out, REPLY "%s end\n", key);
}

const char *script_marked(const struct buf *text, const char *mark, struct buf *into)
{
    const char *line = buf_str(text);
    size_t len = strlen(mark);
    while (line && *line) {
        if (strncmp(line, mark, len) == 0) {
            size_t rest = strcspn(line + len, "\r\n");
            buf_add(into, line + len, rest < 300 ? rest : 300);
            return buf_str(into);
        }
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return NULL;
}

int script_left(const struct call_result *result, struct task_report *report, struct err *err)
{
    buf_reset(&report->words);
    script_marked(&result->out, LEFT, &report->words);
    return buf_check(&report->words, err);
}

struct reply_reading {
    const char *at, *end;
    char prefix[sizeof REPLY + TASK_KEY_BYTES]; // "fare-reply KEY "
};

// The next line that begins with the prefix: what follows it, up to `*len`. Null: none.
static const char *reply_line(struct reply_reading *r, size_t *len)
{
    size_t prefix = strlen(r->prefix);
    while (r->at < r->end) {
        const char *line = r->at;
        const char *newline = memchr(line, '\n', (size_t)(r->end - line));
        if (!newline)
            return NULL; // cut
        r->at = newline + 1;
        if ((size_t)(newline - line) >= prefix && memcmp(line, r->prefix, prefix) == 0) {
            *len = (size_t)(newline - line) - prefix;
            return line + prefix;
        }
    }
    return NULL;
}

static bool begins(const char *line, size_t len, const char *word)
{
    size_t n = strlen(word);
    return len >= n && memcmp(line, word, n) == 0 && (len == n || line[n] == ' ');
}

// Up to three numbers behind the word; returns how many.
static int numbers(const char *line, size_t len, long long out[3])
{
    char text[96];
    int count = 0;
    size_t n = len < sizeof text - 1 ? len : sizeof text - 1;
    memcpy(text, line, n);
    text[n] = '\0';
    char *at = strchr(text, ' ');
    while (at && count < 3) {
        char *end;
        out[count] = strtoll(at, &end, 10);
        if (end == at)
            break;
        count++;
        at = end;
    }
    return count;
}

// Takes `bytes` bytes that follow the line; false if they are not all there.
static bool piece(struct reply_reading *r, long long bytes, struct buf *into)
{
    if (bytes < 0 || bytes > r->end - r->at)
        return false;
    buf_reset(into);
    buf_add(into, r->at, (size_t)bytes);
    r->at += bytes;
    return true;
}

// Hundredths of a second; below 0: nonsense.
static double span(long long from, long long to)
{
    return from >= 0 && to >= from ? (double)(to - from) / 100 : -1;
}

// One line; false: nonsense. `*whole` after the last one.
static bool read_reply_line(struct reply_reading *r, const char *line, size_t len,
                            struct task_report *to, bool *whole)
{
    long long n[3];
    int count = numbers(line, len, n);
    if (begins(line, len, "absent")) {
        to->state = REPORT_ABSENT;
    } else if (begins(line, len, "lost")) {
        to->state = REPORT_LOST;
    } else if (begins(line, len, "limit")) {
        to->limit = true;
    } else if (begins(line, len, "warning")) {
        size_t word = sizeof "warning"; // and a space
        buf_reset(&to->warning);
        buf_add(&to->warning, line + word, len > word ? len - word : 0);
    } else if (begins(line, len, "running") && count == 2) {
        to->state = REPORT_RUNNING;
        to->run_s = span(n[0], n[1]);
    } else if (begins(line, len, "ended") && count == 3) {
        to->state = REPORT_ENDED;
        to->code = n[0] >= 0 && n[0] < 256 ? (int)n[0] : -1;
        to->run_s = span(n[1], n[2]);
    } else if (begins(line, len, "record") && count == 1) {
        return piece(r, n[0], &to->records);
    } else if (begins(line, len, "log") && count == 1) {
        return piece(r, n[0], &to->words);
    } else if (begins(line, len, "end")) {
        *whole = true;
    } else {
        return false;
    }
    return true;
}

int reply_read(const char *text, size_t len, const char *key, struct task_report *report,
               struct err *err)
{
    struct reply_reading r = {.at = text, .end = text + len};
    bool whole = false, good = true;
    const char *line;
    size_t line_len;
    snprintf(r.prefix, sizeof r.prefix, "%s%s ", REPLY, key);
    report->state = REPORT_UNKNOWN;
    report->code = -1;
    report->run_s = report->queue_s = -1;
    while (good && !whole && (line = reply_line(&r, &line_len)) != NULL)
        good = read_reply_line(&r, line, line_len, report, &whole);
    if (!whole || !good || report->state == REPORT_UNKNOWN) { // or no line said how far it is
        report->state = REPORT_UNKNOWN;
        buf_reset(&report->records);
        buf_reset(&report->warning);
    }
    TRY(buf_check(&report->records, err));
    TRY(buf_check(&report->warning, err));
    return buf_check(&report->words, err);
}

int script_write(const char *folder, const char *name, const struct buf *text, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0};
    buf_printf(&path, "%s/%s", folder, name);
    TRY(buf_check(text, err));
    TRY(buf_check(&path, err));
    return fs_write(buf_str(&path), buf_str(text), text->len, err);
}
