// SPDX-License-Identifier: Apache-2.0
// ssh: hosts, through OpenSSH's own client: its configuration, agent, keys and known hosts decide.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "fleet/host.h"
#include "base/shell.h"

enum { HOSTS_BYTES_MOST = 16 << 20 };

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

// [USER@]HOST of characters that names and addresses have, and no dash first: ssh would take that
// for an option.
static bool fits(const char *host)
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
    if (!fits(host)) {
        err_set(err, ERR_USAGE, "'%.100s' is not the name of a host", host);
        return err_hint(err, "USER@HOST, an address, or a name of your ~/.ssh/config, which is "
                             "the place for ports and keys");
    }
    return places_add(places, &target_ssh, host, offer, err) ? 0 : ERR_MEMORY;
}

static int add_word(char *word, struct places *places, struct err *err)
{
    char *offer = strchr(word, '=');
    if (offer)
        *offer++ = '\0';
    return add_host(word, offer, places, err);
}

// A line: HOST [OFFER] [# ...].
static int add_line(char *line, struct places *places, struct err *err)
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
    return offer ? add_host(host, offer, places, err) : add_word(host, places, err);
}

static int add_file(const char *path, struct places *places, struct err *err)
{
    struct buf text = {0};
    size_t before = places->count, number = 0;
    int rc = fs_read(path, HOSTS_BYTES_MOST, &text, err);
    if (rc == 0 && strlen(buf_str(&text)) != text.len)
        rc = err_set(err, ERR_USAGE, "'%s' is not text", path);
    char *at = rc == 0 && text.len > 0 ? text.data : NULL;
    if (at && strncmp(at, "\xef\xbb\xbf", 3) == 0) // some editors mark UTF-8
        at += 3;
    while (at && rc == 0) {
        char *newline = strchr(at, '\n');
        if (newline)
            *newline = '\0';
        number++;
        rc = add_line(at, places, err);
        if (rc != 0)
            err_context(err, "%s:%zu", path, number);
        at = newline ? newline + 1 : NULL;
    }
    if (rc == 0 && places->count == before)
        rc = err_set(err, ERR_USAGE, "'%s' names no host", path);
    buf_release(&text);
    return rc;
}

static int parse(const char *value, struct places *places, struct err *err)
{
    if (!value || !*value) {
        err_set(err, ERR_USAGE, "--on ssh needs a host");
        return err_hint(err, "ssh:USER@HOST, or ssh:@FILE with one on each line");
    }
    if (*value == '@')
        return add_file(value + 1, places, err);
    char *copy = text_copy(value, err), *at = copy;
    int rc = copy ? 0 : ERR_MEMORY;
    while (rc == 0 && at) {
        char *comma = strchr(at, ',');
        if (comma)
            *comma = '\0';
        rc = add_word(at, places, err);
        at = comma ? comma + 1 : NULL;
    }
    free(copy);
    return rc;
}

// Its own settings win over the user's where a connection is shared by a program, not a person:
// nobody is there to be asked, and a dead one has to be noticed. Host keys are checked as ever.
static int prepare(const struct fleet *fleet, struct place *place, enum verb verb,
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
    struct buf command = {0};
    const char *program = getenv("FARE_SSH");
    char **words = program && *program ? shell_split(program) : NULL;
    int rc = host_prepare(fleet, verb, place, chosen, false, call, err);
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
    buf_release(&command);
    free(words);
    return rc;
}

// Whether trying again cannot help: the user has to do something first.
static bool hopeless(const char *says)
{
    static const char *const words[] = {
        "Permission denied",          "Host key verification failed", "Bad configuration option",
        "Name or service not known",  "hostname contains invalid",    "Too many authentication",
        "Could not resolve hostname",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(says, words[i]) && !strstr(says, "Temporary failure"))
            return true;
    return false;
}

static int read_answer(const struct fleet *fleet, struct place *place, enum verb verb,
                       const struct chosen *chosen, const struct call_result *result,
                       struct task_report *reports, struct err *err)
{
    if (result->timed_out || !result->exited || result->exit_code == 255) {
        struct buf words = {0};
        bool never = !result->timed_out && hopeless(buf_str(&result->err_text));
        call_words(result, &words);
        int code = result->timed_out ? ERR_TIMEOUT : never ? ERR_FAIL : ERR_IO;
        err_set(err, code, "%.400s", buf_str(&words));
        buf_release(&words);
        return code;
    }
    return host_read(fleet, verb, place, chosen, result, reports, err);
}

static void by_hand(const struct fleet *fleet, const struct place *place, const struct task *task,
                    struct buf *out)
{
    (void)task;
    buf_printf(out, "fare runs cancel %s, once %s answers", fleet->dispatch->id, place->value);
}

const struct target target_ssh = {
    .name = "ssh",
    .value = "[USER@]HOST[=OFFER]",
    .about = "a host, by OpenSSH's client; ssh:@FILE names many, one on each line",
    .parse = parse,
    .prepare = prepare,
    .read = read_answer,
    .look_waits = true,
    .by_hand = by_hand,
};
