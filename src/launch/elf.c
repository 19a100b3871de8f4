// SPDX-License-Identifier: Apache-2.0
#include "launch/elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

enum {
    MAX_SEGMENTS = 64,  // a real library has about a dozen
    MAX_DYNAMIC = 512,  // libc has 30 entries
    MAX_VERSIONS = 512, // libc has 40, libstdc++ 50
    MAX_NAME = 64,      // longer names are not versions
};

struct library {
    int fd;
    Elf64_Phdr segments[MAX_SEGMENTS];
    size_t segment_count;
    uint64_t strings; // virtual address and size of the string table
    uint64_t strings_size;
    uint64_t versions; // virtual address and number of the version definitions
    uint64_t version_count;
};

// All bytes or nothing. Fails for an offset past the end of the file or of off_t.
static bool read_at(int fd, uint64_t offset, void *to, size_t len)
{
    char *p = to;
    while (len > 0) {
        if (offset > INT64_MAX)
            return false;
        ssize_t got = pread(fd, p, len, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        p += got;
        len -= (size_t)got;
        offset += (uint64_t)got;
    }
    return true;
}

// Reads `len` bytes at a virtual address, from the segment that contains them all.
static bool read_address(const struct library *lib, uint64_t address, void *to, size_t len)
{
    for (size_t i = 0; i < lib->segment_count; i++) {
        const Elf64_Phdr *s = &lib->segments[i];
        if (s->p_type != PT_LOAD || address < s->p_vaddr)
            continue;
        uint64_t into = address - s->p_vaddr, offset;
        if (into > s->p_filesz || len > s->p_filesz - into)
            continue;
        if (__builtin_add_overflow(s->p_offset, into, &offset))
            return false;
        return read_at(lib->fd, offset, to, len);
    }
    return false;
}

// Reads a name from the string table. Fails if it does not end within the table or `name`.
static bool read_name(const struct library *lib, uint64_t at, char name[MAX_NAME])
{
    if (at >= lib->strings_size)
        return false;
    uint64_t left = lib->strings_size - at, address;
    size_t len = left < MAX_NAME ? (size_t)left : MAX_NAME;
    if (__builtin_add_overflow(lib->strings, at, &address))
        return false;
    return read_address(lib, address, name, len) && memchr(name, '\0', len);
}

static bool read_segments(struct library *lib)
{
    Elf64_Ehdr head;
    if (!read_at(lib->fd, 0, &head, sizeof head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB ||
        head.e_machine != EM_X86_64 || head.e_type != ET_DYN ||
        head.e_phentsize != sizeof(Elf64_Phdr) || head.e_phnum > MAX_SEGMENTS)
        return false;
    lib->segment_count = head.e_phnum;
    return read_at(lib->fd, head.e_phoff, lib->segments, head.e_phnum * sizeof(Elf64_Phdr));
}

// `needed` receives the string offsets of the required libraries.
static bool read_dynamic(struct library *lib, uint64_t needed[MAX_DYNAMIC], size_t *needed_count)
{
    const Elf64_Phdr *dynamic = NULL;
    for (size_t i = 0; i < lib->segment_count; i++)
        if (lib->segments[i].p_type == PT_DYNAMIC)
            dynamic = &lib->segments[i];
    if (!dynamic)
        return false;
    *needed_count = 0;
    for (uint64_t i = 0; i < MAX_DYNAMIC && i < dynamic->p_filesz / sizeof(Elf64_Dyn); i++) {
        Elf64_Dyn entry;
        uint64_t at;
        if (__builtin_add_overflow(dynamic->p_offset, i * sizeof entry, &at) ||
            !read_at(lib->fd, at, &entry, sizeof entry))
            return false;
        if (entry.d_tag == DT_NULL)
            break;
        else if (entry.d_tag == DT_STRTAB)
            lib->strings = entry.d_un.d_ptr;
        else if (entry.d_tag == DT_STRSZ)
            lib->strings_size = entry.d_un.d_val;
        else if (entry.d_tag == DT_VERDEF)
            lib->versions = entry.d_un.d_ptr;
        else if (entry.d_tag == DT_VERDEFNUM)
            lib->version_count = entry.d_un.d_val;
        else if (entry.d_tag == DT_NEEDED)
            needed[(*needed_count)++] = entry.d_un.d_val;
    }
    return lib->strings != 0 && lib->versions != 0;
}

// "GLIBC_2.36" with the prefix "GLIBC_"; 0 for anything else, such as "GLIBC_PRIVATE".
static uint32_t parse(const char *name, const char *prefix)
{
    size_t len = strlen(prefix);
    if (strncmp(name, prefix, len) != 0)
        return 0;
    const char *p = name + len;
    uint32_t part[3] = {0};
    for (size_t i = 0; i < 3; i++) {
        if (*p < '0' || *p > '9')
            return 0;
        for (; *p >= '0' && *p <= '9'; p++) {
            part[i] = part[i] * 10 + (uint32_t)(*p - '0');
            if (part[i] > 1023)
                return 0;
        }
        if (*p == '\0')
            return ELF_VERSION(part[0], part[1], part[2]);
        if (*p++ != '.')
            return 0;
    }
    return 0;
}

static uint32_t highest(const struct library *lib, const char *prefix)
{
    uint32_t best = 0;
    uint64_t at = lib->versions;
    for (uint64_t i = 0; i < lib->version_count && i < MAX_VERSIONS; i++) {
        Elf64_Verdef def;
        Elf64_Verdaux aux;
        uint64_t aux_at;
        char name[MAX_NAME];
        if (!read_address(lib, at, &def, sizeof def) ||
            __builtin_add_overflow(at, def.vd_aux, &aux_at) ||
            !read_address(lib, aux_at, &aux, sizeof aux))
            return 0;
        // The base definition is the library's own name, not a version.
        if (!(def.vd_flags & VER_FLG_BASE) && read_name(lib, aux.vda_name, name)) {
            uint32_t version = parse(name, prefix);
            best = version > best ? version : best;
        }
        if (def.vd_next == 0)
            break;
        if (__builtin_add_overflow(at, def.vd_next, &at))
            return 0;
    }
    return best;
}

static uint32_t highest_in(int fd, const char *prefix, const char *needs)
{
    struct library lib = {.fd = fd};
    uint64_t needed[MAX_DYNAMIC];
    size_t needed_count;
    if (!read_segments(&lib) || !read_dynamic(&lib, needed, &needed_count))
        return 0;
    bool met = needs == NULL;
    for (size_t i = 0; i < needed_count && !met; i++) {
        char name[MAX_NAME];
        met = read_name(&lib, needed[i], name) && strcmp(name, needs) == 0;
    }
    return met ? highest(&lib, prefix) : 0;
}

uint32_t elf_highest(const char *path, const char *prefix, const char *needs)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return 0;
    uint32_t version = highest_in(fd, prefix, needs);
    close(fd);
    return version;
}
