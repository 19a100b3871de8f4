// SPDX-License-Identifier: Apache-2.0
// What is given back, and what must stay: pages that were changed.
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/proc.h"

#if defined(__has_feature)
#define SANITIZED __has_feature(address_sanitizer)
#else
#define SANITIZED 0
#endif
#define PIECE  2000
#define PIECES 20000

static long resident_kib(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_true(file && fscanf(file, "%*d %ld", &pages) == 1);
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE) / 1024;
}

TEST(free_memory)
{
    static char *pieces[PIECES];
    for (size_t i = 0; i < PIECES; i++) {
        pieces[i] = malloc(PIECE);
        assert_non_null(pieces[i]);
        memset(pieces[i], 1, PIECE);
    }
    long full = resident_kib();
    for (size_t i = 0; i + 1 < PIECES; i++) // the last one keeps the heap from shrinking by itself
        free(pieces[i]);
    resident_trim();
    if (!SANITIZED) // whose own allocator keeps it
        assert_true(resident_kib() < full - PIECE * PIECES / 1024 / 2);
    assert_int_equal(pieces[PIECES - 1][PIECE - 1], 1);
    free(pieces[PIECES - 1]);
}

// As the loader does it with constants: changed, then protected.
TEST(changed_pages)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    FILE *file = tmpfile();
    assert_non_null(file);
    for (size_t i = 0; i < 4 * page; i++)
        fputc('f', file);
    fflush(file);
    char *map = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, fileno(file), 0);
    assert_ptr_not_equal(map, MAP_FAILED);
    map[page] = 'c';
    assert_int_equal(mprotect(map, 4 * page, PROT_READ), 0);
    char *clean = mmap(NULL, 4 * page, PROT_READ, MAP_PRIVATE, fileno(file), 0);
    assert_ptr_not_equal(clean, MAP_FAILED);
    assert_int_equal(clean[0] + clean[3 * page], 'f' + 'f');
    resident_trim();
    assert_int_equal(map[page], 'c');
    assert_int_equal(map[0], 'f');
    assert_int_equal(clean[2 * page], 'f');
    munmap(map, 4 * page);
    munmap(clean, 4 * page);
    fclose(file);
}
