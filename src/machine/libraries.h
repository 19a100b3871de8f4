// SPDX-License-Identifier: Apache-2.0
// libraries: finds NVIDIA's compute libraries (cuDNN, cuBLASLt, NCCL). fare needs the last one
// for several GPUs; a framework needs all.
//
// Searches the loader's folders, CUDA folders and Python environments. Each file is opened in a
// child process, all in parallel under a time limit, and asked for its version. A library that
// crashes, hangs or does not open is listed with the reason and the version in its file or package
// name. cuBLASLt takes 110 ms of CPU time to open (350,000 relocations; the others 2 ms), so it is
// opened only if no name gives its version.
#ifndef FARE_MACHINE_LIBRARIES_H
#define FARE_MACHINE_LIBRARIES_H

#include "machine/probe.h"

#define LIBRARY_LIMIT_MS 200 // so that a check takes under 300 ms

struct libraries;

// Starts the search and the children, which run for up to `limit_ms` while other probes run. Does
// nothing on a recorded machine (no_children).
int libraries_start(struct probe *probe, int64_t limit_ms, struct libraries **libraries,
                    struct err *err) MUST_USE;

// Waits for them and fills machine->gpu_libraries.
int libraries_finish(struct libraries *libraries, struct machine *machine,
                     struct err *err) MUST_USE;

// The file of a library of this machine ("NCCL"), number `index` of those found, without opening it;
// false behind the last one.
bool library_file(const char *name, int index, char *out, size_t size);

void libraries_free(struct libraries *libraries); // ends running children; null is fine

// Formats a version number from a library: major * 10000 + minor * 100 + patch, or major * 1000 in
// older ones. `major` comes from the file name ("libcudnn.so.8") and decides. "" if neither fits.
void library_version(int64_t number, int major, char *out, size_t size);

#endif
