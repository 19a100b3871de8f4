// SPDX-License-Identifier: Apache-2.0
// resident: for a process that watches for hours with little in memory.
#ifndef FARE_BASE_RESIDENT_H
#define FARE_BASE_RESIDENT_H

#include <stddef.h>

// From now on buffers of a megabyte and more go back to the system when they are freed, and threads
// share one arena. By default the allocator keeps them for the next time, in an arena per thread.
void resident_keep_little(void);

// Gives back what is resident and not needed now: free memory of the allocator, and pages of
// programs and libraries that were read from their files and never changed. A page that is needed
// again comes from the page cache. Takes about a millisecond; call it when a large piece of work is
// done, from any thread. Never fails: without /proc/self/smaps only the allocator gives back.
void resident_trim(void);

// The same if more than that is resident; asking takes some microseconds.
void resident_trim_above(size_t bytes);

#endif
