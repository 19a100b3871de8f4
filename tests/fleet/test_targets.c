// SPDX-License-Identifier: Apache-2.0
// Frames in logs, and the texts that Slurm, SkyPilot and Kubernetes are given and answer. Formats
// are those of squeue(1), sinfo(1), `sky status -o json`, `kubectl -o custom-columns` and RFC 4648.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/queues.h"
#include "fleet/target.h"
#include "test.h"

// RFC 4648, section 10, and the sums of `sha256sum`.
TEST(test_frame_text)
{
    struct buf out = {0}, back = {0};
    frame_write(&out, "k-1-1", "foobar", 6);
    assert_string_equal(buf_str(&out),
                        "fare-frame k-1-1 1 Zm9vYmFy\n"
                        "fare-frame k-1-1 end 1 "
                        "c3ab8ff13720e8ad9047dd39466b3c8974e592c2fa383d4a3960714caef0c4f2\n");
    assert_true(frame_read(buf_str(&out), out.len, "k-1-1", &back));
    assert_string_equal(buf_str(&back), "foobar");
    buf_release(&out);
    buf_release(&back);
}

TEST(test_frame_in_a_log)
{
    struct buf frame = {0}, log = {0}, bytes = {0}, back = {0};
    for (int i = 0; i < 5000; i++)
        buf_addc(&bytes, (char)(i * 7));
    frame_write(&frame, "k-1-1", buf_str(&bytes), bytes.len);
    buf_adds(&log, "fare-frame k-1-1 1 AAAA\nfare-frame k-1-1 7 AAAA\n"); // one that was cut off
    for (const char *at = buf_str(&frame); *at;) {
        size_t len = strcspn(at, "\n");
        buf_printf(&log, "\x1b[36m(k, pid=4)\x1b[0m %.*s\r\nother words\n", (int)len, at);
        at += len + 1;
    }
    assert_true(frame_read(buf_str(&log), log.len, "k-1-1", &back));
    assert_int_equal(back.len, bytes.len);
    assert_memory_equal(buf_str(&back), buf_str(&bytes), bytes.len);
    assert_false(frame_read(buf_str(&log), log.len, "k-1-2", &back));
    assert_false(frame_read(buf_str(&log), log.len / 2, "k-1-1", &back));
    log.data[log.len / 2] ^= 1;
    assert_false(frame_read(buf_str(&log), log.len, "k-1-1", &back));
    buf_release(&frame);
    buf_release(&log);
    buf_release(&bytes);
    buf_release(&back);
}

TEST(test_words)
{
    static const char *const keys[] = {"gres", "dir", NULL};
    struct place_words words;
    struct err err = {0};
    assert_int_equal(place_words_read(&words, "x", "gpu,dir=/a=b,gres=gpu:1", keys, &err), 0);
    assert_string_equal(words.head, "gpu");
    assert_string_equal(words.values[0], "gpu:1");
    assert_string_equal(words.values[1], "/a=b");
    place_words_release(&words);
    static const char *const bad[] = {"a,b",  "a,=b",  "a,gres=", "a,gres=1,gres=2", "a,",
                                      "a\nb", "a\xff", "a,gres",  "a,gre=1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err = (struct err){0};
        assert_int_equal(place_words_read(&words, "x", bad[i], keys, &err), ERR_USAGE);
    }
}

TEST(test_queue)
{
    static const char text[] = "queue 12_1 PENDING\nqueue 12_2 RUNNING\nother\nqueue 12_3\n"
                               "queue 12_4 RUN NING\nqueue 12_5 $(x)\nqueue 12_6 FAILED";
    struct slurm_pairs pairs = {0};
    struct err err = {0};
    bool limit;
    assert_int_equal(slurm_pairs_read(&pairs, "queue", text, strlen(text), &err), 0);
    assert_int_equal(pairs.count, 2);
    assert_string_equal(slurm_pairs_find(&pairs, "12_1"), "PENDING");
    assert_string_equal(slurm_pairs_find(&pairs, "12_2"), "RUNNING");
    assert_null(slurm_pairs_find(&pairs, "12_6"));
    slurm_pairs_release(&pairs);
    assert_int_equal(slurm_meaning("PENDING", &limit), REPORT_QUEUED);
    assert_int_equal(slurm_meaning("COMPLETING", &limit), REPORT_RUNNING);
    assert_int_equal(slurm_meaning("NODE_FAIL", &limit), REPORT_LOST);
    assert_int_equal(slurm_meaning(NULL, &limit), REPORT_LOST);
    assert_int_equal(slurm_meaning("TIMEOUT", &limit), REPORT_ENDED);
    assert_true(limit);
    assert_true(slurm_passing("sbatch: error: Batch job submission failed: Unable to contact slurm "
                              "controller (connect failure)"));
    assert_false(slurm_passing("sbatch: error: invalid partition specified: x"));
}

static int collect(void *arg, const char *value, struct err *err)
{
    (void)err;
    buf_printf(arg, "%s ", value);
    return 0;
}

TEST(test_types)
{
    struct buf out = {0};
    struct err err = {0};
    assert_int_equal(slurm_types("gpu:a100:4(S:0-1)\n(null)\ngpu:a100:8,gpu:v100:2\ngpu:4\n"
                                 "craynetwork:4\ngpu:rtx_4090.x:1(S:0)\n",
                                 true, collect, &out, &err),
                     0);
    assert_string_equal(buf_str(&out), "gpu:a100:1 gpu:v100:1 gpu:1 gpu:rtx_4090.x:1 ");
    buf_reset(&out);
    assert_int_equal(slurm_types("zen4,ib\nzen3\n(null)\nzen4,ib\n", false, collect, &out, &err),
                     0);
    assert_string_equal(buf_str(&out), "zen4&ib zen3 ");
    buf_release(&out);
}

TEST(test_sky_answers)
{
    char status[24];
    assert_string_equal(sky_status("Some words\n[]\n", "c", status), "");
    assert_string_equal(
        sky_status("[\n  {\"name\": \"b\", \"status\": \"UP\"},\n"
                   "  {\"name\": \"c\", \"status\": \"INIT\"}\n]\nfare-sky status\n",
                   "c", status),
        "INIT");
    assert_null(sky_status("Connection refused\n", "c", status));
    assert_null(sky_status("[{\"name\": ", "c", status));
    assert_true(sky_enabled("Checking\n{\n \"default\": {\"AWS\": [\"compute\"]}\n}\n", "aws"));
    assert_false(sky_enabled("{\"default\": {}}", "aws"));
    assert_false(sky_enabled("{\"default\": {\"GCP\": []}}", "aws"));
    assert_false(sky_enabled("no", "aws"));
}

TEST(test_yaml)
{
    struct buf out = {0};
    struct err err = {0};
    assert_int_equal(yaml_quote(&out, "a\"\\\n\x7f\xe2\x80\xa8ü: #", &err), 0);
    assert_string_equal(buf_str(&out), "\"a\\\"\\\\\\u000A\\u007F\\u2028ü: #\"");
    assert_int_equal(yaml_quote(&out, "\xff", &err), ERR_FORMAT);
    buf_release(&out);
}

static void pod_is(const char *line, bool good)
{
    struct k8s_pod pod;
    assert_int_equal(k8s_pod_read(line, strlen(line), &pod), good);
}

TEST(test_pods)
{
    static const char line[] = "pod fare-k-1-1   Failed   Evicted   <none>   <none>   "
                               "2026-11-17T06:00:00Z   <none>   <none>";
    struct k8s_pod pod;
    struct buf words = {0};
    bool limit;
    assert_true(k8s_pod_read(line, strlen(line), &pod));
    assert_string_equal(pod.job, "fare-k-1-1");
    assert_int_equal(pod.code, -1);
    assert_int_equal(pod.created_s, 1794895200); // date -d 2026-11-17T06:00:00Z +%s
    assert_int_equal(k8s_meaning(&pod, pod.created_s + 5, &limit, &words), REPORT_LOST);
    snprintf(pod.reason, sizeof pod.reason, "DeadlineExceeded");
    assert_int_equal(k8s_meaning(&pod, pod.created_s + 5, &limit, &words), REPORT_ENDED);
    assert_true(limit);
    snprintf(pod.phase, sizeof pod.phase, "Pending");
    snprintf(pod.waiting, sizeof pod.waiting, "ImagePullBackOff");
    assert_int_equal(k8s_meaning(&pod, pod.created_s + 5, &limit, &words), REPORT_QUEUED);
    assert_int_equal(k8s_meaning(&pod, pod.created_s + 500, &limit, &words), REPORT_ENDED);
    buf_release(&words);
    pod_is("pod a Running <none> <none> <none> x y z", true);
    pod_is("pod a Running <none> <none> <none> x y", false);
    pod_is("pod a Running <none> <none> <none> x y z more", false);
    pod_is("job a Running <none> <none> <none> x y z", false);
    pod_is("", false);
}
