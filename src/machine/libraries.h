// SPDX-License-Identifier: Apache-2.0
// libraries: which of NVIDIA's compute libraries (cuDNN, cuBLASLt, NCCL) lie on this machine.
//
// fare needs none of them; who trains with a framework wants to know which it will find. They are
// looked for as files: in the loader's folders, in CUDA folders and in Python environments. Each
// file is then opened in a child process of its own, all at once and for a limited time, and asked
// for its version. One that crashes, hangs or does not open is listed with how it ended, and with
// the version that its file or its package has in its name. cuBLASLt, whose 350,000 relocations
// take 110 ms of CPU time (the others take 2), is opened only where no name tells its version.
#ifndef FARE_MACHINE_LIBRARIES_H
#define FARE_MACHINE_LIBRARIES_H

#include "machine/probe.h"

#define LIBRARY_LIMIT_MS 200 // so that a check takes under 300

struct libraries;

// Looks for them and starts the children, which have `limit_ms` from now on, so that they work
// while the rest is looked at. For a recorded machine (no_children) there is nothing to do.
int libraries_start(struct probe *probe, int64_t limit_ms, struct libraries **libraries,
                    struct err *err) MUST_USE;

// Waits for them and fills machine->gpu_libraries.
int libraries_finish(struct libraries *libraries, struct machine *machine,
                     struct err *err) MUST_USE;

void libraries_free(struct libraries *libraries); // ends what still runs; null is fine

// The version in a number that a library answered. They are major * 10000 + minor * 100 + patch;
// older ones had major * 1000, and the file's name tells which: "libcudnn.so.8". "" where the
// number is of neither kind.
void library_version(int64_t number, int major, char *out, size_t size);

#endif
