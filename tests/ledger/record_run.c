// SPDX-License-Identifier: Apache-2.0
// Records runs as `fare run` does: record_run COUNT NAME [LEDGER]. For each it prints "safe ID"
// once the ledger says so, or "lost ID: why"; warnings go to stderr. What it promised, the tests
// hold it to. With RECORD_RUN_WAIT it reads a line from stdin before each.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "ledger/ledger.h"

static int fill(struct run *run, const char *name, struct err *err)
{
    double plot[200];
    for (int i = 0; i < 200; i++)
        plot[i] = 1.5 + i * 0.25;
    int rc = run_begin_record(run, clock_date_s(), err);
    if (rc == 0)
        rc = text_set(&run->name, name, err);
    if (rc == 0)
        rc = text_set(&run->workload, "mlp", err);
    if (rc == 0)
        rc = reals_set(&run->step_plot_ms, plot, 200, err);
    struct run_label *label = rc == 0 ? LIST_ADD(&run->labels, err) : NULL;
    if (!label)
        return ERR_MEMORY;
    rc = text_set(&label->key, "test", err);
    return rc == 0 ? text_set(&label->value, name, err) : rc;
}

static void say(const char *word, const char *id, const char *why)
{
    char line[1024];
    int len = snprintf(line, sizeof line, "%s %s%s%s\n", word, id, *why ? ": " : "", why);
    if (write(STDOUT_FILENO, line, (size_t)len) != len) // at once: it may be killed next
        _exit(9);
}

int main(int argc, char **argv)
{
    struct err err = {0};
    struct ledger *ledger = NULL;
    char line[64];
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    if (argc < 3 || ledger_new(&ledger, argc > 3 ? argv[3] : NULL, &err) != 0) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    for (long i = strtol(argv[1], NULL, 10); i > 0; i--) {
        struct run run = {0};
        struct buf says = {0};
        struct err why = {0};
        if (getenv("RECORD_RUN_WAIT") && !fgets(line, sizeof line, stdin))
            return 3;
        if (fill(&run, argv[2], &why) != 0)
            return 3;
        if (ledger_record(ledger, &run, &says, &why) == 0)
            say("safe", run.id, "");
        else
            say("lost", run.id, why.text);
        fprintf(stderr, "%s", buf_str(&says));
        record_release(run_fields, &run);
        buf_release(&says);
    }
    ledger_free(ledger);
    return 0;
}
