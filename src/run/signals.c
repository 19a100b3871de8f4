// SPDX-License-Identifier: Apache-2.0
#include "run/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

static const int taken[] = {SIGINT,  SIGTERM,  SIGHUP,  SIGQUIT, SIGUSR1,
                            SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT};
enum { TAKEN = sizeof taken / sizeof *taken, WITHOUT_STOPS = TAKEN - 2 };

static int ends[2] = {-1, -1};
static struct sigaction before[TAKEN];
static bool installed[TAKEN], held[TAKEN];
static volatile sig_atomic_t came; // while held

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    int saved = errno;
    unsigned char two[2] = {(unsigned char)number, info && info->si_code == SI_KERNEL};
    ssize_t ignored = write(ends[1], two, sizeof two); // a full pipe holds enough signals
    (void)ignored;
    errno = saved;
}

int signals_begin(bool stops, sigset_t *mask, struct err *err)
{
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return err_errno(err, errno, "cannot make a pipe");
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, mask);
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigfillset(&action.sa_mask);
    for (int i = 0; i < (stops ? TAKEN : WITHOUT_STOPS); i++) {
        installed[i] = sigaction(taken[i], NULL, &before[i]) == 0 &&
                       before[i].sa_handler != SIG_IGN && sigaction(taken[i], &action, NULL) == 0;
    }
    return 0;
}

void signals_unblock(const sigset_t *mask)
{
    pthread_sigmask(SIG_SETMASK, mask, NULL);
}

static void on_held(int number)
{
    came = number;
}

void signals_end(bool hold)
{
    // A handler: what is ignored would be ignored by programs that start later, too.
    struct sigaction action = {.sa_handler = on_held, .sa_flags = SA_RESTART};
    sigfillset(&action.sa_mask);
    came = 0;
    for (int i = 0; i < TAKEN; i++) {
        int number = taken[i];
        held[i] = hold && installed[i] &&
                  (number == SIGTERM || number == SIGHUP || number == SIGUSR1 || number == SIGUSR2);
        if (installed[i])
            sigaction(number, held[i] ? &action : &before[i], NULL);
        installed[i] = false;
    }
    for (int i = 0; i < 2; i++) {
        if (ends[i] >= 0)
            close(ends[i]);
        ends[i] = -1;
    }
}

void signals_release(void)
{
    for (int i = 0; i < TAKEN; i++) {
        if (held[i])
            sigaction(taken[i], &before[i], NULL);
        held[i] = false;
    }
    if (came)
        raise(came);
    came = 0;
}

int signals_fd(void)
{
    return ends[0];
}

bool signals_next(struct signals_one *one)
{
    unsigned char two[2];
    ssize_t got;
    while ((got = read(ends[0], two, sizeof two)) < 0 && errno == EINTR)
        ;
    if (got != (ssize_t)sizeof two)
        return false;
    *one = (struct signals_one){two[0], two[1]};
    return true;
}
