// SPDX-License-Identifier: Apache-2.0
#include "data/folder.h"

#include "data/files.h"
#include "data/identity.h"

static int find(const char *a, const char *b, char *out, struct err *err)
{
    struct folder folder;
    struct buf path = {0};
    const char *const endings[] = {a, b, NULL};
    int rc = folder_open(&folder, files_at("set"), err);
    if (rc != 0)
        return rc;
    rc = folder_find(&folder, endings, &path, err);
    if (rc == 0)
        snprintf(out, 100, "%s", strrchr(path.data, '/') + 1);
    buf_release(&path);
    folder_release(&folder);
    return rc;
}

static void test_find(void **state)
{
    (void)state;
    char out[100];
    struct err err = {0};
    files_puts("set/b-images", "");
    files_puts("set/b-images.gz", "");
    files_puts("set/labels.gz", "");
    files_puts("set/X.CSV", "");
    files_puts("set/one.txt", "");
    files_puts("set/two.txt", "");
    files_puts("set/.hidden.txt", "");
    files_puts("set/deep-images/file", "");
    assert_ok(find("-images", NULL, out, &err), &err); // not the folder, not the packed one
    assert_string_equal(out, "b-images");
    assert_ok(find("absent", "labels", out, &err), &err);
    assert_string_equal(out, "labels.gz");
    assert_ok(find(".csv", NULL, out, &err), &err);
    assert_string_equal(out, "X.CSV");
    assert_fails(find(".txt", NULL, out, failed), ERR_FORMAT, "one.txt and two.txt");
    assert_fails(find("train", NULL, out, failed), ERR_MISSING, "set' has no train");
    assert_fails(find(".jpg", NULL, out, failed), ERR_MISSING, "has no file that ends in .jpg");
}

static void test_folder(void **state)
{
    (void)state;
    struct folder folder;
    struct err err = {0};
    files_puts("names/b", "");
    files_puts("names/a", "");
    files_puts("names/B", "");
    files_puts("names/.a", "");
    assert_ok(folder_open(&folder, files_at("names"), &err), &err);
    assert_int_equal(folder.count, 3);
    assert_string_equal(folder.names[0], "B");
    assert_string_equal(folder.names[1], "a");
    assert_string_equal(folder.names[2], "b");
    folder_release(&folder);
    folder_release(&folder);
    assert_fails(folder_open(&folder, files_at("absent"), failed), ERR_MISSING,
                 "cannot open the folder");
    assert_fails(folder_open(&folder, files_at("names/a"), failed), ERR_MISSING,
                 "cannot open the folder");
    assert_true(folder_is(files_at("names")) && !folder_is(files_at("names/a")));
    assert_true(folder_has_file(files_at("names/a")) && !folder_has_file(files_at("names")));
    assert_false(folder_has_file(files_at("absent")));
}

// printf one >a; printf two >b; sha256sum a b | sha256sum
static void test_identity(void **state)
{
    (void)state;
    struct identity identity;
    struct err err = {0};
    static const char *const texts[] = {"one", "two"}, *const names[] = {"a", "b"};
    identity_init(&identity);
    for (int i = 0; i < 2; i++) {
        struct sha256 sha;
        uint8_t sum[SHA256_BYTES];
        sha256_init(&sha);
        sha256_add(&sha, texts[i], 3);
        sha256_done(&sha, sum);
        identity_add(&identity, sum, names[i]);
    }
    char *text = identity_text(&identity, &err);
    assert_string_equal(text, "d17138d96382403690482a89da33475336ab36c046a6912a86badedd62301cb8");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_folder),
        cmocka_unit_test(test_identity),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
