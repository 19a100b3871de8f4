// SPDX-License-Identifier: Apache-2.0
// elf: which versions a shared library defines, read from its file.
//
// The launcher must know whether the host's C library is newer than the bundle's before either
// is loaded. Every offset in the file is doubted: it may be truncated, damaged or for another
// processor. Uses nothing but system calls, since the launcher links nothing else of ours.
#ifndef FARE_LAUNCH_ELF_H
#define FARE_LAUNCH_ELF_H

#include <stdint.h>

// A version as one number that compares: 2.36 is ELF_VERSION(2, 36, 0). Zero: none.
#define ELF_VERSION(a, b, c) ((uint32_t)(a) << 20 | (uint32_t)(b) << 10 | (uint32_t)(c))

// The highest version "PREFIX1.2.3" (prefix "GLIBC_" or "GLIBCXX_") which the x86-64 shared
// library defines, or 0 when the file is absent, not such a library or defines none. `needs`
// (optional) names a library it must itself need, such as "libc.so.6": musl's have the same
// names and cannot be used.
uint32_t elf_highest(const char *path, const char *prefix, const char *needs);

// The same of an open file.
uint32_t elf_highest_fd(int fd, const char *prefix, const char *needs);

#endif
