// SPDX-License-Identifier: Apache-2.0
#include "machine/mounts.h"

#include "host.h"

static void test_line_of_the_manual(void **state)
{
    (void)state;
    // proc(5), "/proc/pid/mountinfo": the example, with its field numbers (3) to (11).
    char text[] =
        "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n";
    char *cursor = text;
    struct mount m;
    assert_true(mounts_next(&cursor, &m));
    assert_int_equal(m.major, 98);
    assert_int_equal(m.minor, 0);
    assert_string_equal(m.root, "/mnt1");
    assert_string_equal(m.point, "/mnt2");
    assert_string_equal(m.type, "ext3");
    assert_string_equal(m.source, "/dev/root");
    assert_string_equal(m.super_options, "rw,errors=continue");
    assert_false(mounts_next(&cursor, &m));
}

static void test_optional_fields_and_escapes(void **state)
{
    (void)state;
    // No optional field; three of them; every character that the kernel escapes (mangle() in
    // fs/proc_namespace.c: space, tab, newline, backslash), and '#' in a source.
    char text[] = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
                  "2 1 0:5 /a\\040b /c\\011d\\012e\\134f rw shared:1 master:2 unbindable - fuse.x "
                  "a\\043b\\040c rw\n";
    char *cursor = text;
    struct mount m;
    assert_true(mounts_next(&cursor, &m));
    assert_string_equal(m.source, "/dev/sda1");
    assert_true(mounts_next(&cursor, &m));
    assert_string_equal(m.root, "/a b");
    assert_string_equal(m.point, "/c\td\ne\\f");
    assert_string_equal(m.source, "a#b c");
}

static void test_bad_lines_are_passed_over(void **state)
{
    (void)state;
    char text[] = "\n"
                  "garbage\n"
                  "1 2 3 4 5 6\n"
                  "36 35 98:0 /r /p rw master:1\n"                // cut off before the hyphen
                  "36 35 98:0 /r /p rw -\n"                       // and after it
                  "36 35 98:0 /r /p rw - ext4\n"                  // no source
                  "36 35 98-0 /r /p rw - ext4 s rw\n"             // no device
                  "36 35 98:0x /r /p rw - ext4 s rw\n"            // nor here
                  "36 35 0:4 mnt:[4026531840] /p rw - nsfs n r\n" // root is no path
                  "37 35 98:0 /r p rw - ext4 s rw\n"
                  "38 35 98:1 /ok /\\04 rw - ext4 \\400 rw\n" // not escapes: left as they are
                  "39 35 98:1 /ok /\\000 rw - ext4 s";        // no options, no newline
    char *cursor = text;
    struct mount m;
    assert_true(mounts_next(&cursor, &m));
    assert_string_equal(m.point, "/\\04");
    assert_string_equal(m.source, "\\400");
    assert_true(mounts_next(&cursor, &m));
    assert_string_equal(m.point, "/\\000");
    assert_string_equal(m.super_options, "");
    assert_false(mounts_next(&cursor, &m));
}

static void test_below(void **state)
{
    (void)state;
    assert_true(path_is_below("/a/b", "/a"));
    assert_true(path_is_below("/a", "/a"));
    assert_true(path_is_below("/a", "/a/"));
    assert_true(path_is_below("/a", "/"));
    assert_true(path_is_below("/", "/"));
    assert_false(path_is_below("/ab", "/a"));
    assert_false(path_is_below("/a", "/a/b"));
    assert_false(path_is_below("/", "/a"));
}

static const char *over(const char *path)
{
    static char text[1024];
    snprintf(text, sizeof text, "%s",
             "1 0 8:1 / / rw - ext4 root rw\n"
             "2 1 0:9 / /home/ml rw - nfs4 far rw\n"
             "3 1 8:2 / /home rw - xfs homes rw\n" // shorter, though later
             "4 1 8:3 / /mnt rw - xfs lower rw\n"
             "5 4 8:4 / /mnt rw - xfs upper rw\n"); // on top of the one before
    struct mount m;
    assert_true(mounts_over(text, path, &m));
    return m.source;
}

static void test_longest_and_last(void **state)
{
    (void)state;
    assert_string_equal(over("/"), "root");
    assert_string_equal(over("/homes"), "root");
    assert_string_equal(over("/home/other"), "homes");
    assert_string_equal(over("/home/ml"), "far");
    assert_string_equal(over("/home/ml/x/y"), "far");
    assert_string_equal(over("/mnt/x"), "upper");
    char none[] = "4 1 8:3 / /mnt rw - xfs lower rw\n";
    struct mount m;
    assert_false(mounts_over(none, "/home", &m));
}

static void test_options(void **state)
{
    (void)state;
    struct mount m = {.super_options = "rw,cpuset,size=65536k,cpu,empty=,name=systemd"};
    const char *value;
    size_t len;
    assert_true(mount_option(&m, "size", &value, &len));
    assert_int_equal(len, 6);
    assert_memory_equal(value, "65536k", 6);
    assert_true(mount_option(&m, "cpu", &value, &len)); // not the beginning of "cpuset"
    assert_int_equal(len, 0);
    assert_ptr_equal(value, strstr(m.super_options, ",empty"));
    assert_true(mount_option(&m, "empty", &value, &len));
    assert_int_equal(len, 0);
    assert_true(mount_option(&m, "rw", &value, &len));
    assert_false(mount_option(&m, "cpuse", &value, &len));
    assert_false(mount_option(&m, "systemd", &value, &len));
    assert_false(mount_option(&m, "memory", &value, &len));
    m.super_options = "";
    assert_false(mount_option(&m, "rw", &value, &len));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line_of_the_manual),
        cmocka_unit_test(test_optional_fields_and_escapes),
        cmocka_unit_test(test_bad_lines_are_passed_over),
        cmocka_unit_test(test_below),
        cmocka_unit_test(test_longest_and_last),
        cmocka_unit_test(test_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
