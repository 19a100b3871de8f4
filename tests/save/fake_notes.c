// SPDX-License-Identifier: Apache-2.0
// Notes what fare does with checkpoints and when, preloaded into fare (not into the job that it
// runs); rehearsal_log.py reads them:
//     FAKE_NOTES=FILE  FAKE_NOTES_OF=WORD, the first of each line
// Lines are WORD THREAD SECONDS (as Python's time.monotonic()) and one of
//     look                  at the folder for checkpoints, "out", by the thread that saves
//     began NAME STEP       the manifest of a save is in the store
//     confirmed NAME        its marker is
//     base EPOCH            what the epoch begins from is
//     beat                  the lease was renewed
//     pause SECONDS, woke   of a thread that looks
//     turn                  of the loop in which the main thread watches over the job
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static _Thread_local bool looks;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
    char line[600];
    const char *file = getenv("FAKE_NOTES"), *of = getenv("FAKE_NOTES_OF");
    int error = errno;
    va_list words;
    if (!file || !of || strncmp(program_invocation_short_name, "fare", 4) != 0)
        return;
    int len = snprintf(line, 200, "%.100s %d %.6f ", of, (int)gettid(), now());
    va_start(words, format);
    len += vsnprintf(line + len, sizeof line - 200, format, words);
    va_end(words);
    int fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, line, (size_t)len) != len)
        abort(); // a rehearsal without its log proves nothing
    close(fd);
    errno = error;
}

// "…/saves/NAME/manifest": the part from NAME on.
static const char *name_in(const char *path, const char *below, const char *last)
{
    const char *at = strstr(path, below), *slash = strrchr(path, '/');
    return at && slash && strcmp(slash + 1, last) == 0 ? at + strlen(below) : NULL;
}

static long step_of(const char *path)
{
    char text[4096] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? 0 : pread(fd, text, sizeof text - 1, 0);
    const char *step = strstr(text, "\"step\":");
    if (fd >= 0)
        close(fd);
    return len > 0 && step ? strtol(step + strlen("\"step\":"), NULL, 10) : -1;
}

int rename(const char *from, const char *to)
{
    const char *began = name_in(to, "/saves/", "manifest");
    const char *confirmed = name_in(to, "/saves/", "complete");
    const char *base = name_in(to, "/lease/", "base"), *beat = strstr(to, "/beat.");
    long step = began ? step_of(from) : -1;
    int rc = REAL(rename)(from, to);
    if (rc == 0 && began)
        note("began %.*s %ld\n", (int)strcspn(began, "/"), began, step);
    if (rc == 0 && confirmed)
        note("confirmed %.*s\n", (int)strcspn(confirmed, "/"), confirmed);
    if (rc == 0 && base)
        note("base %ld\n", strtol(base, NULL, 10));
    if (rc == 0 && beat && strstr(to, "/lease/"))
        note("beat\n");
    return rc;
}

DIR *opendir(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (strcmp(slash ? slash + 1 : path, "out") == 0 && gettid() != getpid()) {
        looks = true;
        note("look\n");
    }
    return REAL(opendir)(path);
}

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until)
{
    if (looks)
        note("pause %.6f\n", (double)until->tv_sec + (double)until->tv_nsec / 1e9 - now());
    int rc = REAL(pthread_cond_timedwait)(condition, mutex, until);
    if (looks)
        note("woke\n");
    return rc;
}

int poll(struct pollfd *fds, nfds_t count, int ms)
{
    if (ms > 0 && gettid() == getpid())
        note("turn\n");
    return REAL(poll)(fds, count, ms);
}
