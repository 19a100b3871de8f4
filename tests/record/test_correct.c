// SPDX-License-Identifier: Apache-2.0
// Records of earlier builds with figures that were false. Expected texts are written by hand.
#include "record/run.h"

#include <string.h>

#include "test.h"

#define OLD "{\"schema\":\"fare.run/1\","
#define NEW "{\"schema\":\"fare.run/2\","

TEST(corrects)
{
    static const struct {
        const char *text, *expected; // null: as it is
    } cases[] = {
        // 36 minutes were the time since the kernel's start, and were charged.
        {OLD "\"id\":\"a\",\"new\":{\"x\":0.1},"
             "\"spent\":{\"usd\":\"2.161\",\"usd_per_hour\":\"3.6\"},"
             "\"phases\":{\"boot_ns\":2160000000000,\"wall_ns\":5},\"boot_from\":\"kernel\"}",
         NEW "\"id\":\"a\",\"new\":{\"x\":0.1},\"spent\":{\"usd_per_hour\":\"3.6\"},"
             "\"phases\":{\"wall_ns\":5},\"idle_before_ns\":2160000000000,"
             "\"corrected\":[\"boot\",\"cost\"]}"},
        {"{\"phases\":{\"boot_ns\":7}}", "{\"phases\":{},\"idle_before_ns\":7,"
                                         "\"corrected\":[\"boot\"],\"schema\":\"fare.run/2\"}"},
        // A killed run has its bill so far.
        {OLD "\"live\":{\"bill_usd\":\"1\",\"left_s\":2.0},\"phases\":{\"boot_ns\":7}}",
         NEW "\"live\":{\"left_s\":2.0},\"phases\":{},\"idle_before_ns\":7,"
             "\"corrected\":[\"boot\",\"cost\"]}"},
        // A start of a saved job never paid for a boot.
        {OLD "\"id\":\"a\",\"saving\":{\"attempts\":[{\"run\":\"a\",\"usd\":\"3\"}]},"
             "\"spent\":{\"usd\":\"3\"},\"phases\":{\"boot_ns\":7}}",
         NEW "\"id\":\"a\",\"saving\":{\"attempts\":[{\"run\":\"a\",\"usd\":\"3\"}]},"
             "\"spent\":{\"usd\":\"3\"},\"phases\":{},\"idle_before_ns\":7,"
             "\"corrected\":[\"boot\"]}"},
        // 55 s were projected, up to 58, and the sample had taken 61: at least 61, and 3 more.
        {OLD "\"projection\":{\"after_s\":61.0,\"wall_s\":55.0,\"low_s\":60.5,\"high_s\":58.0}}",
         NEW "\"projection\":{\"after_s\":61.0,\"wall_s\":61.0,\"low_s\":60.5,\"high_s\":64.0},"
             "\"corrected\":[\"interval\"]}"},
        {OLD "\"projection\":{\"low_s\":5.0,\"high_s\":4.0}}",
         NEW "\"projection\":{\"low_s\":5.0,\"high_s\":5.0,\"wall_s\":5.0},"
             "\"corrected\":[\"interval\"]}"},
        // 7,000 s were left by steps of 800 ms on average and 400 at least: 3,500 s less a tenth,
        // and
        // the sample's 60 s after its start. Half of that if other programs were in the way.
        {OLD "\"step_ms\":800.0,\"projection\":{\"after_s\":70.0,\"wall_s\":7070.0,\"low_s\":66.0,"
             "\"high_s\":19140.0,\"load_s\":10.0},\"step_plot_ms\":[400.0,1200.0]}",
         NEW
         "\"step_ms\":800.0,\"projection\":{\"after_s\":70.0,\"wall_s\":7070.0,\"low_s\":3210.0,"
         "\"high_s\":19140.0,\"load_s\":10.0},\"step_plot_ms\":[400.0,1200.0],"
         "\"corrected\":[\"interval\"]}"},
        {OLD "\"step_ms\":800.0,\"projection\":{\"after_s\":70.0,\"wall_s\":7070.0,\"low_s\":66.0,"
             "\"high_s\":19140.0,\"load_s\":10.0},\"use\":{\"other_cpu_percent\":150.0},"
             "\"step_plot_ms\":[400.0,1200.0]}",
         NEW
         "\"step_ms\":800.0,\"projection\":{\"after_s\":70.0,\"wall_s\":7070.0,\"low_s\":1635.0,"
         "\"high_s\":19140.0,\"load_s\":10.0},\"use\":{\"other_cpu_percent\":150.0},"
         "\"step_plot_ms\":[400.0,1200.0],\"corrected\":[\"interval\"]}"},
        {OLD
         "\"step_ms\":800.0,\"projection\":{\"after_s\":70.0,\"wall_s\":7070.0,\"low_s\":3300.0,"
         "\"high_s\":19140.0,\"load_s\":10.0},\"step_plot_ms\":[400.0,1200.0]}",
         NULL},
        // The GPU works 15 ms in steps of 100 ms; the recorded ones took 20.
        {OLD "\"step_ms\":100.0,\"account\":{\"x\":1,\"step_ms\":20.0,\"busy_share\":0.75,"
             "\"host_share\":0.25,\"work\":[{\"name\":\"other\",\"share\":0.75}]}}",
         NEW "\"step_ms\":100.0,\"account\":{\"x\":1,\"step_ms\":20.0,\"full_step_ms\":100.0,"
             "\"busy_share\":0.15,\"host_share\":0.05,\"unseen_share\":0.8,"
             "\"work\":[{\"name\":\"other\",\"share\":0.15}]},\"corrected\":[\"account\"]}"},
        {OLD "\"step_ms\":20.0,\"account\":{\"step_ms\":20.0,\"busy_share\":1.0}}",
         NEW "\"step_ms\":20.0,\"account\":{\"step_ms\":20.0,\"full_step_ms\":20.0,"
             "\"busy_share\":1.0}}"},
        // By GPM the GPU works half of the time: the recorded kernels are not all of a step.
        {OLD
         "\"account\":{\"x\":1,\"step_ms\":20.0,\"busy_share\":0.01,\"between_ms\":20.0,\"work\":["
         "{\"name\":\"other\",\"share\":0.01}]},\"use\":{\"steady\":{\"gpu_percent\":60.0,"
         "\"sm_percent\":50.0}},\"step_ms\":20.0,\"steady\":{\"from_s\":0.0,\"to_s\":20.0}}",
         NEW
         "\"account\":{\"x\":1,\"step_ms\":20.0,\"between_ms\":20.0,\"full_step_ms\":20.0,\"off\":"
         "\"the recorded steps contradict the GPU's utilisation\"},\"use\":{\"steady\":{"
         "\"gpu_percent\":60.0,\"sm_percent\":50.0}},\"step_ms\":20.0,\"steady\":{\"from_s\":0.0,"
         "\"to_s\":20.0},\"corrected\":[\"account\"]}"},
        {OLD "\"account\":{\"off\":\"x\"}}", NULL},
        // An MLPerf log that counts samples, not epochs.
        {OLD "\"source\":\"imported from a.txt (mllog)\",\"epoch_list\":[{\"epoch\":30720}]}",
         NEW "\"source\":\"imported from a.txt (mllog)\",\"epoch_list\":[{\"samples\":30720}],"
             "\"corrected\":[\"samples\"]}"},
        {OLD "\"source\":\"imported from a.txt (keras)\",\"epoch_list\":[{\"epoch\":30720}]}",
         NULL},
        {OLD "\"projection\":{\"wall_s\":5,\"low_s\":4.0,\"high_s\":6.0}}", NULL},
        {OLD "\"spent\":{\"usd\":\"2\"},\"phases\":{\"wall_ns\":5}}", NULL},
        {NEW "\"spent\":{\"usd\":\"2\"},\"phases\":{\"boot_ns\":5},\"boot_from\":\"fare\"}", NULL},
        {" " NEW "\"phases\":{\"boot_ns\":5}}", NULL}, // printed by others
        {OLD "\"phases\":{\"boot_ns\":\"x\"}}", NULL}, // the reader refuses it
        {OLD "\"phases\":{\"boot_ns\":7}", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out = {0}, again = {0};
        struct err err = {0};
        assert_ok(run_correct(cases[i].text, strlen(cases[i].text), &out, &err), &err);
        assert_string_equal(buf_str(&out), cases[i].expected ? cases[i].expected : "");
        assert_ok(run_correct(buf_str(&out), out.len, &again, &err), &err);
        assert_int_equal(again.len, 0); // what was corrected stays so
        buf_release(&out);
        buf_release(&again);
    }
}
