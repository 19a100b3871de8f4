// SPDX-License-Identifier: Apache-2.0
// Loading libcurl touches some 7 MiB of two TLS libraries, most of it once.
#include "base/resident.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE (1 << 20) // bytes

void resident_keep_little(void)
{
    mallopt(M_MMAP_THRESHOLD, LARGE);
    mallopt(M_TRIM_THRESHOLD, LARGE);
    mallopt(M_ARENA_MAX, 1);
}

// A range of /proc/self/smaps: its first line, then "Name: value" lines.
struct range {
    uintptr_t from, until;
    bool file; // mapped from a file, and not writable
};

static bool read_range(const char *line, struct range *range)
{
    char rights[5];
    uint64_t inode;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %" SCNu64, &range->from, &range->until,
               rights, &inode) != 4)
        return false;
    range->file = inode != 0 && rights[1] != 'w' && rights[3] == 'p';
    return true;
}

void resident_trim(void)
{
    char line[1024];
    struct range range = {0};
    malloc_trim(0);
    FILE *smaps = fopen("/proc/self/smaps", "re");
    while (smaps && fgets(line, sizeof line, smaps)) {
        uint64_t kib;
        // A page that the loader has changed counts as anonymous: dropping it would undo the
        // change.
        if (sscanf(line, "Anonymous: %" SCNu64, &kib) == 1) {
            if (range.file && kib == 0)
                (void)!madvise((void *)range.from, range.until - range.from, MADV_DONTNEED);
            range.file = false;
        } else if (!read_range(line, &range)) {
            continue;
        }
    }
    if (smaps)
        fclose(smaps);
}

void resident_trim_above(size_t bytes)
{
    size_t pages = 0;
    FILE *statm = fopen("/proc/self/statm", "re");
    bool known = statm && fscanf(statm, "%*u %zu", &pages) == 1;
    if (statm)
        fclose(statm);
    if (!known || pages > bytes / (size_t)sysconf(_SC_PAGESIZE))
        resident_trim();
}
