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
} names[] = {{"TERM", SIGTERM}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"HUP", SIGHUP}};

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
        const char *name = strncmp(colon + 1, "SIG", 3) == 0 ? colon + 4 : colon + 1;
        size_t len = strcspn(name, "@");
        *number = 0;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strlen(names[i].name) == len && strncmp(names[i].name, name, len) == 0)
                *number = names[i].number;
        if (*number == 0)
            return err_set(err, ERR_USAGE,
                           "--notice '%s': the signal is one of TERM, USR1, USR2, HUP", word);
    }
    if (at && (!clock_parse_duration(at + 1, lead_ns) || *lead_ns <= 0))
        return err_set(err, ERR_USAGE,
                       "--notice '%s': expected a time behind @, such as signal:USR1@120", word);
    return 0;
}

const struct notice_source notice_signal = {.name = "signal"};
