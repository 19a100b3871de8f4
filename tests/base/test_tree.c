// SPDX-License-Identifier: Apache-2.0
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/tree.h"

static char root[256];
static struct tree tree = {.root = root};

static void put(const char *name, const char *text)
{
    char path[512];
    struct err err = {0};
    snprintf(path, sizeof path, "%s%s", root, name);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    assert_ok(fs_mkdirs(path, &err), &err);
    *slash = '/';
    assert_ok(fs_write(path, text, strlen(text), &err), &err);
}

static int make_root(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(root, sizeof root, "%s/tree-XXXXXX", base ? base : "/tmp");
    return mkdtemp(root) ? 0 : -1;
}

TEST(reads_below_the_root)
{
    struct buf b = {0};
    put("/sys/cpu3/name", "  a name \n\n");
    assert_true(tree_exists(&tree, "/sys/cpu%d/name", 3));
    assert_false(tree_exists(&tree, "/sys/cpu%d/name", 4));
    assert_true(tree_text(&tree, &b, "/sys/cpu%d/name", 3));
    assert_string_equal(buf_str(&b), "  a name");
    assert_false(tree_text(&tree, &b, "/sys/none"));
    assert_string_equal(buf_str(&b), "");
    assert_false(tree_text(&tree, &b, "/sys")); // a folder is not a text
    buf_release(&b);
}

TEST(numbers)
{
    static const struct {
        const char *text;
        bool good;
        int64_t value;
    } cases[] = {
        {"42\n", true, 42},
        {"-7", true, -7},
        {"0x1002", true, 4098},
        {"9223372036854775807", true, INT64_MAX},
        {"9223372036854775808", false, 0},
        {"max", false, 0},
        {"max 100000", false, 0},
        {"200000 100000", true, 200000}, // cpu.max: the first word
        {"", false, 0},
        {"0x", false, 0},
        {"12x", false, 0},
        {"--1", false, 0},
        {"1.5", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t value = 12345;
        put("/n", cases[i].text);
        assert_int_equal(tree_int(&tree, &value, "/n"), cases[i].good);
        assert_int_equal(value, cases[i].good ? cases[i].value : 12345);
    }
}

TEST(lists_in_order)
{
    struct buf b = {0};
    put("/d/cpu10/x", "");
    put("/d/cpu2/x", "");
    put("/d/cpu1/x", "");
    assert_true(tree_list(&tree, &b, "/d"));
    assert_string_equal(buf_str(&b), "cpu1\ncpu2\ncpu10\n");
    char *cursor = b.data;
    assert_string_equal(text_line(&cursor), "cpu1");
    assert_string_equal(text_line(&cursor), "cpu2");
    assert_string_equal(text_line(&cursor), "cpu10");
    assert_null(text_line(&cursor));
    assert_false(tree_list(&tree, &b, "/none"));
    buf_release(&b);
}

TEST(links)
{
    struct buf b = {0};
    char path[512];
    snprintf(path, sizeof path, "%s/link", root);
    assert_int_equal(symlink("../drivers/amdgpu", path), 0);
    assert_true(tree_link(&tree, &b, "/link"));
    assert_string_equal(buf_str(&b), "../drivers/amdgpu");
    assert_false(tree_link(&tree, &b, "/none"));
    buf_release(&b);
}

// The kernel's own format, see proc(5).
TEST(values_by_key)
{
    struct buf b = {0};
    const char *meminfo = "MemTotal:       24684100 kB\nMemFree:  1 kB\nSwapTotal:\t0 kB\nMem: 9";
    assert_true(tree_value(&tree, meminfo, "MemTotal", ':', &b));
    assert_string_equal(buf_str(&b), "24684100 kB");
    assert_true(tree_value(&tree, meminfo, "SwapTotal", ':', &b));
    assert_string_equal(buf_str(&b), "0 kB");
    assert_true(tree_value(&tree, meminfo, "Mem", ':', &b)); // not a beginning of MemTotal
    assert_string_equal(buf_str(&b), "9");
    assert_false(tree_value(&tree, meminfo, "Swap", ':', &b));
    assert_false(tree_value(&tree, "", "Swap", ':', &b));
    buf_release(&b);
}

TEST(long_paths_are_refused)
{
    struct buf b = {0};
    assert_false(tree_text(&tree, &b, "/%05000d", 1));
    assert_false(tree.failed);
    buf_release(&b);
}

int main(void)
{
    return run_all_tests(make_root, NULL);
}
