// SPDX-License-Identifier: Apache-2.0
// Answers of hosts, whole, cut at every byte, and forged.
#include "fleet/script.h"

#include <stdio.h>
#include <string.h>

#include "fleet/dispatch.h"
#include "fleet/target.h"
#include "test.h"

#define KEY "abc-1-1"

static enum report_state read_all(const char *text, size_t len, struct task_report *report)
{
    struct err err = {0};
    *report = (struct task_report){0};
    assert_ok(reply_read(text, len, KEY, report, &err), &err);
    return report->state;
}

TEST(test_states)
{
    struct task_report r;
    static const struct {
        const char *text;
        enum report_state state;
    } cases[] = {
        {"fare-reply abc-1-1 absent\nfare-reply abc-1-1 end\n", REPORT_ABSENT},
        {"fare-reply abc-1-1 lost\nfare-reply abc-1-1 end\n", REPORT_LOST},
        {"motd\nfare-reply abc-1-1 running 100 350\nfare-reply abc-1-1 end\nmore", REPORT_RUNNING},
        {"fare-reply abc-1-11 absent\nfare-reply abc-1-11 end\n", REPORT_UNKNOWN}, // another's
        {" fare-reply abc-1-1 absent\nfare-reply abc-1-1 end\n", REPORT_UNKNOWN},
        {"fare-reply abc-1-1 flying\nfare-reply abc-1-1 end\n", REPORT_UNKNOWN},
        {"fare-reply abc-1-1 ended 0\nfare-reply abc-1-1 end\n", REPORT_UNKNOWN},
        {"fare-reply abc-1-1 ended 0 1 2\nfare-reply abc-1-1 record 99\n{}\nfare-reply abc-1-1 "
         "end\n",
         REPORT_UNKNOWN},
        {"fare-reply abc-1-1 ended 0 1 2\nfare-reply abc-1-1 record -5\n{}\nfare-reply abc-1-1 "
         "end\n",
         REPORT_UNKNOWN},
        {"", REPORT_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(read_all(cases[i].text, strlen(cases[i].text), &r), cases[i].state);
        if (cases[i].state == REPORT_RUNNING)
            assert_true(r.run_s > 2.49 && r.run_s < 2.51);
        task_report_release(&r);
    }
}

// The script's own answer, by a real sh: a task that ends just while it is asked for has ended.
// Here its end comes when its keeper is looked for.
TEST(test_ends_meanwhile)
{
    static const struct {
        const char *meanwhile;
        enum report_state state;
    } cases[] = {{"echo '0 100 350' >code; return 1", REPORT_ENDED},
                 {"return 1", REPORT_LOST},
                 {"return 0", REPORT_RUNNING}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err err = {0};
        struct call call = {0};
        struct call_result result = {0};
        struct task_report r;
        script_reply(&call.input);
        buf_printf(&call.input,
                   "cd \"$(mktemp -d)\" || exit 1\n"
                   "echo 100 >started; echo 1 >keeper\n"
                   "grep() { %s; }\n"
                   "fare_reply " KEY " .\n"
                   "rm started keeper; rm -f code; rmdir \"$PWD\"\n",
                   cases[i].meanwhile);
        call_arg(&call, "sh");
        call_arg(&call, "-s");
        assert_ok(call_run(&call, &result, &err), &err);
        assert_int_equal(read_all(buf_str(&result.out), result.out.len, &r), cases[i].state);
        task_report_release(&r);
        call_release(&call);
        call_result_release(&result);
    }
}

// A record and a log that contain the reply's own lines change nothing; a cut reply is none.
TEST(test_whole)
{
    static const char text[] = "fare-reply abc-1-1 ended 3 1000 1250\n"
                               "fare-reply abc-1-1 limit\n"
                               "fare-reply abc-1-1 record 31\n"
                               "{\"a\":1}\nfare-reply abc-1-1 end\n\n"
                               "fare-reply abc-1-1 log 26\n"
                               "fare-reply abc-1-1 absent\n\n"
                               "fare-reply abc-1-1 end\n";
    struct task_report r;
    for (size_t len = 0; len < sizeof text - 1; len++) {
        assert_int_equal(read_all(text, len, &r), REPORT_UNKNOWN);
        assert_int_equal(r.records.len, 0);
        task_report_release(&r);
    }
    assert_int_equal(read_all(text, sizeof text - 1, &r), REPORT_ENDED);
    assert_int_equal(r.code, 3);
    assert_true(r.limit);
    assert_true(r.run_s > 2.49 && r.run_s < 2.51);
    assert_string_equal(buf_str(&r.records), "{\"a\":1}\nfare-reply abc-1-1 end\n");
    assert_string_equal(buf_str(&r.words), "fare-reply abc-1-1 absent\n");
    task_report_release(&r);
}

TEST(test_log_lines)
{
    struct err err = {0};
    struct dispatch d = {0};
    struct task *task = LIST_ADD(&d.tasks, &err);
    assert_non_null(task);
    static const char *const lines[] = {
        "{\"number\":1,\"state\":\"running\",\"place\":\"ssh:a\",\"attempts\":2}",
        "{\"number\":1,\"state\":\"do", // cut off
        "{\"number\":2,\"state\":\"done\"}",
        "{\"number\":0,\"state\":\"done\"}",
        "{\"number\":-1}",
        "[]",
        "",
        "{}",
        "{\"number\":1,\"attempts\":\"x\"}",
        NULL};
    for (size_t i = 0; lines[i]; i++)
        assert_ok(state_apply(&d, lines[i], strlen(lines[i]), &err), &err);
    assert_int_equal(task_state(task), TASK_RUNNING);
    assert_string_equal(task->now.place, "ssh:a");
    assert_int_equal(task->now.attempts.v, 2);
    record_release(dispatch_fields, &d);
}
