// SPDX-License-Identifier: Apache-2.0
// glibc: asks for the oldest versions of the functions that glibc 2.34 moved between its files, so
// that the library also loads into programs that run on an older one.
#ifndef FARE_FOLLOW_TRACE_INJECT_GLIBC_H
#define FARE_FOLLOW_TRACE_INJECT_GLIBC_H

#if defined(__x86_64__)
#define OLDEST "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define OLDEST "GLIBC_2.17"
#endif

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

#if defined(OLDEST) && defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
__asm__(".symver dladdr, dladdr@" OLDEST);
__asm__(".symver dlclose, dlclose@" OLDEST);
__asm__(".symver dlopen, dlopen@" OLDEST);
__asm__(".symver dlsym, dlsym@" OLDEST);
__asm__(".symver pthread_create, pthread_create@" OLDEST);
__asm__(".symver pthread_detach, pthread_detach@" OLDEST);
#endif

#endif
