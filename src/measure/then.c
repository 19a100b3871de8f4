// SPDX-License-Identifier: Apache-2.0
#include "measure/then.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int start(char *const *argv, const struct run *run)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        if (run && run->ended)
            setenv("FARE_ENDED", run->ended, 1);
        if (run && run->id)
            setenv("FARE_RUN", run->id, 1);
        execvp(argv[0], argv);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int power_off(const struct run *run, struct err *err)
{
    static char stop_pod[] = "runpodctl stop pod \"$RUNPOD_POD_ID\"";
    static char sh[] = "sh", c[] = "-c", systemctl[] = "systemctl", poweroff[] = "poweroff",
                shutdown[] = "shutdown", halt[] = "-h", now[] = "now";
    char *const pod[] = {sh, c, stop_pod, NULL};
    char *const ways[][4] = {
        {systemctl, poweroff, NULL}, {shutdown, halt, now, NULL}, {poweroff, NULL}};
    bool done = getenv("RUNPOD_POD_ID") && start(pod, run) == 0;
    for (size_t i = 0; !done && i < sizeof ways / sizeof *ways; i++)
        done = start(ways[i], run) == 0;
    if (done)
        return 0;
    err_set(err, ERR_FAIL, "cannot turn the machine off: systemctl, shutdown and poweroff failed");
    return err_hint(err, "--then COMMAND can do it another way");
}

int then_run(const char *what, const struct run *run, struct err *err)
{
    if (strcmp(what, "poweroff") == 0)
        return power_off(run, err);
    static char sh[] = "sh", c[] = "-c";
    char *command = strdup(what);
    if (!command)
        return err_memory(err);
    char *const argv[] = {sh, c, command, NULL};
    int code = start(argv, run);
    free(command);
    return code == 0 ? 0
                     : err_set(err, ERR_FAIL, "--then: '%s' ended with exit code %d", what, code);
}
