// SPDX-License-Identifier: Apache-2.0
// Getting sets: from files, and from a server on the loopback device. Sums are sha256sum's.
#include "data/fetch.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>

#include "data/archive.h"
#include "machine/server.h"

#define HEADER "name,file,url,from,sha256,bytes,source,date\n"
#define HELLO                                                                                      \
    "d4e10166a657fc3f93818e86c62b43bf5e8919edd4130d219009a0108b130cd9" // of "hello hello hello"

static struct buf table;

static void row(const char *format, ...) PRINTF_LIKE(1, 2);
static void row(const char *format, ...)
{
    char text[600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (table.len == 0)
        buf_adds(&table, HEADER);
    buf_printf(&table, "%s,test,2026-01-01\n", text);
}

static int get(const char *name, struct data_got *got, struct err *err)
{
    char cache[100], sets[100];
    snprintf(cache, sizeof cache, "%s/cache", files_root);
    snprintf(sets, sizeof sets, "%s", files_put("sets.csv", table.data, table.len));
    const struct data_get how = {
        .name = name, .cache_dir = cache, .sets_path = sets, .allow_file = true};
    return data_get(&how, got, err);
}

static int try(const char *name, struct err *err)
{
    struct data_got got;
    int rc = get(name, &got, err);
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

static void test_plain_and_gzip(void **state)
{
    (void)state;
    struct data_got got;
    struct err err = {0};
    buf_reset(&table);
    files_puts("home/a.txt", "hello hello hello");
    files_put_gzip("home/b.gz", "hello hello hello", 17);
    row("set,a.txt,file://%s/home/a.txt,," HELLO ",17", files_root);
    row("set,b.gz,file:///absent file://%s/home/b.gz,,,", files_root); // the second address
    row("set,b,,b.gz," HELLO ",17");
    row("other,c,file:///nowhere,,,");
    assert_ok(get("set", &got, &err), &err);
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

    assert_ok(get("set", &got, &err), &err); // no second time
    assert_true(got.already);
    assert_string_equal(got.path, files_at("cache/set"));
    data_got_release(&got);
    data_got_release(&got);
    assert_int_equal(names_in_cache(), 1);
}

static void test_archives(void **state)
{
    (void)state;
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
    buf_reset(&table);
    row("arch,t.tar.gz,file://%s/home/t.tar.gz,,,", files_root);
    row("arch,z.zip,file://%s/home/z.zip,,,", files_root);
    row("arch,renamed.txt,,t.tar.gz:top/one.txt," HELLO ",17");
    row("arch,train/pos/,,t.tar.gz:top/train/pos/,,");
    row("arch,deep/hello.txt,,z.zip:hello," HELLO ",17");
    assert_ok(get("arch", &got, &err), &err);
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

    row("lacks,t.tar.gz,file://%s/home/t.tar.gz,,,", files_root);
    row("lacks,x,,t.tar.gz:top/absent,,");
    assert_fails(try("lacks", failed), ERR_MISSING, "has no member 'top/absent'");
    row("lacks2,z.zip,file://%s/home/z.zip,,,", files_root);
    row("lacks2,x,,z.zip:absent,,");
    assert_fails(try("lacks2", failed), ERR_MISSING, "has no member 'absent'");
    // Twice the same member: the second would write over the first.
    tar_add(&tar, "top/one.txt", '0', "other");
    files_put("home/twice.tar", tar.data, tar.len);
    row("twice,t.tar,file://%s/home/twice.tar,,,", files_root);
    row("twice,x,,t.tar:top/one.txt,,");
    assert_fails(try("twice", failed), ERR_IO, "cannot create");
    buf_release(&tar);
    buf_release(&zip);
    buf_release(&packed);
}

// Whatever goes wrong, no set appears, and nothing is left.
static void test_faults(void **state)
{
    (void)state;
    files_puts("home/a.txt", "hello hello hello");
    files_put_gzip("home/b.gz", "hello hello hello", 17);
    int before = names_in_cache();
    buf_reset(&table);
    row("sum,a.txt,file://%s/home/a.txt,,ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f2"
        "0015ad,17",
        files_root);
    row("short,a.txt,file://%s/home/a.txt,,,18", files_root);
    row("long,a.txt,file://%s/home/a.txt,,,16", files_root);
    row("absent,a.txt,file://%s/home/absent file:///also/absent,,,", files_root);
    row("notgz,a.txt,file://%s/home/a.txt,,,", files_root);
    row("notgz,x,,a.txt:member,,");
    row("unpacked,b.gz,file://%s/home/b.gz,,,", files_root);
    row("unpacked,b,,b.gz,,16");
    assert_fails(try("sum", failed), ERR_FORMAT, "a.txt has the SHA-256 " HELLO " instead of ba78");
    assert_fails(try("short", failed), ERR_FORMAT, "has 17 bytes instead of 18");
    assert_fails(try("long", failed), ERR_FORMAT, "is larger than 16 bytes");
    assert_fails(try("absent", failed), ERR_MISSING, "home/absent"); // the first of the two
    assert_fails(try("notgz", failed), ERR_FORMAT, "is not a zip archive");
    assert_fails(try("unpacked", failed), ERR_FORMAT, "would have more than 16 bytes");
    assert_fails(try("none", failed), ERR_USAGE, "no data set is called 'none'");
    assert_non_null(strstr(failed->hint, "sum, short, long"));
    assert_fails(try("../sum", failed), ERR_USAGE, "no data set is called");
    assert_int_equal(names_in_cache(), before);

    // What a killed run left is no hindrance; another that is at work is one.
    files_puts("cache/.later.part/a.txt", "half a fi");
    row("later,a.txt,file://%s/home/a.txt,," HELLO ",17", files_root);
    int fd = open(files_at("cache/.later.lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    assert_fails(try("later", failed), ERR_FAIL, "another process is getting 'later'");
    close(fd);
    struct err err = {0};
    assert_ok(try("later", &err), &err);
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
static void test_http(void **state)
{
    (void)state;
    struct server web;
    struct data_got got;
    struct err err = {0};
    char cache[100], sets[100];
    unsetenv("http_proxy"), unsetenv("all_proxy"), unsetenv("ALL_PROXY");
    server_start(&web, "web", NULL);
    buf_reset(&table);
    row("web,bytes.bin,%s/status?404 "
        "%s/"
        "bytes?1000000,,2c030d49ec131bfbbb446ad21e7a2f12cdb4f2f4f3fda3ac709dd2e68a4646c7,1000000",
        web.url, web.url);
    row("wrong,bytes.bin,%s/"
        "bytes?1000000,,2c030d49ec131bfbbb446ad21e7a2f12cdb4f2f4f3fda3ac709dd2e68a4646c7,999999",
        web.url);
    row("gone,bytes.bin,%s/status?404,,,", web.url);
    row("cut,bytes.bin,%s/cut,,,", web.url);
    row("stop,bytes.bin,%s/slow?1000,,,", web.url);
    snprintf(cache, sizeof cache, "%s/cache", files_root);
    snprintf(sets, sizeof sets, "%s", files_put("sets.csv", table.data, table.len));
    struct watch seen = {0};
    struct data_get how = {
        .name = "web", .cache_dir = cache, .sets_path = sets, .progress = watch, .context = &seen};
    assert_ok(data_get(&how, &got, &err), &err);
    assert_int_equal(got.checked, 1);
    assert_int_equal(got.unchecked, 0);
    assert_true(seen.calls > 0);
    data_got_release(&got);
    how.name = "wrong";
    assert_fails(data_get(&how, &got, failed), ERR_FORMAT, "999999 bytes");
    how.name = "gone";
    assert_fails(data_get(&how, &got, failed), ERR_MISSING, "answered 404");
    how.name = "cut";
    assert_fails(data_get(&how, &got, failed), ERR_IO, "/cut");
    how.name = "stop";
    seen.stop_at = seen.calls + 3;
    assert_fails(data_get(&how, &got, failed), ERR_FAIL, "stopped");
    server_end(&web);
    // Addresses of files are for tests only.
    buf_reset(&table);
    row("file,bytes.bin,file:///etc/hostname,,,");
    files_put("sets.csv", table.data, table.len);
    how.name = "file";
    how.progress = NULL;
    assert_fails(data_get(&how, &got, failed), ERR_USAGE, "file");
}

// The real set through the shipped table's rows, with its addresses replaced by files: the
// unpacked sums are those of the originals.
static void test_real(void **state)
{
    (void)state;
    const char *dir = files_real("mnist");
    if (!dir)
        skip();
    struct data_sets sets;
    struct data_got got;
    struct err err = {0};
    buf_reset(&table);
    assert_ok(data_sets_read(&sets, TESTS_DIR "/../share/data/sets.csv", &err), &err);
    for (size_t i = 0; i < sets.count; i++) {
        const struct data_file *f = &sets.files[i];
        if (strcmp(f->name, "mnist") != 0)
            continue;
        if (f->url[0]) // packed anew, so with other sums
            row("mnist,%s,file://%s/%s,,,", f->file, dir, f->file);
        else
            row("mnist,%s,,%s,%s,%lld", f->file, f->from, f->sha256, (long long)f->bytes);
    }
    data_sets_release(&sets);
    assert_ok(get("mnist", &got, &err), &err);
    assert_int_equal(got.checked, 4);
    struct data_pair pair;
    const struct data_options options = {.dir = got.path};
    assert_ok(data_open(DATA_MNIST, &options, &pair, &err), &err);
    assert_string_equal(pair.name, "MNIST (idx)");
    data_release(&pair);
    data_got_release(&got);
}

static int finish(void **state)
{
    buf_release(&table);
    return files_end(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_and_gzip), cmocka_unit_test(test_archives),
        cmocka_unit_test(test_faults),         cmocka_unit_test(test_http),
        cmocka_unit_test(test_real),
    };
    return cmocka_run_group_tests(tests, files_begin, finish);
}
