// SPDX-License-Identifier: Apache-2.0
// The version reader against the C library that runs this test, and against files made to harm.
#include "launch/elf.h"

#include <elf.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test.h"

#define LIB "/usr/lib/x86_64-linux-gnu/"

// A library of one segment, whose file is its memory: what a version script with two nodes
// makes, written by hand from the ELF specification and the GNU version extension.
struct tiny {
    Elf64_Ehdr head;
    Elf64_Phdr segments[2];
    Elf64_Dyn dynamic[6];
    struct {
        Elf64_Verdef def;
        Elf64_Verdaux aux;
    } versions[3];
    char strings[128];
};

static void make_tiny(struct tiny *t)
{
    static const char names[] = "\0libtiny.so\0GLIBC_2.2.5\0GLIBC_2.31\0libc.so.6";
    memset(t, 0, sizeof *t);
    memcpy(t->head.e_ident, ELFMAG, SELFMAG);
    t->head.e_ident[EI_CLASS] = ELFCLASS64;
    t->head.e_ident[EI_DATA] = ELFDATA2LSB;
    t->head.e_type = ET_DYN;
    t->head.e_machine = EM_X86_64;
    t->head.e_phoff = offsetof(struct tiny, segments);
    t->head.e_phentsize = sizeof(Elf64_Phdr);
    t->head.e_phnum = 2;
    t->segments[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_filesz = sizeof *t, .p_vaddr = 0x1000};
    t->segments[1] = (Elf64_Phdr){.p_type = PT_DYNAMIC,
                                  .p_offset = offsetof(struct tiny, dynamic),
                                  .p_filesz = sizeof t->dynamic};
    t->dynamic[0] = (Elf64_Dyn){DT_STRTAB, {0x1000 + offsetof(struct tiny, strings)}};
    t->dynamic[1] = (Elf64_Dyn){DT_STRSZ, {sizeof t->strings}};
    t->dynamic[2] = (Elf64_Dyn){DT_VERDEF, {0x1000 + offsetof(struct tiny, versions)}};
    t->dynamic[3] = (Elf64_Dyn){DT_VERDEFNUM, {3}};
    t->dynamic[4] = (Elf64_Dyn){DT_NEEDED, {35}}; // "libc.so.6"
    for (size_t i = 0; i < 3; i++) {
        t->versions[i].def.vd_version = VER_DEF_CURRENT;
        t->versions[i].def.vd_flags = i == 0 ? VER_FLG_BASE : 0;
        t->versions[i].def.vd_aux = sizeof(Elf64_Verdef);
        t->versions[i].def.vd_next = i < 2 ? sizeof t->versions[0] : 0;
    }
    t->versions[0].aux.vda_name = 1;
    t->versions[1].aux.vda_name = 12; // "GLIBC_2.2.5"
    t->versions[2].aux.vda_name = 24; // "GLIBC_2.31"
    memcpy(t->strings, names, sizeof names);
}

static uint32_t highest_of(const void *bytes, size_t len, const char *needs)
{
    int fd = memfd_create("elf", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, len), len);
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    uint32_t version = elf_highest(path, "GLIBC_", needs);
    close(fd);
    return version;
}

// The C library says its version itself.
TEST(test_libc)
{
    unsigned major, minor;
    assert_int_equal(sscanf(gnu_get_libc_version(), "%u.%u", &major, &minor), 2);
    assert_int_equal(elf_highest(LIB "libc.so.6", "GLIBC_", NULL), ELF_VERSION(major, minor, 0));
}

// GCC's table of ABI versions (gcc.gnu.org/onlinedocs/libstdc++/manual/abi.html): GCC 12.1 and
// later 12s define GLIBCXX_3.4.30. Debian 12's is GCC 12.
TEST(test_libstdcxx)
{
    uint32_t version = ELF_VERSION(3, 4, 30);
    assert_int_equal(elf_highest(LIB "libstdc++.so.6", "GLIBCXX_", NULL), version);
    assert_int_equal(elf_highest(LIB "libstdc++.so.6", "GLIBCXX_", "libc.so.6"), version);
    assert_int_equal(elf_highest(LIB "libstdc++.so.6", "GLIBCXX_", "libc.musl-x86_64.so.1"), 0);
    assert_int_equal(elf_highest(LIB "libstdc++.so.6", "GLIBC_", NULL), 0); // needed, not defined
}

TEST(test_order)
{
    assert_true(ELF_VERSION(2, 36, 0) > ELF_VERSION(2, 4, 0));
    assert_true(ELF_VERSION(2, 36, 0) > ELF_VERSION(2, 2, 5));
    assert_true(ELF_VERSION(3, 4, 30) > ELF_VERSION(3, 4, 9));
    assert_true(ELF_VERSION(3, 0, 0) > ELF_VERSION(2, 1023, 1023));
}

TEST(test_not_a_library)
{
    assert_int_equal(elf_highest("/nonexistent/libc.so.6", "GLIBC_", NULL), 0);
    assert_int_equal(elf_highest("/usr/lib", "GLIBC_", NULL), 0);
    assert_int_equal(elf_highest("/dev/null", "GLIBC_", NULL), 0);
    assert_int_equal(elf_highest("/proc/self/status", "GLIBC_", NULL), 0);
    assert_int_equal(elf_highest(LIB "libz.so.1", "GLIBC_", NULL), 0); // defines ZLIB_… only
}

TEST(test_tiny)
{
    struct tiny t;
    make_tiny(&t);
    assert_int_equal(highest_of(&t, sizeof t, NULL), ELF_VERSION(2, 31, 0));
    assert_int_equal(highest_of(&t, sizeof t, "libc.so.6"), ELF_VERSION(2, 31, 0));
    assert_int_equal(highest_of(&t, sizeof t, "libc.so"), 0);
    t.head.e_machine = EM_AARCH64;
    assert_int_equal(highest_of(&t, sizeof t, NULL), 0);
    make_tiny(&t);
    t.head.e_ident[EI_CLASS] = ELFCLASS32;
    assert_int_equal(highest_of(&t, sizeof t, NULL), 0);
}

// Names that only look like versions count for nothing; a wrapped number would count for much.
TEST(test_odd_names)
{
    static const char *const odd[] = {
        "GLIBC_PRIVATE", "GLIBC_",    "GLIBC_9.",     "GLIBC_9.1.1.1",
        "GLIBC_9.x",     "GLIBC_-9",  "GLIBC_9.2000", "GLIBC_ 9.1",
        "GLIBCXX_9.1",   "glibc_9.1", "GLIBC_9..1",   "GLIBC_4294967299.1",
    };
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        struct tiny t;
        make_tiny(&t);
        snprintf(t.strings + 64, 64, "%s", odd[i]);
        t.versions[1].aux.vda_name = 64;
        assert_int_equal(highest_of(&t, sizeof t, NULL), ELF_VERSION(2, 31, 0));
    }
}

// Truncated anywhere, it is no library: the definitions or their names are missing.
TEST(test_truncated)
{
    struct tiny t;
    make_tiny(&t);
    for (size_t len = 0; len < offsetof(struct tiny, strings); len++)
        assert_int_equal(highest_of(&t, len, NULL), 0);
}

TEST(test_hostile)
{
    struct tiny t;
    make_tiny(&t);
    t.head.e_phnum = UINT16_MAX;
    assert_int_equal(highest_of(&t, sizeof t, NULL), 0);
    make_tiny(&t);
    t.head.e_phoff = UINT64_MAX - 8;
    assert_int_equal(highest_of(&t, sizeof t, NULL), 0);
    make_tiny(&t);
    t.segments[0].p_offset = UINT64_MAX - 16;
    assert_int_equal(highest_of(&t, sizeof t, NULL), 0);
    make_tiny(&t);
    t.segments[1].p_offset = INT64_MAX;
    assert_int_equal(highest_of(&t, sizeof t, NULL), 0);
    make_tiny(&t);
    t.dynamic[0].d_un.d_ptr = UINT64_MAX - 2; // strings that wrap around
    t.dynamic[1].d_un.d_val = UINT64_MAX;
    assert_int_equal(highest_of(&t, sizeof t, NULL), 0);
    make_tiny(&t);
    t.versions[1].def.vd_aux = UINT32_MAX;
    assert_int_equal(highest_of(&t, sizeof t, NULL), 0);
    // A name past the table's end is passed over; the others count.
    make_tiny(&t);
    t.versions[2].aux.vda_name = sizeof t.strings;
    assert_int_equal(highest_of(&t, sizeof t, NULL), ELF_VERSION(2, 2, 5));
    // A name without an end, in a table that ends with the file.
    make_tiny(&t);
    memset(t.strings + 64, 'G', 64);
    t.versions[2].aux.vda_name = 64;
    assert_int_equal(highest_of(&t, sizeof t, NULL), ELF_VERSION(2, 2, 5));
    // More definitions claimed than there are: the chain's own end counts.
    make_tiny(&t);
    t.dynamic[3].d_un.d_val = UINT64_MAX;
    assert_int_equal(highest_of(&t, sizeof t, NULL), ELF_VERSION(2, 31, 0));
}
