// SPDX-License-Identifier: Apache-2.0
#include "trace/injection.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/fs.h"
#include "trace/ring.h"

#define LIBRARY   "libfare-trace.so"
#define INJECTION "CUDA_INJECTION64_PATH"

// Variables of profilers that use CUPTI themselves or inject a library of their own.
static const char *other_profiler(void)
{
    static const struct {
        const char *variable, *text;
    } others[] = {
        {INJECTION, INJECTION " is set: another profiler has the GPU"},
        {"NVTX_INJECTION64_PATH", "NVTX_INJECTION64_PATH is set: another profiler has the GPU"},
        {"NSYS_PROFILING_SESSION_ID", "it runs under Nsight Systems"},
        {"NV_COMPUTE_PROFILER_PERFWORKS_DIR", "it runs under Nsight Compute"},
        {"KINETO_USE_DAEMON", "KINETO_USE_DAEMON is set: PyTorch's profiler may be started"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (getenv(others[i].variable) && *getenv(others[i].variable))
            return others[i].text;
    return NULL;
}

static int make_folder(struct injection *in, struct err *err)
{
    const char *tmp = getenv("TMPDIR");
    const char *const places[] = {"/dev/shm", tmp && *tmp == '/' ? tmp : "/tmp", "/tmp"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct err why = {0};
        int rc = scratch_make(&in->folder, places[i], &why);
        if (rc == 0 || rc == ERR_MEMORY)
            return rc == 0 ? 0 : err_memory(err);
    }
    in->off = "there is no room for its records";
    return 0;
}

static int find_library(struct injection *in, const char *given, struct buf *path, struct err *err)
{
    struct err why = {0};
    if (given)
        buf_adds(path, given);
    else if (fs_program_dir(path, &why) == ERR_MEMORY)
        return err_memory(err);
    buf_adds(path, given ? "" : "/" LIBRARY);
    TRY(buf_check(path, err));
    if (access(path->data, R_OK) != 0)
        in->off = "fare's " LIBRARY " is not beside the program";
    return 0;
}

int injection_open(struct injection *in, const char *library, struct err *err)
{
    struct buf path = {0};
    int rc = 0;
    in->off = other_profiler();
    if (!in->off)
        rc = find_library(in, library, &path, err);
    if (rc == 0 && !in->off)
        rc = make_folder(in, err);
    if (rc == 0 && !in->off) {
        buf_printf(&in->folder_entry, TRACE_FOLDER "=%s", in->folder.path);
        buf_printf(&in->library_entry, INJECTION "=%s", buf_str(&path));
        rc = buf_check(&in->folder_entry, err);
        if (rc == 0)
            rc = buf_check(&in->library_entry, err);
        in->environment[0] = in->folder_entry.data;
        in->environment[1] = in->library_entry.data;
    }
    buf_release(&path);
    return rc;
}

void injection_release(struct injection *in)
{
    scratch_remove(&in->folder);
    buf_release(&in->folder_entry);
    buf_release(&in->library_entry);
}
