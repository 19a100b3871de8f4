// SPDX-License-Identifier: Apache-2.0
#include "follow/trace/exchanges.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "follow/trace/worker.h"

#define LIBRARY "libfare-exchanges.so"
#define PRELOAD "LD_PRELOAD"
#define TRIES   10 // while it is written

struct exchanges {
    struct scratch folder;
    struct buf folder_entry, library_entry;
    char *environment[3];
    int files[EXCHANGES_MOST]; // those open so far
    struct exchanges_one last[EXCHANGES_MOST];
    int count;
};

// ---- start and end

static bool make_folder(struct exchanges *c, struct err *err)
{
    const char *tmp = getenv("TMPDIR");
    const char *const places[] = {"/dev/shm", tmp && *tmp == '/' ? tmp : "/tmp", "/tmp"};
    int rc = 1;
    for (size_t i = 0; i < sizeof places / sizeof *places && rc != 0; i++) {
        struct err why = {0};
        rc = scratch_make(&c->folder, places[i], &why);
        if (rc == ERR_MEMORY)
            err_memory(err);
    }
    return rc == 0;
}

// Behind what the user loads. Paths with a space or a colon cannot be in that list.
static void set_library(struct exchanges *c, const char *path)
{
    const char *before = getenv(PRELOAD);
    if (access(path, R_OK) != 0 || strpbrk(path, " :"))
        return;
    buf_printf(&c->folder_entry, EXCHANGES_FOLDER "=%s", c->folder.path);
    buf_printf(&c->library_entry, PRELOAD "=%s%s%s", before ? before : "",
               before && *before ? ":" : "", path);
    c->environment[0] = c->folder_entry.data;
    c->environment[1] = c->library_entry.data;
}

int exchanges_new(struct exchanges **calls, const char *library, struct err *err)
{
    struct exchanges *c = *calls = calloc(1, sizeof *c);
    SCOPED(buf_release) struct buf path = {0};
    struct err why = {0};
    if (!c)
        return err_memory(err);
    if (library)
        buf_adds(&path, library);
    else if (fs_program_dir(&path, &why) == 0)
        buf_adds(&path, "/" LIBRARY);
    if (path.len > 0 && make_folder(c, &why))
        set_library(c, buf_str(&path));
    bool failed =
        why.code == ERR_MEMORY || path.failed || c->folder_entry.failed || c->library_entry.failed;
    if (!failed)
        return 0;
    exchanges_free(c);
    *calls = NULL;
    return err_memory(err);
}

void exchanges_free(struct exchanges *c)
{
    if (!c)
        return;
    for (int i = 0; i < c->count; i++)
        close(c->files[i]);
    scratch_remove(&c->folder);
    buf_release(&c->folder_entry);
    buf_release(&c->library_entry);
    free(c);
}

char *const *exchanges_environment(const struct exchanges *c)
{
    return c->environment;
}

// ---- reading

static bool get(int fd, struct exchanges_file *to)
{
    return pread(fd, to, sizeof *to, 0) == (ssize_t)sizeof *to && to->magic == EXCHANGES_MAGIC &&
           to->version == sizeof *to;
}

static void open_files(struct exchanges *c)
{
    while (c->folder.path && c->count < EXCHANGES_MOST) {
        char path[4096];
        struct stat st;
        struct exchanges_file content;
        int n = snprintf(path, sizeof path, "%s/%d.exchanges", c->folder.path, c->count);
        int fd = n > 0 && (size_t)n < sizeof path
                     ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
                     : -1;
        if (fd < 0)
            return;
        if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || !get(fd, &content)) {
            close(fd); // not complete yet, or not ours
            return;
        }
        c->files[c->count] = fd;
        c->last[c->count++] = (struct exchanges_one){.rank = -1, .size = -1};
    }
}

static int64_t so_far(uint64_t sum, uint64_t since, int64_t now)
{
    return (int64_t)sum + (since > 0 && since <= (uint64_t)now ? now - (int64_t)since : 0);
}

// Times only grow, and no faster than the clock.
static bool is_possible(const struct exchanges_one *one, const struct exchanges_one *last)
{
    int64_t passed = one->at_ns - last->at_ns;
    return one->open_ns >= last->open_ns && one->all_ns >= last->all_ns &&
           one->open_ns <= one->all_ns &&
           (last->at_ns == 0 || one->all_ns - last->all_ns <= passed);
}

bool exchanges_judge(const struct exchanges_file *file, int64_t now, struct exchanges_one *last)
{
    if (file->open_ns > (uint64_t)now || file->all_ns > (uint64_t)now)
        return false;
    bool placed = file->size > 0 && file->size <= WORKER_SIZE_MOST && file->rank >= 0 &&
                  file->rank < file->size;
    struct exchanges_one one = {.pid = (int)file->pid,
                                .rank = placed ? file->rank : -1,
                                .size = placed ? file->size : -1,
                                .by = file->by & (EXCHANGES_MPI | EXCHANGES_GLOO),
                                .at_ns = now,
                                .open_ns = so_far(file->open_ns, file->open_since_ns, now),
                                .all_ns = so_far(file->all_ns, file->all_since_ns, now),
                                .hidden = file->other > 0 && file->waits == 0};
    if (!is_possible(&one, last))
        return false;
    *last = one;
    return true;
}

static bool read_one(int fd, struct exchanges_one *last)
{
    struct exchanges_file first, again;
    for (int i = 0; i < TRIES; i++) {
        int64_t now = clock_now_ns();
        if (get(fd, &first) && get(fd, &again) && first.turn == again.turn && first.turn % 2 == 0)
            return exchanges_judge(&first, now, last);
    }
    return last->at_ns > 0; // as it was
}

int exchanges_read(struct exchanges *c, struct exchanges_one *list)
{
    int count = 0;
    open_files(c);
    for (int i = 0; i < c->count; i++)
        if (read_one(c->files[i], &c->last[i]))
            list[count++] = c->last[i];
    return count;
}
