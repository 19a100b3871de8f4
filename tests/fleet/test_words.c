// SPDX-License-Identifier: Apache-2.0
// Words on their way to another machine: quoting against a real sh, words on disk, sweeps.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "fleet/sweep.h"
#include "fleet/target.h"
#include "test.h"

static const char *const odd[] = {
    "",         "a",   "two words", "it's", "''",    "\"", "$(exit 9)", "`exit 9`", "new\nline",
    "-n",       "--",  "\\",        "\\n",  "*",     "~",  "#",         "a;b|c&d",  "\x01\x7f",
    "\xff\xfe", "%41", "%",         " x ",  "$HOME", "{}", "!",         NULL};

// printf in a real shell gives back exactly the words.
TEST(test_quoting)
{
    struct err err = {0};
    struct buf script = {0}, want = {0};
    struct call call = {0};
    struct call_result result = {0};
    buf_adds(&script, "printf '%s\\0'");
    for (size_t i = 0; odd[i]; i++) {
        buf_addc(&script, ' ');
        shell_quote(&script, odd[i]);
        buf_addc(&script, ' ');
        shell_word(&script, odd[i]);
        buf_add(&want, odd[i], strlen(odd[i]) + 1);
        buf_add(&want, odd[i], strlen(odd[i]) + 1);
    }
    call_arg(&call, "sh");
    call_arg(&call, "-s");
    buf_add(&call.input, buf_str(&script), script.len);
    assert_ok(call_run(&call, &result, &err), &err);
    assert_true(result.exited && result.exit_code == 0);
    assert_int_equal(result.out.len, want.len);
    assert_memory_equal(result.out.data, want.data, want.len);
    call_release(&call);
    call_result_release(&result);
    buf_release(&script);
    buf_release(&want);
}

TEST(test_plain)
{
    struct buf out = {0};
    shell_word(&out, "aws/p3.2xlarge@us-east-1:spot");
    assert_string_equal(buf_str(&out), "aws/p3.2xlarge@us-east-1:spot");
    buf_release(&out);
}

TEST(test_split)
{
    char **words = shell_split("  ssh -F  a'b$(c)  ");
    assert_string_equal(words[0], "ssh");
    assert_string_equal(words[1], "-F");
    assert_string_equal(words[2], "a'b$(c)");
    assert_null(words[3]);
    free(words);
    words = shell_split("x");
    assert_string_equal(words[0], "x");
    assert_null(words[1]);
    free(words);
    assert_null(shell_split("   "));
    assert_null(shell_split(""));
}

// Through the record's own clean-up and back.
TEST(test_on_disk)
{
    struct err err = {0};
    struct task task = {0};
    for (size_t i = 0; odd[i]; i++)
        assert_ok(task_word_add(&task.command, odd[i], &err), &err);
    for (size_t i = 0; odd[i]; i++) {
        struct buf word = {0};
        task_word(task.command.items[i], &word);
        assert_string_equal(buf_str(&word), odd[i]);
        buf_release(&word);
    }
    record_release(task_fields, &task);
}

TEST(test_sweep)
{
    struct err err = {0};
    struct sweep sweep = {0};
    struct buf word = {0};
    char *command[] = {(char[]){"--lr={lr}"}, (char[]){"{seed}{x}{"}, NULL};
    assert_ok(sweep_add(&sweep, "lr=0.1,0.01", &err), &err);
    assert_ok(sweep_add(&sweep, "seed=1..3", &err), &err);
    assert_int_equal(sweep.combinations, 6);
    assert_string_equal(sweep_value(&sweep, 0, 0), "0.1");
    assert_string_equal(sweep_value(&sweep, 5, 0), "0.01");
    assert_string_equal(sweep_value(&sweep, 4, 1), "2");
    sweep_fill(&sweep, 4, command[0], &word);
    sweep_fill(&sweep, 4, command[1], &word);
    assert_string_equal(buf_str(&word), "--lr=0.012{x}{");
    assert_ok(sweep_check(&sweep, command, &err), &err);
    assert_ok(sweep_add(&sweep, "x=9..7,a..b,..,../1,v1..2", &err), &err);
    assert_string_equal(sweep_value(&sweep, 1, 2), "8");
    assert_string_equal(sweep_value(&sweep, 3, 2), "a..b");
    buf_release(&word);
    sweep_release(&sweep);
}

TEST(test_sweep_refused)
{
    static const char *const bad[] = {"",
                                      "lr",
                                      "=1",
                                      "lr=",
                                      "1x=2",
                                      "a b=1",
                                      "-x=1",
                                      "n=1..99999999999",
                                      "n=1..100001",
                                      "$(x)=1",
                                      "lr=0.1..0.5",
                                      "n=1..8..2",
                                      "n=1..",
                                      "n=..8",
                                      "n=1...8",
                                      "n=99999999999999999999..3",
                                      "n=a,1..1e3",
                                      NULL};
    for (size_t i = 0; bad[i]; i++) {
        struct sweep sweep = {0};
        struct err err = {0};
        assert_int_equal(sweep_add(&sweep, bad[i], &err), ERR_USAGE);
        sweep_release(&sweep);
    }
    struct sweep sweep = {0};
    struct err err = {0};
    char *command[] = {(char[]){"{b}"}, NULL};
    assert_ok(sweep_add(&sweep, "a=1..1000", &err), &err);
    assert_int_equal(sweep_check(&sweep, command, &err), ERR_USAGE);
    assert_int_equal(sweep_add(&sweep, "a=1", &err), ERR_USAGE);
    assert_int_equal(sweep_add(&sweep, "b=1..101", &err), ERR_USAGE);
    sweep_release(&sweep);
}

TEST(test_places)
{
    struct err err = {0};
    struct places places = {0};
    assert_ok(target_parse("ssh:a@b.c,d=aws/g5.xlarge,here,ssh:[fe80::1%25eth0]", &places, &err),
              &err);
    assert_int_equal(places.count, 4);
    assert_string_equal(places.items[0].name, "ssh:a@b.c");
    assert_string_equal(places.items[1].value, "d");
    assert_string_equal(places.items[1].offer, "aws/g5.xlarge");
    assert_ptr_equal(places.items[2].target, &target_here);
    assert_string_equal(places.items[3].value, "[fe80::1%25eth0]");
    places_release(&places);
    static const char *const bad[] = {"ssh:-x",   "ssh:a b",  "ssh:u@",   "ssh:@",  "ssh:u@-x",
                                      "ssh:-u@x", "ssh:a\nb", "ssh:a,,b", "ssh:$x", "here:1",
                                      "",         ",",        "ssh",      "none:a", NULL};
    for (size_t i = 0; bad[i]; i++) {
        struct err why = {0};
        assert_int_not_equal(target_parse(bad[i], &places, &why), 0);
        places_release(&places);
    }
}
