// SPDX-License-Identifier: Apache-2.0
// Getting sets: from files, and from a server on the loopback device. Sums are sha256sum's.
#include "train/data/fetch.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>

#include "train/data/archive.h"
#include "machine/server.h"

#define HELLO                                                                                      \
    "d4e10166a657fc3f93818e86c62b43bf5e8919edd4130d219009a0108b130cd9" // of "hello hello hello"

// A set of up to seven files; "~" in a url is the folder of these tests.
static char urls[7][400];
static struct public_file files[8];
static struct public_set set;

static void begin(const char *name)
{
    memset(files, 0, sizeof files);
    set = (struct public_set){.name = name, .files = files};
}

static void add(struct public_file file)
{
    int i = 0;
    while (files[i].name)
        i++;
    struct buf url = {0};
    for (const char *p = file.url ? file.url : ""; *p; p++)
        if (*p == '~')
            buf_adds(&url, files_root);
        else
            buf_addc(&url, *p);
    snprintf(urls[i], sizeof urls[i], "%s", buf_str(&url));
    buf_release(&url);
    file.url = file.url ? urls[i] : NULL;
    files[i] = file;
}
#define FILE_(...) add((struct public_file){__VA_ARGS__})

static int get(struct data_got *got, struct err *err)
{
    char cache[100];
    snprintf(cache, sizeof cache, "%s/cache", files_root);
    const struct data_get how = {.set = &set, .cache_dir = cache, .allow_file = true};
    return data_get(&how, got, err);
}

static int try(struct err *err)
{
    struct data_got got;
    int rc = get(&got, err);
    data_got_release(&got);
    return rc;
}

static void expect_file(const char *name, const char *text)
{
    struct buf have = {0};
    struct err err = {0};
    char path[300];
    snprintf(path, sizeof path, "%s/cache/%s", files_root, name);
    assert_ok(fs_read(path, 1 << 20, &have, &err), &err);
    assert_string_equal(buf_str(&have), text);
    buf_release(&have);
}

// How many names the cache's folder has, hidden ones too, locks not counted.
static int names_in_cache(void)
{
    int count = 0;
    DIR *dir = opendir(files_at("cache"));
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
                 !strstr(entry->d_name, ".lock");
    closedir(dir);
    return count;
}

TEST(test_plain_and_gzip)
{
    struct data_got got;
    struct err err = {0};
    files_puts("home/a.txt", "hello hello hello");
    files_put_gzip("home/b.gz", "hello hello hello", 17);
    begin("set");
    FILE_("a.txt", .url = "file://~/home/a.txt", .sha256 = HELLO, .bytes = 17);
    FILE_("b.gz", .url = "file:///absent file://~/home/b.gz"); // the second address
    FILE_("b", .from = "b.gz", .sha256 = HELLO, .bytes = 17);
    assert_ok(get(&got, &err), &err);
    assert_false(got.already);
    assert_int_equal(got.checked, 2);
    assert_int_equal(got.unchecked, 1); // the archive, whose sum is not in the table
    assert_non_null(strstr(buf_str(&got.sums), "  b.gz\n"));
    assert_string_equal(got.path, files_at("cache/set"));
    expect_file("set/a.txt", "hello hello hello");
    expect_file("set/b", "hello hello hello");
    assert_int_not_equal(access(files_at("cache/set/b.gz"), F_OK), 0);
    struct buf record = {0};
    assert_ok(fs_read(files_at("cache/set/got.csv"), 1 << 16, &record, &err), &err);
    assert_non_null(strstr(record.data, "a.txt,file://"));
    assert_non_null(strstr(record.data, HELLO ",17,checked,20"));
    assert_non_null(strstr(record.data, ",recorded,20"));
    buf_release(&record);
    data_got_release(&got);

    assert_ok(get(&got, &err), &err); // no second time
    assert_true(got.already);
    assert_string_equal(got.path, files_at("cache/set"));
    data_got_release(&got);
    data_got_release(&got);
    assert_int_equal(names_in_cache(), 1);
}

TEST(test_archives)
{
    struct data_got got;
    struct err err = {0};
    struct buf tar = {0}, zip = {0}, packed = {0};
    tar_add(&tar, "top/one.txt", '0', "hello hello hello");
    tar_add(&tar, "top/train/pos/0_1.txt", '0', "review");
    tar_add(&tar, "top/train/pos/1_1.txt", '0', "another");
    tar_add(&tar, "top/train/pos/../../../../escaped", '0', "never written");
    tar_add(&tar, "top/train/pos//etc/passwd", '0', "never written");
    tar_add(&tar, "top/train/pos/.hidden", '0', "never written");
    tar_add(&tar, "top/train/unsup/0_0.txt", '0', "not wanted");
    tar_add(&tar, "top/train/pos/link", '2', "");
    files_gzip(&packed, tar.data, tar.len);
    files_put("home/t.tar.gz", packed.data, packed.len);
    zip_make(&zip, "x");
    files_put("home/z.zip", zip.data, zip.len);
    begin("arch");
    FILE_("t.tar.gz", .url = "file://~/home/t.tar.gz");
    FILE_("z.zip", .url = "file://~/home/z.zip");
    FILE_("renamed.txt", .from = "t.tar.gz:top/one.txt", .sha256 = HELLO, .bytes = 17);
    FILE_("train/pos/", .from = "t.tar.gz:top/train/pos/");
    FILE_("deep/hello.txt", .from = "z.zip:hello", .sha256 = HELLO, .bytes = 17);
    assert_ok(get(&got, &err), &err);
    assert_int_equal(got.checked, 2);
    data_got_release(&got);
    expect_file("arch/renamed.txt", "hello hello hello");
    expect_file("arch/deep/hello.txt", "hello hello hello");
    expect_file("arch/train/pos/0_1.txt", "review");
    expect_file("arch/train/pos/1_1.txt", "another");
    static const char *const never[] = {
        "cache/arch/train/pos/.hidden", "cache/arch/train/unsup", "cache/arch/train/pos/link",
        "cache/arch/t.tar.gz",          "cache/escaped",          "escaped"};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        assert_int_not_equal(access(files_at(never[i]), F_OK), 0);

    begin("lacks");
    FILE_("t.tar.gz", .url = "file://~/home/t.tar.gz");
    FILE_("x", .from = "t.tar.gz:top/absent");
    assert_fails(try(failed), ERR_MISSING, "has no member 'top/absent'");
    begin("lacks2");
    FILE_("z.zip", .url = "file://~/home/z.zip");
    FILE_("x", .from = "z.zip:absent");
    assert_fails(try(failed), ERR_MISSING, "has no member 'absent'");
    // Twice the same member: the second would write over the first.
    tar_add(&tar, "top/one.txt", '0', "other");
    files_put("home/twice.tar", tar.data, tar.len);
    begin("twice");
    FILE_("t.tar", .url = "file://~/home/twice.tar");
    FILE_("x", .from = "t.tar:top/one.txt");
    assert_fails(try(failed), ERR_IO, "cannot create");
    buf_release(&tar);
    buf_release(&zip);
    buf_release(&packed);
}

// Whatever goes wrong, no set appears, and nothing is left.
TEST(test_faults)
{
    files_puts("home/a.txt", "hello hello hello");
    files_put_gzip("home/b.gz", "hello hello hello", 17);
    int before = names_in_cache();
    begin("sum");
    FILE_("a.txt", .url = "file://~/home/a.txt", .bytes = 17,
          .sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_fails(try(failed), ERR_FORMAT, "a.txt has the SHA-256 " HELLO " instead of ba78");
    begin("short");
    FILE_("a.txt", .url = "file://~/home/a.txt", .bytes = 18);
    assert_fails(try(failed), ERR_FORMAT, "has 17 bytes instead of 18");
    begin("long");
    FILE_("a.txt", .url = "file://~/home/a.txt", .bytes = 16);
    assert_fails(try(failed), ERR_FORMAT, "is larger than 16 bytes");
    begin("absent");
    FILE_("a.txt", .url = "file://~/home/absent file:///also/absent");
    assert_fails(try(failed), ERR_MISSING, "home/absent"); // the first of the two
    begin("nozip");
    FILE_("a.txt", .url = "file://~/home/a.txt");
    FILE_("x", .from = "a.txt:member");
    assert_fails(try(failed), ERR_FORMAT, "is not a zip archive");
    begin("unpacked");
    FILE_("b.gz", .url = "file://~/home/b.gz");
    FILE_("b", .from = "b.gz", .bytes = 16);
    assert_fails(try(failed), ERR_FORMAT, "would have more than 16 bytes");
    assert_int_equal(names_in_cache(), before);

    // What a killed run left is no hindrance; another that is at work is one.
    files_puts("cache/.later.part/a.txt", "half a fi");
    begin("later");
    FILE_("a.txt", .url = "file://~/home/a.txt", .sha256 = HELLO, .bytes = 17);
    int fd = open(files_at("cache/.later.lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    assert_fails(try(failed), ERR_FAIL, "another process is getting 'later'");
    close(fd);
    struct err err = {0};
    assert_ok(try(&err), &err);
    expect_file("later/a.txt", "hello hello hello");
}

struct watch {
    int64_t most, total;
    int calls, stop_at;
};

static bool watch(void *context, const char *file, int64_t done, int64_t total)
{
    struct watch *w = context;
    assert_string_equal(file, "bytes.bin");
    w->most = done > w->most ? done : w->most;
    w->total = total;
    return ++w->calls != w->stop_at;
}

// Byte i of the server's pattern is i mod 251; the sum is Python's.
TEST(test_http)
{
    struct server web;
    struct data_got got;
    struct err err = {0};
    char cache[100], url[400];
    unsetenv("http_proxy"), unsetenv("all_proxy"), unsetenv("ALL_PROXY");
    server_start(&web, "web", NULL);
    snprintf(cache, sizeof cache, "%s/cache", files_root);
    struct watch seen = {0};
    struct data_get how = {.set = &set, .cache_dir = cache, .progress = watch, .context = &seen};
    static const char sum[] = "2c030d49ec131bfbbb446ad21e7a2f12cdb4f2f4f3fda3ac709dd2e68a4646c7";

    begin("web");
    snprintf(url, sizeof url, "%s/status?404 %s/bytes?1000000", web.url, web.url);
    FILE_("bytes.bin", .url = url, .sha256 = sum, .bytes = 1000000);
    assert_ok(data_get(&how, &got, &err), &err);
    assert_int_equal(got.checked, 1);
    assert_int_equal(got.unchecked, 0);
    assert_true(seen.calls > 0);
    data_got_release(&got);

    begin("wrong");
    snprintf(url, sizeof url, "%s/bytes?1000000", web.url);
    FILE_("bytes.bin", .url = url, .sha256 = sum, .bytes = 999999);
    assert_fails(data_get(&how, &got, failed), ERR_FORMAT, "999999 bytes");
    begin("gone");
    snprintf(url, sizeof url, "%s/status?404", web.url);
    FILE_("bytes.bin", .url = url);
    assert_fails(data_get(&how, &got, failed), ERR_MISSING, "answered 404");
    begin("cut");
    snprintf(url, sizeof url, "%s/cut", web.url);
    FILE_("bytes.bin", .url = url);
    assert_fails(data_get(&how, &got, failed), ERR_IO, "/cut");
    begin("stop");
    snprintf(url, sizeof url, "%s/slow?1000", web.url);
    FILE_("bytes.bin", .url = url);
    seen.stop_at = seen.calls + 3;
    assert_fails(data_get(&how, &got, failed), ERR_FAIL, "stopped");
    server_end(&web);
    begin("file"); // addresses of files only where the caller allows them
    FILE_("bytes.bin", .url = "file:///etc/hostname");
    how.progress = NULL;
    assert_fails(data_get(&how, &got, failed), ERR_USAGE, "file");
}

// The real set through the shipped table's rows, with its addresses replaced by files: the
// unpacked sums are those of the originals.
TEST(test_real)
{
    const char *dir = files_real("mnist");
    if (!dir)
        skip();
    struct public_file all[9];
    char addresses[9][400];
    struct data_got got;
    struct err err = {0};
    const struct public_set *mnist = public_set_find("mnist", &err);
    for (int i = 0; i < 9; i++) { // packed anew, so with other sums
        all[i] = mnist->files[i];
        if (!all[i].url)
            continue;
        snprintf(addresses[i], sizeof addresses[i], "file://%s/%s", dir, all[i].name);
        all[i] = (struct public_file){.name = all[i].name, .url = addresses[i]};
    }
    set = (struct public_set){.name = "mnist", .files = all};
    assert_ok(get(&got, &err), &err);
    assert_int_equal(got.checked, 4);
    struct data_pair pair;
    const struct data_options options = {.dir = got.path};
    assert_ok(data_open("mnist", &options, &pair, &err), &err);
    assert_string_equal(pair.name, "mnist");
    data_release(&pair);
    data_got_release(&got);
}

int main(void)
{
    return run_all_tests(files_begin, files_end);
}
