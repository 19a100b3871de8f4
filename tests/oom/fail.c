// SPDX-License-Identifier: Apache-2.0
// Makes allocations of the real program fail, one at a time. Linked into build/tests/oom/fare with
// --wrap for malloc and its like; test_oom.py steers it through the file that FARE_OOM names, which
// all processes of a case share. It needs frame pointers, which the sanitized build has.
//
// A place is the callers of an allocation, `depth` of them, within the program; each place fails
// once (or, with `turns` 2, once at its first and once at its second use in a process). At a new
// place FORK forks a child in which it fails, and goes on itself: a command runs once for all its
// places. A process with threads cannot be forked, nor can one that writes files: ONE fails the
// first new place and nothing else.
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OFF, FORK, ONE, NTH };
enum { PLACES = 1 << 18 };

static struct control {
    _Atomic int64_t mode, left; // left: allocations until the one that fails, with NTH
    _Atomic int64_t failed, calls;
    int64_t depth, turns;
    _Atomic int64_t skew_ns; // added to the clock, so that nothing kept stays fresh
    _Atomic int64_t run;     // raised when uses are to be counted anew
    int64_t share;           // of the places, one in so many fails
    _Atomic int64_t skipped; // by FORK, as there were threads
    _Atomic uint64_t places[PLACES];
} * control;

static struct {
    uint64_t place;
    int64_t run, times;
} uses[1 << 16];

static const char *folder; // for what children print
static int out_fd = -1;    // stdout, if it is a file, whatever the program does with it
static bool is_child;      // it had its failure
static _Thread_local bool inside;

extern char __executable_start[], etext[];

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int64_t __real_clock_now_ns(void);

static void copy_out(int to)
{
    char bytes[65536];
    ssize_t len;
    for (off_t at = 0; (len = pread(out_fd, bytes, sizeof bytes, at)) > 0; at += len)
        if (write(to, bytes, (size_t)len) != len)
            abort();
}

static int open_for(const char *ending, long number)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%ld.%s", folder, number, ending);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        abort();
    return fd;
}

__attribute__((constructor)) static void begin(void)
{
    const char *file = getenv("FARE_OOM");
    folder = getenv("FARE_OOM_OUT");
    int fd = file ? open(file, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *at = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (at == MAP_FAILED)
        abort();
    if (lseek(STDOUT_FILENO, 0, SEEK_CUR) >= 0)
        out_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 700);
    unsetenv("FARE_OOM"); // a fare that this one starts, perhaps elsewhere, has memory
    control = at;
}

// What the whole program printed, for its children to be compared with.
__attribute__((destructor)) static void end(void)
{
    if (!control || control->mode != FORK || out_fd < 0 || is_child)
        return;
    fflush(stdout);
    int fd = open_for("whole", getpid());
    copy_out(fd);
    close(fd);
}

// Inlined, with what calls it, into fails(): the first return address is in the wrapper.
#define INLINE static inline __attribute__((always_inline))
INLINE uint64_t callers(void)
{
    uint64_t hash = 14695981039346656037u;
    void *const *frame = __builtin_frame_address(0);
    for (int64_t i = 0; i < control->depth + 1; i++) {
        void *const *next = frame[0];
        if ((char *)frame[1] < __executable_start || (char *)frame[1] >= etext)
            break; // a library's, without a frame pointer
        if (i >= 1)
            hash = (hash ^ (uint64_t)((char *)frame[1] - __executable_start)) * 1099511628211u;
        if (next <= frame)
            break;
        frame = next;
    }
    hash ^= hash >> 29;
    return hash ? hash : 1;
}

// The place with the number of its use in this run; 0: it was used often enough.
INLINE uint64_t place_now(void)
{
    uint64_t place = callers();
    if (control->turns < 2)
        return place;
    size_t at = place % (sizeof uses / sizeof *uses);
    if (uses[at].place != place || uses[at].run != control->run) {
        uses[at].place = place;
        uses[at].run = control->run;
        uses[at].times = 0;
    }
    return ++uses[at].times > control->turns ? 0 : place * 31 + (uint64_t)uses[at].times;
}

// Whether the place is new; if so, it is not any more.
static bool is_new(uint64_t place)
{
    for (size_t at = place % PLACES, tried = 0; tried < PLACES; at = (at + 1) % PLACES, tried++) {
        uint64_t there = 0;
        if (atomic_compare_exchange_strong(&control->places[at], &there, place))
            return true;
        if (there == place)
            return false;
    }
    abort();
}

static bool is_alone(void)
{
    char bytes[2048];
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? 0 : read(fd, bytes, sizeof bytes - 1);
    close(fd);
    bytes[len > 0 ? len : 0] = '\0';
    char *p = strrchr(bytes, ')');
    for (int field = 2; p && field < 20; field++)
        p = strchr(p + 1, ' ');
    return p && strtol(p, NULL, 10) == 1; // field 20: threads
}

// The callers as offsets in the program, behind the failure's number.
INLINE void write_place(long number)
{
    const char *file = getenv("FARE_OOM_PLACES");
    char line[400];
    int len = 0, fd = file ? open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    void *const *frame = __builtin_frame_address(0);
    for (int i = 0; fd >= 0 && i < 10; i++, frame = frame[0]) {
        if ((char *)frame[1] < __executable_start || (char *)frame[1] >= etext)
            break;
        if (i >= 1)
            len += snprintf(line + len, sizeof line - (size_t)len, "%zx ",
                            (size_t)((char *)frame[1] - __executable_start));
        if ((void *const *)frame[0] <= frame)
            break;
    }
    if (fd >= 0 && dprintf(fd, "%ld %.*s\n", number, len, line) < 0)
        abort();
    close(fd);
}

// True in the child.
static bool forks(long number)
{
    pid_t child = fork();
    if (child < 0)
        abort();
    if (child == 0) {
        int out = open_for("out", number), err = open_for("err", number);
        if (out_fd >= 0)
            copy_out(out);
        dup2(out, STDOUT_FILENO);
        dup2(err, STDERR_FILENO);
        return is_child = true;
    }
    int status = 0;
    waitpid(child, &status, 0);
    int fd = open_for("end", number);
    dprintf(fd, "%d %d\n", status, getpid());
    close(fd);
    return false;
}

__attribute__((noinline)) static bool fails(void)
{
    if (!control || inside || is_child)
        return false;
    control->calls++;
    int64_t mode = control->mode;
    if (mode == OFF)
        return false;
    if (mode == NTH) {
        bool now = control->left-- == 1;
        control->failed += now;
        return now;
    }
    inside = true;
    uint64_t place = place_now();
    bool alone = mode == ONE || is_alone(), hit = false;
    control->skipped += !alone;
    if (!place || !alone || place % (uint64_t)control->share != 0 || !is_new(place)) {
        // it works
    } else if (mode == FORK || atomic_compare_exchange_strong(&control->mode, &mode, OFF)) {
        long number = (long)++control->failed;
        write_place(number);
        hit = mode == ONE || forks(number);
    }
    inside = false;
    return hit;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : __real_aligned_alloc(alignment, size);
}

char *__wrap_strndup(const char *text, size_t len)
{
    size_t have = strnlen(text, len);
    char *copy = fails() ? NULL : __real_malloc(have + 1);
    if (copy) {
        memcpy(copy, text, have);
        copy[have] = '\0';
    }
    return copy;
}

char *__wrap_strdup(const char *text)
{
    return __wrap_strndup(text, strlen(text));
}

int64_t __wrap_clock_now_ns(void)
{
    return __real_clock_now_ns() + (control ? control->skew_ns : 0);
}
