// SPDX-License-Identifier: Apache-2.0
#include "base/csv.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "test.h"

// A file in memory that is handed out `step` bytes at a time.
struct source {
    const char *bytes;
    size_t len, at, step;
};

static ptrdiff_t source_read(void *arg, void *into, size_t room, struct err *err)
{
    (void)err;
    struct source *s = arg;
    size_t n = s->len - s->at;
    n = n < s->step ? n : s->step;
    n = n < room ? n : room;
    memcpy(into, s->bytes + s->at, n);
    s->at += n;
    return (ptrdiff_t)n;
}

// Everything in the file, as "name=value;" with one line per record, absent fields as "name!;";
// an error as its text. So a test is one comparison.
static char *dump_bytes(const char *bytes, size_t len, size_t step,
                        const struct csv_options *options)
{
    struct source source = {bytes, len, 0, step};
    struct csv csv;
    struct err err = {0};
    struct buf out = {0};
    int rc = csv_init(&csv, "t.csv", source_read, &source, options, &err);
    if (rc == 0) {
        while ((rc = csv_next(&csv, &err)) > 0) {
            buf_printf(&out, "%zu:", csv_line(&csv));
            for (size_t i = 0; i < csv.header.count; i++) {
                const char *text = csv_text(&csv, (int)i);
                buf_printf(&out, "%s%s%s;", csv_name(&csv, i), text ? "=" : "!", text ? text : "");
            }
            buf_addc(&out, '\n');
        }
        if (rc < 0) { // and it stays that way
            assert_int_equal(csv_next(&csv, NULL), rc);
            assert_null(csv_text(&csv, 0));
        } else {
            assert_int_equal(csv_next(&csv, &err), 0);
        }
    }
    assert_int_equal(rc, err.code);
    if (rc < 0)
        buf_adds(&out, err.text);
    csv_release(&csv);
    csv_release(&csv);
    return buf_take(&out, NULL);
}

// However the bytes are cut into reads, the outcome is the same.
static void expect_bytes(const char *bytes, size_t len, const struct csv_options *options,
                         const char *expected)
{
    static const size_t steps[] = {1, 2, 3, 5, 7, 64, 1 << 20};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        char *got = dump_bytes(bytes, len, steps[i], options);
        assert_string_equal(got, expected);
        free(got);
    }
}

static void expect(const char *text, const struct csv_options *options, const char *expected)
{
    expect_bytes(text, strlen(text), options, expected);
}

TEST(test_rfc_4180)
{
    // The examples of RFC 4180, section 2, points 1 to 7.
    expect("h1,h2,h3\r\naaa,bbb,ccc\r\nzzz,yyy,xxx\r\n", NULL,
           "2:h1=aaa;h2=bbb;h3=ccc;\n3:h1=zzz;h2=yyy;h3=xxx;\n");
    expect("h1,h2,h3\r\naaa,bbb,ccc\r\nzzz,yyy,xxx", NULL,
           "2:h1=aaa;h2=bbb;h3=ccc;\n3:h1=zzz;h2=yyy;h3=xxx;\n");
    expect("h1,h2,h3\r\n\"aaa\",\"bbb\",\"ccc\"\r\nzzz,yyy,xxx", NULL,
           "2:h1=aaa;h2=bbb;h3=ccc;\n3:h1=zzz;h2=yyy;h3=xxx;\n");
    expect("h1,h2,h3\r\n\"aaa\",\"b\r\nbb\",\"ccc\"\r\nzzz,yyy,xxx", NULL,
           "2:h1=aaa;h2=b\r\nbb;h3=ccc;\n4:h1=zzz;h2=yyy;h3=xxx;\n");
    expect("h1,h2,h3\r\n\"aaa\",\"b\"\"bb\",\"ccc\"", NULL, "2:h1=aaa;h2=b\"bb;h3=ccc;\n");
}

TEST(test_ends_and_blanks)
{
    expect("a,b\n1,2\n", NULL, "2:a=1;b=2;\n");
    expect("a,b\n1,2\r\n3,4\n", NULL, "2:a=1;b=2;\n3:a=3;b=4;\n"); // mixed
    expect("a,b", NULL, "");
    expect("a,b\n\n\n1,2\n\r\n\n", NULL, "4:a=1;b=2;\n");
    expect("\n\r\na,b\n1,2", NULL, "4:a=1;b=2;\n");
    expect("a,b\n,\n", NULL, "2:a=;b=;\n");
    expect("a,b\n1,", NULL, "2:a=1;b=;\n");
    expect("a,b\n\"\",\"\"", NULL, "2:a=;b=;\n");
    expect("a\n\"\"\n\nx\n\"\"", NULL, "2:a=;\n4:a=x;\n5:a=;\n"); // "" is a record, nothing is not
    expect("a,b\n 1 ,\t2 \n", NULL, "2:a= 1 ;b=\t2 ;\n");         // spaces belong to the field
    expect(",b\n1,2\n", NULL, "2:=1;b=2;\n");                     // pandas writes such an index
    expect("a,b\n\"\"\"\",\"\"\"\"\"\"\n", NULL, "2:a=\";b=\"\";\n");
    expect("a,b\n\"x\ry\",\"\n\n\"\n3,4", NULL, "2:a=x\ry;b=\n\n;\n5:a=3;b=4;\n");
}

TEST(test_byte_order_mark)
{
    expect("\xEF\xBB\xBF"
           "a,b\n1,2\n",
           NULL, "2:a=1;b=2;\n");
    expect("\xEF\xBB\xBF\"a\",b\n1,2\n", NULL, "2:a=1;b=2;\n");
    expect("\xEF\xBB"
           "a\n1",
           NULL,
           "2:\xEF\xBB"
           "a=1;\n"); // not one
    expect("\xEF", NULL, "");
    expect("a\n\xEF\xBB\xBF"
           "1\n",
           NULL,
           "2:a=\xEF\xBB\xBF"
           "1;\n"); // only at the start
    expect("\xEF\xBB\xBF", NULL, "t.csv is empty: no line with the names of the columns");
    expect("\xEF\xBB\xBF\xEF\xBB\xBF"
           "a\n1",
           NULL,
           "2:\xEF\xBB\xBF"
           "a=1;\n"); // just one
}

TEST(test_faults)
{
    expect("", NULL, "t.csv is empty: no line with the names of the columns");
    expect("\n\r\n\n", NULL, "t.csv is empty: no line with the names of the columns");
    expect("a,b,a\n1,2,3\n", NULL, "t.csv, line 1: two columns are called 'a'");
    expect("\na,\"x\ny\",b,\"x\ny\"\n", NULL, "t.csv, line 2: two columns are called 'x\ny'");
    expect("a,b,c\n1,2\n", NULL, "t.csv, line 2: 2 fields where there are 3 columns");
    expect("a,b\n1,2\n3,4,5\n", NULL, "2:a=1;b=2;\nt.csv, line 3: more than 2 fields");
    expect("a,b\n1,2,\n", NULL, "t.csv, line 2: more than 2 fields");
    expect("a,b\n\n\"x\n\n\",1\n5\n", NULL,
           "3:a=x\n\n;b=1;\nt.csv, line 6: 1 field where there are 2 columns");
    expect("a,b\n1,x\"y\n", NULL,
           "t.csv, line 2, column 'b': a quote inside a field that does not begin with one");
    expect("a,b\n1, \"y\"\n", NULL,
           "t.csv, line 2, column 'b': a quote inside a field that does not begin with one");
    expect("a,b\n1,\"x\"y\n", NULL, "t.csv, line 2, column 'b': text after a closing quote");
    expect("a,b\n1,\"x\" \n", NULL, "t.csv, line 2, column 'b': text after a closing quote");
    expect("a,b\n1,\"x\n2,3\n", NULL, "t.csv, line 2, column 'b': a quoted field is never closed");
    expect("a,b\n\"", NULL, "t.csv, line 2, column 'a': a quoted field is never closed");
    expect("a,b\r1,2\r", NULL, "t.csv, line 1: a carriage return without a line feed");
    expect("a,b\n1,2\r", NULL, "t.csv, line 2, column 'b': a carriage return without a line feed");
    expect("a,b\n1,\"2\"\rx", NULL,
           "t.csv, line 2, column 'b': a carriage return without a line feed");
    expect("\"a", NULL, "t.csv, line 1: a quoted field is never closed");
    expect_bytes("a,b\n1,2\0\n", 9, NULL, "t.csv, line 2, column 'b': a NUL byte");
    expect_bytes("a,b\n1,\"2\0\"\n", 11, NULL, "t.csv, line 2, column 'b': a NUL byte");
    expect_bytes("\xFF\xFE"
                 "a\0,\0b\0",
                 8, NULL, "t.csv, line 1: a NUL byte"); // UTF-16
}

TEST(test_options)
{
    struct csv_options tsv = {.separator = '\t', .no_quotes = true};
    expect("a\tb\n\"1\t2,\"3\"\n\"\"\t\"\n", &tsv, "2:a=\"1;b=2,\"3\";\n3:a=\"\";b=\";\n");
    struct csv_options quoted_tsv = {.separator = '\t'};
    expect("a\tb\n\"1\t2\"\t3\n", &quoted_tsv, "2:a=1\t2;b=3;\n");
    struct csv_options semicolon = {.separator = ';'};
    expect("a;b\n1,5;2\n", &semicolon, "2:a=1,5;b=2;\n");

    struct csv_options loose = {.short_rows = true};
    expect("a,b,c\n1,2\n3\n4,5,\n", &loose, "2:a=1;b=2;c!;\n3:a=3;b!;c!;\n4:a=4;b=5;c=;\n");
    expect("a,b\n1,2,3\n", &loose, "t.csv, line 2: more than 2 fields"); // only short ones

    struct csv_options stray = {.stray_quotes = true};
    expect("a,b\n5\" disk,x\"\"y\n\"q\",2\n", &stray, "2:a=5\" disk;b=x\"\"y;\n3:a=q;b=2;\n");
    expect("a,b\n\"q\"r,2\n", &stray, "t.csv, line 2, column 'a': text after a closing quote");

    static const char *const names[] = {"index", "time", "x", NULL};
    struct csv_options bare = {.names = names};
    // The first lines of a published spot availability trace, which has no header.
    expect("0,2022-10-26T22:05:04.000Z,0\n1,2022-10-26T22:15:04.000Z,1\n", &bare,
           "1:index=0;time=2022-10-26T22:05:04.000Z;x=0;\n"
           "2:index=1;time=2022-10-26T22:15:04.000Z;x=1;\n");
    expect("", &bare, "");
    expect("0,1\n", &bare, "t.csv, line 1: 2 fields where there are 3 columns");
}

TEST(test_caps)
{
    struct csv_options small = {.max_field = 4, .max_record = 10};
    expect("a,b\n1234,1234\n", &small, "2:a=1234;b=1234;\n"); // 10 bytes with their ends
    expect("a,b\n12345,1\n", &small, "t.csv, line 2, column 'a': the field is too long");
    expect("a,b\n1,\"12\"\"45\"\n", &small, "t.csv, line 2, column 'b': the field is too long");
    expect("a,b,c\n1234,1234,\n", &small, "t.csv, line 2, column 'c': the record is too long");
    expect("a,b,c\n1234,123,1\n", &small, "t.csv, line 2, column 'c': the record is too long");
    expect("abcde\n", &small, "t.csv, line 1: the field is too long");

    // One column too many, and a header that never ends.
    struct buf many = {0};
    for (int i = 0; i < CSV_MAX_COLUMNS; i++)
        buf_printf(&many, "%sc%d", i ? "," : "", i);
    char *got = dump_bytes(many.data, many.len, 4096, NULL);
    assert_string_equal(got, "");
    free(got);
    buf_adds(&many, ",x");
    got = dump_bytes(many.data, many.len, 4096, NULL);
    assert_string_equal(got, "t.csv, line 1: more than 4096 fields");
    free(got);
    buf_release(&many);
}

// 23 MB that are never in memory: the reader's own buffers must stay small.
struct endless {
    size_t left; // records
    size_t at;   // in the current one
};

static ptrdiff_t endless_read(void *arg, void *into, size_t room, struct err *err)
{
    (void)err;
    static const char record[] = "\"a quoted, field\nwith two lines\",plain text of some length\n";
    struct endless *e = arg;
    size_t n = 0;
    while (n < room && e->left > 0) {
        ((char *)into)[n++] = record[e->at++];
        if (e->at == sizeof record - 1) {
            e->at = 0;
            e->left--;
        }
    }
    return (ptrdiff_t)n;
}

TEST(test_long_file_in_constant_memory)
{
    static const char *const names[] = {"quoted", "plain", NULL};
    struct csv_options options = {.names = names};
    const size_t records = 400000;
    struct endless endless = {.left = records};
    struct csv csv;
    struct err err = {0};
    assert_ok(csv_init(&csv, "endless", endless_read, &endless, &options, &err), &err);
    size_t count = 0;
    int rc;
    while ((rc = csv_next(&csv, &err)) > 0) {
        count++;
        assert_int_equal(csv_line(&csv), 2 * count - 1);
    }
    assert_int_equal(rc, 0);
    assert_int_equal(count, records);
    assert_string_equal(csv_name(&csv, 1), "plain");
    assert_true(csv.record.text.cap <= 1024 && csv.record.capacity <= 64);
    csv_release(&csv);
}

// A first read of one byte, then as much as fits: the bytes held back while looking for a byte
// order mark must not push the chunk over its end.
static ptrdiff_t trickle_then_flood(void *arg, void *into, size_t room, struct err *err)
{
    struct source *s = arg;
    s->step = s->at == 0 ? 1 : s->len;
    return source_read(arg, into, room, err);
}

TEST(test_first_read_of_one_byte)
{
    enum { LEN = 300000 };
    char *text = malloc(LEN);
    assert_non_null(text);
    memset(text, 'x', LEN);
    memcpy(text, "a,b\n1,", 6);
    struct source source = {text, LEN, 0, 1};
    struct csv csv;
    struct err err = {0};
    assert_ok(csv_init(&csv, "t.csv", trickle_then_flood, &source, NULL, &err), &err);
    assert_int_equal(csv_next(&csv, &err), 1);
    assert_string_equal(csv_text(&csv, 0), "1");
    assert_int_equal(strlen(csv_text(&csv, 1)), LEN - 6);
    csv_release(&csv);
    free(text);
}

TEST(test_columns_by_name)
{
    static const char text[] = "Price,InstanceType\n0.526,g4dn.xlarge\n";
    struct source source = {text, sizeof text - 1, 0, 8};
    struct csv csv;
    struct err err = {0};
    int price, type, region;
    assert_ok(csv_init(&csv, "aws.csv", source_read, &source, NULL, &err), &err);
    assert_ok(csv_need(&csv, "InstanceType", &type, &err), &err);
    assert_ok(csv_need(&csv, "Price", &price, &err), &err);
    assert_int_equal(csv_column(&csv, "price"), -1); // every letter counts
    assert_int_equal(csv_next(&csv, &err), 1);
    assert_string_equal(csv_text(&csv, type), "g4dn.xlarge");
    assert_string_equal(csv_text(&csv, price), "0.526");
    assert_null(csv_text(&csv, -1));

    assert_int_equal(csv_need(&csv, "Region", &region, &err), ERR_FORMAT);
    assert_string_equal(err.text, "aws.csv has no column 'Region'");
    assert_string_equal(err.hint, "its columns are Price, InstanceType");
    assert_int_equal(region, -1);

    struct err bad = {0};
    err_set(&bad, ERR_FORMAT, "'x' is not an amount of money");
    assert_int_equal(csv_context(&csv, price, &bad), ERR_FORMAT);
    assert_string_equal(bad.text, "aws.csv, line 2, column 'Price': 'x' is not an amount of money");
    csv_release(&csv);
}

// The line number survives a path that is longer than an error's text.
TEST(test_long_names_in_errors)
{
    char name[2000], *text = malloc(5000);
    memset(name, 'd', sizeof name);
    memcpy(name + sizeof name - 9, "/end.csv", 9);
    memset(text, 'h', 5000);
    memcpy(text + 4000, "\n1,2\n", 6);
    struct source source = {text, strlen(text), 0, 4096};
    struct csv csv;
    struct err err = {0};
    assert_ok(csv_init(&csv, name, source_read, &source, NULL, &err), &err);
    assert_int_equal(csv_next(&csv, &err), ERR_FORMAT);
    assert_non_null(strstr(err.text, "d/end.csv, line 2: more than 1 field"));
    csv_release(&csv);
    free(text);
}

static ptrdiff_t broken_read(void *arg, void *into, size_t room, struct err *err)
{
    struct source *s = arg;
    if (s->at == s->len)
        return err_set(err, ERR_TIMEOUT, "the line is dead");
    return source_read(arg, into, room, err);
}

TEST(test_source_that_fails)
{
    static const char text[] = "a,b\n1,2\n3,\"4";
    for (size_t len = 0; len < sizeof text; len++) { // wherever it happens
        struct source source = {text, len, 0, 1};
        struct csv csv;
        struct err err = {0};
        int rc = csv_init(&csv, "t.csv", broken_read, &source, NULL, &err);
        while (rc == 0 && (rc = csv_next(&csv, &err)) > 0)
            rc = 0;
        assert_int_equal(rc, ERR_TIMEOUT);
        assert_string_equal(err.text, "the line is dead");
        csv_release(&csv);
    }
}

TEST(test_files)
{
    struct csv csv;
    struct err err = {0};
    char path[] = "/tmp/fare-test-csv-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    static const char text[] = "a,b\n1,2\n";
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    assert_ok(csv_open(&csv, path, NULL, &err), &err);
    assert_int_equal(csv_next(&csv, &err), 1);
    assert_string_equal(csv_text(&csv, 1), "2");
    assert_int_equal(csv_next(&csv, &err), 0);
    csv_release(&csv);
    unlink(path);

    assert_int_equal(csv_open(&csv, path, NULL, &err), ERR_MISSING);
    assert_non_null(strstr(err.text, "no such file"));
    csv_release(&csv);
    struct err folder = {0};
    assert_int_equal(csv_open(&csv, "/tmp", NULL, &folder), ERR_IO);
    assert_string_equal(folder.text, "cannot read '/tmp': is a directory");
    // A zeroed struct holds no descriptor, above all not number 0.
    struct csv zero = {0};
    int before = fcntl(STDIN_FILENO, F_GETFD);
    csv_release(&zero);
    assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), before);
}

TEST(test_writer)
{
    struct buf out = {0};
    struct csv_writer w = {.out = &out};
    // Which of these need quotes: RFC 4180, section 2, points 5 to 7.
    const char *const fields[] = {"plain", "",   "with space ", "a,b", "say \"hi\"", "l1\nl2",
                                  "cr\r",  NULL, "\"",          "1.5", "semi;colon"};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        csv_put(&w, fields[i]);
    csv_end(&w);
    assert_string_equal(buf_str(&out),
                        "plain,,with space ,\"a,b\",\"say \"\"hi\"\"\",\"l1\nl2\",\"cr\r\",,"
                        "\"\"\"\",1.5,semi;colon\n");
    buf_reset(&out);
    csv_put(&w, ""); // a lone empty field, which would be an empty line
    csv_end(&w);
    csv_put(&w, "");
    csv_put(&w, "");
    csv_end(&w);
    csv_put(&w, "\xEF\xBB\xBFx");
    csv_end(&w);
    assert_string_equal(buf_str(&out), "\"\"\n,\n\"\xEF\xBB\xBFx\"\n");
    buf_reset(&out);
    struct csv_writer tabs = {.out = &out, .separator = '\t', .crlf = true};
    csv_put(&tabs, "a,b");
    csv_put(&tabs, "a\tb");
    csv_end(&tabs);
    assert_string_equal(buf_str(&out), "a,b\t\"a\tb\"\r\n");
    buf_release(&out);
}
