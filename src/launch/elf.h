// SPDX-License-Identifier: Apache-2.0
// elf: reads the versions a shared library defines from its file.
//
// The launcher must know whether the host's C library is newer than the bundle's before loading
// either. Every offset is checked: the file may be truncated, damaged or for another processor.
// Uses system calls only, because the launcher links nothing else of fare.
#ifndef FARE_LAUNCH_ELF_H
#define FARE_LAUNCH_ELF_H

#include <stdint.h>

// A version as a comparable number: 2.36 is ELF_VERSION(2, 36, 0). 0: none.
#define ELF_VERSION(a, b, c) ((uint32_t)(a) << 20 | (uint32_t)(b) << 10 | (uint32_t)(c))

// The highest version "PREFIX1.2.3" (prefix "GLIBC_" or "GLIBCXX_") that the x86-64 shared library
// defines; 0 if the file is missing, no such library, or defines none. `needs` (optional) is a
// library it must itself require, such as "libc.so.6": musl's libraries have the same names but
// cannot be used.
uint32_t elf_highest(const char *path, const char *prefix, const char *needs);

#endif
