// SPDX-License-Identifier: Apache-2.0
#include "ledger/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "ledger/inside.h"
#include "ledger/ledger.h"

enum { RECORD_MAX = 64 << 20 };

struct journal {
    char *lock, *part, *temporary; // paths
    int fd;                        // of the lock
    bool threaded;
    pthread_t thread;

    pthread_mutex_t mutex; // guards the rest
    pthread_cond_t wake;
    struct buf next; // to be written
    bool end;        // the thread is to end
    struct err failed;
};

// ---- the lock

// Locks the file and checks that it still has its name: spool_adopt() removes unheld locks.
static int take_lock(const char *path, int *out, struct err *err)
{
    for (;;) {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        struct stat here, there;
        if (fd < 0)
            return err_errno(err, errno, "cannot create '%s'", path);
        if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
            int rc = err_errno(err, errno, "cannot lock '%s'", path);
            close(fd);
            return rc;
        }
        if (fstat(fd, &here) == 0 && stat(path, &there) == 0 && here.st_ino == there.st_ino) {
            *out = fd;
            return 0;
        }
        close(fd);
    }
}

static char *path_of(const char *dir, const char *id, const char *end, struct err *err)
{
    struct buf path = {0};
    buf_printf(&path, "%s/%s%s", dir, id, end);
    return buf_take(&path, err);
}

static void free_paths(struct journal *j)
{
    free(j->lock);
    free(j->part);
    free(j->temporary);
    j->lock = j->part = j->temporary = NULL;
}

static int open_in(struct journal *j, const char *dir, const char *id, struct err *err)
{
    j->lock = path_of(dir, id, ".lock", err);
    j->part = path_of(dir, id, ".part", err);
    j->temporary = path_of(dir, id, ".tmp", err);
    int rc = j->lock && j->part && j->temporary ? take_lock(j->lock, &j->fd, err) : ERR_MEMORY;
    if (rc != 0)
        free_paths(j);
    return rc;
}

int journal_open(struct journal **out, const struct ledger *ledger, const char *id, struct err *err)
{
    struct journal *j = *out = calloc(1, sizeof *j);
    if (!j)
        return err_memory(err);
    struct err first = {0};
    int rc = ERR_FAIL;
    for (int i = 0; i < PLACE_SPOOLS && rc != 0; i++) {
        struct err why = {0};
        rc = spool_folder(&ledger->place, i, &why);
        if (rc == 0)
            rc = open_in(j, ledger->place.spools[i], id, &why);
        if (i == 0)
            first = why;
    }
    if (rc != 0) {
        free(j);
        *out = NULL;
        return err_pass(err, first.code, &first);
    }
    pthread_mutex_init(&j->mutex, NULL);
    pthread_cond_init(&j->wake, NULL);
    return 0;
}

// ---- writing

// Writes to a temporary name first: a kill leaves either the old record or the new one.
static int write_part(const struct journal *j, const struct buf *text, struct err *err)
{
    int fd = open(j->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_errno(err, errno, "cannot create '%s'", j->temporary);
    int rc = fs_write_fd(fd, buf_str(text), text->len, j->temporary, err);
    if (rc == 0 && fsync(fd) != 0)
        rc = err_errno(err, errno, "cannot write '%s'", j->temporary);
    if (close(fd) != 0 && rc == 0)
        rc = err_errno(err, errno, "cannot write '%s'", j->temporary);
    if (rc == 0 && rename(j->temporary, j->part) != 0)
        rc = err_errno(err, errno, "cannot rename '%s'", j->temporary);
    if (rc != 0)
        unlink(j->temporary);
    return rc;
}

static void *writer(void *arg)
{
    struct journal *j = arg;
    pthread_mutex_lock(&j->mutex);
    for (;;) {
        while (!j->end && j->next.len == 0)
            pthread_cond_wait(&j->wake, &j->mutex);
        if (j->next.len == 0)
            break;
        struct buf text = j->next;
        struct err why = {0};
        j->next = (struct buf){0};
        pthread_mutex_unlock(&j->mutex);
        int rc = write_part(j, &text, &why);
        buf_release(&text);
        pthread_mutex_lock(&j->mutex);
        if (rc != 0 && j->failed.code == 0)
            j->failed = why;
    }
    pthread_mutex_unlock(&j->mutex);
    return NULL;
}

static bool start_writer(struct journal *j)
{
    sigset_t all, before;
    sigfillset(&all); // the main thread handles signals
    pthread_sigmask(SIG_SETMASK, &all, &before);
    j->end = false;
    int rc = pthread_create(&j->thread, NULL, writer, j);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0 && j->failed.code == 0)
        err_errno(&j->failed, rc, "cannot start a thread");
    return rc == 0;
}

void journal_put(struct journal *j, struct buf *text)
{
    if (!j->threaded)
        j->threaded = start_writer(j);
    if (j->threaded) {
        pthread_mutex_lock(&j->mutex);
        buf_release(&j->next);
        j->next = *text;
        *text = (struct buf){0};
        pthread_cond_signal(&j->wake);
        pthread_mutex_unlock(&j->mutex);
    }
    buf_release(text);
}

void journal_rest(struct journal *j)
{
    if (!j || !j->threaded)
        return;
    pthread_mutex_lock(&j->mutex);
    j->end = true;
    pthread_cond_signal(&j->wake);
    pthread_mutex_unlock(&j->mutex);
    pthread_join(j->thread, NULL);
    j->threaded = false;
}

int journal_read(const struct journal *j, struct buf *text, struct err *err)
{
    return fs_read(j->part, RECORD_MAX, text, err);
}

void journal_close(struct journal *j, bool leave, struct buf *says)
{
    if (!j)
        return;
    journal_rest(j);
    if (j->failed.code != 0)
        buf_printf(says, "the run's progress could not be saved in case it is killed: %s\n",
                   j->failed.text);
    if (!leave) {
        unlink(j->temporary);
        unlink(j->part);
        unlink(j->lock); // last: spool_adopt() finds the others through it
    }
    close(j->fd);
    free_paths(j);
    buf_release(&j->next);
    pthread_cond_destroy(&j->wake);
    pthread_mutex_destroy(&j->mutex);
    free(j);
}
