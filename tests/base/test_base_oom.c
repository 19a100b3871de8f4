// SPDX-License-Identifier: Apache-2.0
// Every allocation of the plain base parts fails once; an error must come back, nothing leaks.
#include "oom.h"

#include <stdio.h>
#include <unistd.h>

#include "base/dl.h"
#include "base/fs.h"
#include "base/opt.h"
#include "base/tree.h"
#include "command.h"

static void buf_and_text(void **state)
{
    (void)state;
    OOM_EACH
    {
        struct err err = {0};
        struct buf b = {0};
        for (int i = 0; i < 50; i++)
            buf_printf(&b, "line %d of some length\n", i);
        char *text = buf_take(&b, &err);
        int rc = text ? 0 : ERR_MEMORY;
        free(text);
        OOM_EXPECT(rc, &err);
    }
}

static void fs(void **state)
{
    (void)state;
    char path[300];
    snprintf(path, sizeof path, "%s/oom-file", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    OOM_EACH
    {
        struct err err = {0};
        struct buf b = {0};
        int rc = fs_write(path, "text", 4, &err);
        if (rc == 0)
            rc = fs_read(path, 100, &b, &err);
        buf_release(&b);
        OOM_EXPECT(rc, &err);
    }
    unlink(path);
}

static void trees(void **state)
{
    (void)state;
    OOM_EACH
    {
        struct err err = {0};
        struct tree tree = {.root = ""};
        struct buf b = {0}, value = {0};
        int64_t number;
        tree_list(&tree, &b, "/proc/self");
        tree_link(&tree, &b, "/proc/self/exe");
        tree_int(&tree, &number, "/proc/sys/kernel/pid_max");
        if (tree_text(&tree, &b, "/proc/meminfo"))
            tree_value(&tree, buf_str(&b), "MemTotal", ':', &value);
        buf_release(&b);
        buf_release(&value);
        OOM_EXPECT(tree_check(&tree, &err), &err);
    }
}

static void options(void **state)
{
    (void)state;
    struct opt_texts labels = {0};
    static const struct opt table[] = {{"label", 0, OPT_TEXTS, "X", NULL, 0, NULL, ""}, {NULL}};
    const struct opt *const tables[] = {table, NULL};
    char a[] = "--label=a", b[] = "--label=b", c[] = "c";
    char *argv[] = {a, b, c, NULL};
    OOM_EACH
    {
        struct err err = {0};
        struct opt_rest rest;
        int rc = opt_parse(tables, 3, argv, &labels, false, &rest, NULL, &err);
        opt_release(tables, &labels, &rest);
        OOM_EXPECT(rc, &err);
    }
}

static void processes(void **state)
{
    (void)state;
    OOM_EACH
    {
        struct err err = {0};
        struct proc_result result;
        const char *argv[] = {"echo", "some output", NULL};
        int rc = command_run(argv, NULL, &result, &err);
        proc_result_release(&result);
        OOM_EXPECT(rc, &err);
    }
}

static void library_errors(void **state)
{
    (void)state;
    // The reason that dl collects is a nicety: without memory for it the library is still missing.
    const char *const names[] = {"libnone.so.9", NULL};
    const struct dl_spec spec = {.what = "it", .names = names};
    OOM_EACH
    {
        struct err err = {0};
        struct dl dl;
        char table[8];
        int rc = dl_open(&dl, &spec, table, &err);
        oom_countdown = -1;
        assert_int_equal(rc, ERR_MISSING);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buf_and_text), cmocka_unit_test(fs),
        cmocka_unit_test(trees),        cmocka_unit_test(options),
        cmocka_unit_test(processes),    cmocka_unit_test(library_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
