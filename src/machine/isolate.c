// SPDX-License-Identifier: Apache-2.0
#include "machine/isolate.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/proc.h"
#include "record/read.h"

#define RECORD_MAX ((size_t)16 << 20) // 64 GPUs with their processes take a few hundred kB
#define NO_MEMORY  3                  // the child's exit code

struct job {
    struct probe *probe;
    struct machine machine; // a shallow copy; the child changes only its own memory
    probe_part *part;
};

static int run_part(void *job_)
{
    struct job *job = job_;
    struct err err = {0};
    struct buf text = {0};
    int answer = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (answer < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) // libraries may print
        return 1;
    int rc = job->part(job->probe, &job->machine, &err);
    if (rc == 0)
        rc = record_to_text(machine_fields, &job->machine, &text, &err);
    if (rc == 0)
        rc = fs_write_fd(answer, buf_str(&text), text.len, "the record", &err);
    return rc == 0 ? 0 : rc == ERR_MEMORY ? NO_MEMORY : 1;
}

static int read_record(const struct proc_result *result, struct machine *got, struct buf *how,
                       struct err *err)
{
    if (result->exited && result->exit_code == NO_MEMORY)
        return err_memory(err);
    if (!result->exited || result->exit_code != 0) {
        proc_result_words(result, how);
        return buf_check(how, err);
    }
    return record_from_text(machine_fields, buf_str(&result->out), result->out.len, got, err);
}

int probe_isolated(struct probe *probe, const struct machine *machine, probe_part *part,
                   int64_t timeout_ms, struct machine *got, struct buf *how, struct err *err)
{
    struct job job = {.probe = probe, .machine = *machine, .part = part};
    const struct proc_options options = {.timeout_ms = timeout_ms, .keep_max = RECORD_MAX};
    struct proc proc;
    struct proc_result result = {0};
    struct err why = {0};
    if (proc_start_call(&proc, run_part, &job, &options, &why) != 0) {
        buf_adds(how, why.text); // cannot start a process: the part is skipped
        return buf_check(how, err);
    }
    int rc = proc_finish(&proc, &result, err);
    if (rc == 0)
        rc = read_record(&result, got, how, err);
    proc_result_release(&result);
    return rc;
}
