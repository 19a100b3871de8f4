// SPDX-License-Identifier: Apache-2.0
// One look at a Slurm place with more results than it takes, by the real sh, with a squeue that
// lists nothing: fifty replies, each whole, and the others named for a later look.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "fleet/queues.h"
#include "fleet/script.h"
#include "test.h"

enum { TASKS = 53, REPLIES = 50 };

static const char set_up[] =
    "set -e; cd \"$1\"; shift; mkdir bin; printf '#!/bin/sh\\n' >bin/squeue; chmod +x bin/squeue\n"
    "mkdir \"$1\"; cd \"$1\"; mkdir began ended; n=0\n"
    "while [ $n -lt \"$2\" ]; do\n"
    "    n=$((n + 1)); k=abc-$n-1; mkdir -p $k/try-0; ln -s try-0 $k/result; : >ended/$k\n"
    "    echo \"0 100 $((100 + n))\" >$k/try-0/code; echo $n >$k/try-0/waited\n"
    "    echo '{}' >$k/try-0/record.jsonl; seq 100 >$k/try-0/log\n"
    "done\n";

TEST(test_look)
{
    static struct task tasks[TASKS];
    struct task *chosen[TASKS];
    struct place_words words = {.head = (char[]){""}};
    struct dispatch d = {.id = (char[]){"abc"}};
    char top[] = "/tmp/fare-look-XXXXXX";
    assert_non_null(mkdtemp(top));
    struct fleet fleet = {&d, top};
    struct buf base = {0}, text = {0}, out = {0}, command = {0};
    struct slurm_pairs later = {0};
    struct err err = {0};
    slurm_base(&fleet, &words, &base);
    for (int i = 0; i < TASKS; i++) {
        tasks[i] = (struct task){.number = some_int(i + 1), .now.attempts = some_int(1)};
        chosen[i] = &tasks[i];
    }
    slurm_look_text(&fleet, &words, &(struct chosen){chosen, TASKS}, &text);
    buf_printf(&command, "%s/set-up", top);
    assert_ok(fs_write(buf_str(&command), set_up, sizeof set_up - 1, &err), &err);
    buf_reset(&command);
    buf_printf(&command, "%s/look", top);
    assert_ok(fs_write(buf_str(&command), buf_str(&text), text.len, &err), &err);
    buf_reset(&command);
    buf_printf(
        &command,
        "sh %s/set-up %s %s %d && PATH=%s/bin:$PATH sh %s/look 0 >%s/out && rm -rf %s/slurm*", top,
        top, strrchr(buf_str(&base), '/') + 1, TASKS, top, top, top, top);
    assert_int_equal(system(buf_str(&command)), 0); // NOLINT(cert-env33-c)
    buf_reset(&command);
    buf_printf(&command, "%s/out", top);
    assert_ok(fs_read(buf_str(&command), 1 << 20, &out, &err), &err);
    assert_ok(slurm_pairs_read(&later, "later", buf_str(&out), out.len, &err), &err);
    assert_int_equal(later.count, TASKS - REPLIES);
    for (int i = 0; i < TASKS; i++) {
        char key[TASK_KEY_BYTES];
        struct task_report report = {0};
        task_key(&d, &tasks[i], key);
        assert_ok(reply_read(buf_str(&out), out.len, key, &report, &err), &err);
        assert_int_equal(report.state, i < REPLIES ? REPORT_ENDED : REPORT_UNKNOWN);
        assert_true(!slurm_pairs_find(&later, key) == (i < REPLIES));
        if (i < REPLIES) {
            assert_string_equal(buf_str(&report.records), "{}\n");
            assert_true(report.run_s > (i + 1) / 100. - 1e-9 && report.run_s < (i + 1.01) / 100);
        }
        task_report_release(&report);
    }
    buf_reset(&command);
    buf_printf(&command, "rm -rf %s", top);
    assert_int_equal(system(buf_str(&command)), 0); // NOLINT(cert-env33-c)
    slurm_pairs_release(&later);
    buf_release(&command);
    buf_release(&out);
    buf_release(&text);
    buf_release(&base);
}
