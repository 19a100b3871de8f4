// SPDX-License-Identifier: Apache-2.0
// A signal to fare: what RunPod, Slurm, Kubernetes and an orderly shutdown send before SIGKILL. The
// time between the two is the sender's own: 5 s on RunPod, 30 s by default in Slurm (KillWait) and
// Kubernetes (terminationGracePeriodSeconds). Nothing is asked: the runner's handler reports it.
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "guard/notice_source.h"

static const struct {
    const char *name;
    int number;
} names[] = {
    {"TERM", SIGTERM}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"HUP", SIGHUP}, {"INT", SIGINT}};

int notice_signal_named(const char *name, size_t len)
{
    size_t skip = len > 3 && strncmp(name, "SIG", 3) == 0 ? 3 : 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i].name) == len - skip &&
            strncmp(names[i].name, name + skip, len - skip) == 0)
            return names[i].number;
    return 0;
}

static int64_t usual_lead(void)
{
    return (getenv("RUNPOD_POD_ID") ? 5 : 30) * NS_PER_S;
}

int notice_signal_read(const char *word, int *number, int64_t *lead_ns, struct err *err)
{
    const char *at = strchr(word, '@'), *colon = strchr(word, ':');
    *number = SIGTERM;
    *lead_ns = usual_lead();
    if (colon && (!at || colon < at)) {
        *number = notice_signal_named(colon + 1, strcspn(colon + 1, "@"));
        if (*number == 0)
            return err_set(err, ERR_USAGE,
                           "--notice '%s': the signal is one of TERM, USR1, USR2, HUP, INT", word);
    }
    if (at && (!clock_parse_duration(at + 1, lead_ns) || *lead_ns <= 0))
        return err_set(err, ERR_USAGE,
                       "--notice '%s': expected a time behind @, such as signal:USR1@120", word);
    return 0;
}

const struct notice_source notice_signal = {.name = "signal"};
