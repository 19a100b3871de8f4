// SPDX-License-Identifier: Apache-2.0
// Termination notices, against servers on the loopback device that behave and misbehave. The
// answers are those that the clouds' documentation shows.
#define SERVER_SCRIPT "save/notice_server.py"
#include "save/notice.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/fs.h"
#include "save/notice_source.h"
#include "machine/server.h"

#define PATIENCE_NS (30 * NS_PER_S)

// ---- answers

TEST(test_aws_answers)
{
    struct notice_found f;
    // EC2 user guide, "Spot Instance interruption notices".
    const char *text = "{\"action\": \"stop\", \"time\": \"2017-09-18T08:22:00Z\"}";
    notice_aws_action(200, text, strlen(text), &f);
    assert_true(f.known && f.kind == NOTICE_END && f.dated);
    assert_int_equal(f.date_s, 1505722920); // date -ud 2017-09-18T08:22:00Z +%s
    notice_aws_action(404, "", 0, &f);
    assert_true(f.known && f.kind == NOTICE_NONE);
    static const char *const nonsense[] = {"",
                                           "{",
                                           "[]",
                                           "null",
                                           "\"terminate\"",
                                           "{\"action\": 3}",
                                           "{\"action\": \"dance\"}",
                                           "<html>",
                                           "{\"time\": \"2017-09-18T08:22:00Z\"}"};
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        notice_aws_action(200, nonsense[i], strlen(nonsense[i]), &f);
        assert_false(f.known);
    }
    notice_aws_action(500, text, strlen(text), &f);
    assert_false(f.known);
    text = "{\"action\": \"terminate\", \"time\": \"soon\"}"; // the action counts without a time
    notice_aws_action(200, text, strlen(text), &f);
    assert_true(f.known && f.kind == NOTICE_END && !f.dated);
    f = (struct notice_found){.known = true};
    text = "{\"noticeTime\": \"2020-10-27T08:22:00Z\"}"; // the guide, "rebalance recommendations"
    notice_aws_rebalance(200, text, strlen(text), &f);
    assert_int_equal(f.kind, NOTICE_RISK);
}

TEST(test_gcp_answers)
{
    struct notice_found f;
    notice_gcp_read(200, "TRUE\n", 5, &f);
    assert_true(f.known && f.kind == NOTICE_END);
    notice_gcp_read(200, "FALSE", 5, &f);
    assert_true(f.known && f.kind == NOTICE_NONE);
    notice_gcp_read(200, "TRUEISH", 7, &f);
    assert_false(f.known);
    notice_gcp_read(200, "", 0, &f);
    assert_false(f.known);
    notice_gcp_read(503, "TRUE", 4, &f);
    assert_false(f.known);
}

// The example of "Azure Metadata Service: Scheduled Events for Linux VMs".
#define AZURE(type, resource, before)                                                              \
    "{\"DocumentIncarnation\": 1, \"Events\": [{\"EventId\": \"C7061BAC\", \"EventType\": \"" type \
    "\", \"ResourceType\": \"VirtualMachine\", \"Resources\": [\"" resource                        \
    "\"], \"EventStatus\": \"Scheduled\", \"NotBefore\": \"" before "\"}]}"

static void azure(const char *text, const char *name, struct notice_found *f)
{
    notice_azure_read(200, text, strlen(text), name, f);
}

TEST(test_azure_answers)
{
    struct notice_found f;
    azure(AZURE("Preempt", "FrontEnd_IN_0", "Mon, 19 Sep 2016 18:29:47 GMT"), "FrontEnd_IN_0", &f);
    assert_true(f.known && f.kind == NOTICE_END && f.dated);
    assert_int_equal(f.date_s, 1474309787); // date -ud '2016-09-19 18:29:47' +%s
    azure(AZURE("Preempt", "FrontEnd_IN_0", ""), "frontend_in_0", &f);
    assert_true(f.known && f.kind == NOTICE_END && !f.dated); // it has started
    azure(AZURE("Preempt", "FrontEnd_IN_0", ""), "FrontEnd_IN_1", &f);
    assert_true(f.known && f.kind == NOTICE_NONE); // another machine's
    azure(AZURE("Freeze", "FrontEnd_IN_0", ""), "FrontEnd_IN_0", &f);
    assert_true(f.known && f.kind == NOTICE_NONE); // a pause of seconds ends nothing
    azure("{\"DocumentIncarnation\": 1, \"Events\": []}", "a", &f);
    assert_true(f.known && f.kind == NOTICE_NONE);
    static const char *const nonsense[] = {"", "{}", "[]", "{\"Events\": 3}", "<html>"};
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        azure(nonsense[i], "a", &f);
        assert_false(f.known);
    }
    azure(
        "{\"Events\": [3, null, {\"EventType\": 4}, {\"EventType\": \"Preempt\", \"Resources\": 1, "
        "\"NotBefore\": []}]}",
        "a", &f);
    assert_true(f.known && f.kind == NOTICE_END && !f.dated);
    int64_t date_s;
    static const char *const wrong[] = {"",
                                        "Mon",
                                        "Mon, 19 Sepp 2016 18:29:47 GMT",
                                        "Mon, 19 epO 2016 18:29:47 GMT",
                                        "Mon, 32 Sep 2016 18:29:47 GMT",
                                        "Mon, -1 Sep 2016 18:29:47 GMT",
                                        "Mon, 19 Sep 2016 25:29:47 GMT"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(notice_date_1123(wrong[i], &date_s));
}

TEST(test_file_answers)
{
    struct notice_found f;
    notice_file_read("", 0, &f);
    assert_true(f.kind == NOTICE_END && !f.counted && !f.dated);
    notice_file_read("45\n", 3, &f);
    assert_true(f.counted && f.left_ns == 45 * NS_PER_S);
    notice_file_read("risk\n", 5, &f);
    assert_int_equal(f.kind, NOTICE_RISK);
    notice_file_read("{\"in_s\": 2.5}", 13, &f);
    assert_true(f.counted && f.left_ns == 2500 * NS_PER_MS);
    notice_file_read("2017-09-18T08:22:00Z", 20, &f);
    assert_true(f.dated && f.date_s == 1505722920);
    notice_file_read("\x01\xff -7 {", 8, &f); // a notice all the same
    assert_true(f.kind == NOTICE_END && !f.counted && !f.dated);
}

TEST(test_words)
{
    struct err err = {0};
    int number;
    int64_t lead_ns;
    assert_ok(notices_check("auto", &err), &err);
    assert_ok(notices_check("none", &err), &err);
    assert_ok(notices_check("aws,gcp,azure,signal:USR1@120,file:/tmp/a:b", &err), &err);
    static const char *const wrong[] = {"ec2",    "file",        "file:",         "aws:x",
                                        "aws,,x", "signal:KILL", "signal:USR1@x", "signal@0"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (notices_check(wrong[i], NULL) != ERR_USAGE)
            fail_msg("'%s' is taken", wrong[i]);
    assert_ok(notice_signal_read("signal:USR1@120", &number, &lead_ns, &err), &err);
    assert_int_equal(number, SIGUSR1);
    assert_int_equal(lead_ns, 120 * NS_PER_S);
    assert_ok(notice_signal_read("signal", &number, &lead_ns, &err), &err);
    assert_int_equal(number, SIGTERM);
}

// ---- servers

struct scenario {
    const char *cloud, *when;
    const char *source;
    enum notice_kind kind;
    double least_s, most_s; // left when it is seen
    bool told;
    bool goes; // it is withdrawn later

    struct server server;
    struct notices *notices;
    struct notice seen;
};

static struct scenario scenarios[] = {
    {"aws", "ontime", "aws", NOTICE_END, 60, 121, true},
    {"v1only", "ontime", "aws", NOTICE_END, 60, 121, true},
    {"aws", "late", "aws", NOTICE_END, 0, 9, true},
    {"aws", "past", "aws", NOTICE_END, 60, 121, false},  // acts by the usual lead
    {"aws", "ahead", "aws", NOTICE_END, 60, 121, false}, // the same
    {"aws", "twice", "aws", NOTICE_END, 30, 121, true},
    {"aws", "withdrawn", "aws", NOTICE_END, 30, 121, true, true},
    {"aws", "flicker", "aws", NOTICE_END, 30, 121, true},
    {"rebalance", "ontime", "aws", NOTICE_RISK, -1e9, 1e9, false},
    {"gcp", "ontime", "gcp", NOTICE_END, 1, 31, false},
    {"gcp", "withdrawn", "gcp", NOTICE_END, 1, 31, false, true},
    {"azure", "ontime", "azure", NOTICE_END, 1, 32, true},
    {"azure", "started", "azure", NOTICE_END, 1, 31, false},
    {"aws", "never", "aws"},
    {"aws", "garbage", "aws"},
    {"aws", "html", "aws"},
    {"aws", "hang", "aws"},
    {"aws", "error", "aws"},
    {"gcp", "never", "gcp"},
    {"gcp", "html", "gcp"},
    {"gcp", "hang", "gcp"},
    {"azure", "other", "azure"},
    {"azure", "garbage", "azure"},
    {"azure", "hang", "azure"},
};
enum { SCENARIOS = sizeof scenarios / sizeof *scenarios };

static void open_one(struct scenario *s)
{
    struct err err = {0};
    const char *more[] = {s->when, NULL};
    server_start(&s->server, s->cloud, more);
    const struct notices_options o = {
        .wanted = s->source, .metadata = s->server.url, .every_ns = 150 * NS_PER_MS};
    assert_ok(notices_open(&s->notices, &o, &err), &err);
}

static bool wait_for(struct scenario *s, enum notice_kind kind, struct notice *n)
{
    int64_t until_ns = clock_now_ns() + PATIENCE_NS;
    do {
        notices_look(s->notices, n);
        if (n->kind == kind)
            return true;
        clock_sleep_ns(20 * NS_PER_MS);
    } while (clock_now_ns() < until_ns);
    return false;
}

TEST(test_servers)
{
    for (int i = 0; i < SCENARIOS; i++)
        open_one(&scenarios[i]);
    for (int i = 0; i < SCENARIOS; i++) {
        struct scenario *s = &scenarios[i];
        if (s->kind == NOTICE_NONE || s->goes) // may have come and gone while others were looked at
            continue;
        if (!wait_for(s, s->kind, &s->seen))
            fail_msg("%s %s: no notice", s->cloud, s->when);
        double left_s = (double)(s->seen.until_ns - s->seen.seen_ns) / 1e9;
        if (s->kind == NOTICE_END && !(left_s >= s->least_s && left_s <= s->most_s))
            fail_msg("%s %s: %g s left", s->cloud, s->when, left_s);
        if (s->seen.told != s->told)
            fail_msg("%s %s: told %d", s->cloud, s->when, s->seen.told);
        assert_string_equal(s->seen.source, s->source);
    }
    clock_sleep_ns(3 * NS_PER_S);
    for (int i = 0; i < SCENARIOS; i++) {
        struct scenario *s = &scenarios[i];
        struct notice n;
        if (s->goes && !wait_for(s, NOTICE_NONE, &n))
            fail_msg("%s %s: it stays", s->cloud, s->when);
        notices_look(s->notices, &n);
        enum notice_kind expected = s->goes ? NOTICE_NONE : s->kind;
        if (n.kind != expected)
            fail_msg("%s %s: kind %d at the end", s->cloud, s->when, n.kind);
        if (strcmp(s->when, "twice") == 0) // the second time counts
            assert_true(n.until_ns - n.seen_ns < 70 * NS_PER_S);
    }
    int64_t began_ns = clock_now_ns();
    for (int i = 0; i < SCENARIOS; i++)
        notices_close(scenarios[i].notices); // none waits for a server that hangs
    assert_true(clock_now_ns() - began_ns < 10 * NS_PER_S);
    for (int i = 0; i < SCENARIOS; i++)
        server_end(&scenarios[i].server);
}

// A notice that is withdrawn was in force before.
TEST(test_withdrawn)
{
    struct scenario s = {"gcp", "withdrawn", "gcp"};
    struct notice n;
    open_one(&s);
    assert_true(wait_for(&s, NOTICE_END, &n));
    assert_true(wait_for(&s, NOTICE_NONE, &n));
    notices_close(s.notices);
    server_end(&s.server);
}

TEST(test_file_and_signal)
{
    struct err err = {0};
    char folder[] = "/tmp/fare-notice-XXXXXX", path[64], words[96];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "file:%s/soon", folder);
    snprintf(words, sizeof words, "%s,signal:TERM@7", path);
    struct scenario s = {"", "", words};
    struct notice n;
    const struct notices_options o = {.wanted = words, .every_ns = 50 * NS_PER_MS};
    assert_ok(notices_open(&s.notices, &o, &err), &err);
    clock_sleep_ns(200 * NS_PER_MS);
    notices_look(s.notices, &n);
    assert_int_equal(n.kind, NOTICE_NONE);
    assert_ok(fs_write(path + 5, "90", 2, &err), &err);
    assert_true(wait_for(&s, NOTICE_END, &n));
    assert_string_equal(n.source, "file");
    assert_false(notices_signal(s.notices, SIGUSR1));
    assert_true(notices_signal(s.notices, SIGTERM)); // it is sooner
    notices_look(s.notices, &n);
    assert_string_equal(n.source, "signal");
    assert_int_equal(n.until_ns - n.seen_ns, 7 * NS_PER_S);
    int64_t until_ns = n.until_ns;
    assert_true(notices_signal(s.notices, SIGTERM)); // the second one moves nothing
    notices_look(s.notices, &n);
    assert_int_equal(n.until_ns, until_ns);
    notices_close(s.notices);
    unlink(path + 5);
    rmdir(folder);
}

TEST(test_auto)
{
    struct err err = {0};
    struct notices *n;
    char words[200];
    const struct notices_options none = {.wanted = "auto"};
    assert_ok(notices_open(&n, &none, &err), &err);
    notices_words(n, words, sizeof words);
    assert_string_equal(words, "SIGTERM");
    notices_close(n);
    const struct notices_options off = {.wanted = "auto", .provider = "gcp", .metadata = "off"};
    assert_ok(notices_open(&n, &off, &err), &err);
    notices_words(n, words, sizeof words);
    assert_string_equal(words, "SIGTERM");
    notices_close(n);
    const struct notices_options here = {
        .wanted = "auto", .provider = "gcp", .metadata = "http://127.0.0.1:9"};
    assert_ok(notices_open(&n, &here, &err), &err);
    notices_words(n, words, sizeof words);
    assert_string_equal(words, "SIGTERM, gcp");
    notices_close(n);
}
