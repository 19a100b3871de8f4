// SPDX-License-Identifier: Apache-2.0
// The progress line: what it looks like, and what a terminal gets to see. Columns are counted by
// the C library's wcswidth(), not by the code under test.
#include "base/progress.h"

#include <locale.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "base/clock.h"
#include "test.h"

#define WIPE "\r\x1b[K"

// The columns of a line, escape sequences left out; -1 for one with control characters.
static int columns_of(const char *line)
{
    char plain[2000];
    size_t len = 0;
    for (const char *p = line; *p; p++) {
        if (strncmp(p, "\x1b[", 2) == 0)
            p += strcspn(p, "mK");
        else
            plain[len++] = *p;
    }
    plain[len] = '\0';
    wchar_t wide[2000];
    size_t count = mbstowcs(wide, plain, 2000);
    return count == (size_t)-1 ? -1 : wcswidth(wide, count);
}

static void assert_line(struct progress_view view, size_t width, const char *expected)
{
    struct buf out = {0};
    progress_render(&view, width, &out);
    assert_string_equal(buf_str(&out), expected);
    buf_release(&out);
}

TEST(test_lines)
{
    struct progress_view half = {.label = "weights",
                                 .unit = PROGRESS_BYTES,
                                 .done = 50 << 20,
                                 .total = 100 << 20,
                                 .elapsed_ns = 10 * NS_PER_S};
    assert_line(half, 80,
                "weights  ############............   50 %    50 MiB of 100 MiB  10 s left");
    assert_line(half, 50, "weights  #######........   50 %  10 s left"); // no room for amounts
    assert_line(half, 36, "weights   50 %  10 s left");                  // nor for a bar
    assert_line(half, 30, "weights  ######.......   50 %"); // 13 columns: a bar, but no time
    assert_line(half, 20, "weights   50 %");
    assert_line(half, 19, "");
    assert_line(half, 0, "");

    struct progress_view steps = {.label = "", .done = 7, .total = 12, .elapsed_ns = 70 * NS_PER_S};
    // 70 s for 7, so 50 s for the other 5.
    assert_line(steps, 60, "############..........   58 %   7 of 12  50 s left");
    steps.elapsed_ns = 7 * 3600 * NS_PER_S;
    assert_line(steps, 40, "#######.....   58 %  5 h 00 min left");

    struct progress_view open = {
        .label = "list", .unit = PROGRESS_BYTES, .done = 1536, .elapsed_ns = 3 * NS_PER_S};
    assert_line(open, 40, "list  1.5 KiB  3 s");
    assert_line(open, 20, "list  1.5 KiB");
}

// With money: what is left out first on narrow terminals is what tells least.
TEST(test_costs)
{
    struct progress_view run = {.label = "mlp",
                                .unit = PROGRESS_TIME,
                                .done = 27,
                                .total = 100,
                                .elapsed_ns = 27 * NS_PER_S,
                                .left_ns = 73 * NS_PER_S,
                                .at_most = true,
                                .end = "10:32",
                                .cost = "0.0123 USD",
                                .costs = "0.0123 of 0.0456 USD",
                                .note = "epoch 1/20  loss 0.900"};
    assert_line(run, 40, "mlp   27 %  1:13 left  0.0123 USD");
    assert_line(run, 80,
                "mlp  ##.........   27 %  at most 1 min 13 s left (10:32)  0.0123 of 0.0456 USD");
    assert_line(run, 120,
                "mlp  epoch 1/20  loss 0.900  #######....................   27 %  "
                "at most 1 min 13 s left (10:32)  0.0123 of 0.0456 USD");
    run.label = "a-long-name-of-a-command"; // it gives way to time and money
    assert_line(run, 40, "a-long-n   27 %  1:13 left  0.0123 USD");
    run.left_ns = 5 * 3600 * NS_PER_S;
    assert_line(run, 40, "a-lon   27 %  5:00:00 left  0.0123 USD");
    run.left_ns = -1; // not known, whatever the pace says
    assert_line(run, 40, "a-long-n   27 %  0.0123 USD");

    struct progress_view open = {.label = "train",
                                 .unit = PROGRESS_TIME,
                                 .elapsed_ns = 75 * NS_PER_S,
                                 .left_ns = -1,
                                 .cost = "0.0123 USD"};
    assert_line(open, 60, "train  1 min 15 s  0.0123 USD");
    open.note = "step 12";
    assert_line(open, 60, "train  step 12  1 min 15 s  0.0123 USD");
    open.note = "x";
    assert_line(open, 60, "train  x  1 min 15 s  0.0123 USD");
}

// The parts that must not lie.
TEST(test_truth)
{
    struct buf out = {0};
    struct progress_view view = {.label = "x", .total = 1000000, .elapsed_ns = NS_PER_S};
    view.done = 999999; // not yet everything
    progress_render(&view, 80, &out);
    assert_non_null(strstr(buf_str(&out), " 99 %"));
    buf_reset(&out);
    view.done = 1000001; // more than was promised
    progress_render(&view, 80, &out);
    assert_non_null(strstr(buf_str(&out), "100 %"));
    assert_null(strstr(buf_str(&out), "left"));
    buf_reset(&out);
    view.done = 1; // eleven days at this pace
    progress_render(&view, 80, &out);
    assert_non_null(strstr(buf_str(&out), "11 d 14 h left")); // 999999 s
    buf_reset(&out);
    view.done = 500000, view.elapsed_ns = NS_PER_S / 10; // too early to tell
    progress_render(&view, 80, &out);
    assert_null(strstr(buf_str(&out), "left"));
    buf_release(&out);
}

TEST(test_fits)
{
    static const char *const labels[] = {"",
                                         "data",
                                         "a label that is much longer than anybody would like it",
                                         "r\u00e9sum\u00e9 \u2014 na\u00efve",
                                         "\u8a13\u7df4\u30c7\u30fc\u30bf\u306e\u8aad\u307f",
                                         "bad \xff\xfe\xc3 \xe2\x82 bytes",
                                         "escape \x1b[31m\x07\n\r\t end"};
    static const int64_t figures[] = {INT64_MIN, -1, 0, 1, 42, 1023, 1 << 20, INT64_MAX};
    for (size_t l = 0; l < sizeof labels / sizeof *labels; l++)
        for (size_t d = 0; d < 8; d++)
            for (size_t t = 0; t < 8; t++)
                for (size_t width = 0; width < 140; width += width < 50 ? 1 : 7)
                    for (int kind = 0; kind < 32; kind++) {
                        struct progress_view view = {
                            .label = labels[l],
                            .unit = kind & 1,
                            .done = figures[d],
                            .total = figures[t],
                            .elapsed_ns = figures[(d + t) % 8],
                            .left_ns = kind & 8 ? figures[l] : 0,
                            .at_most = kind & 16,
                            .end = kind & 16 ? "Nov 15 10:32" : NULL,
                            .cost = kind & 8 ? "12.34 USD" : NULL,
                            .costs = kind & 16 ? "12.34 of 1234567.89 USD" : NULL,
                            .note = kind & 16 ? "epoch 1/2  loss 1.000" : NULL,
                            .colour = kind & 2,
                            .unicode = kind & 4};
                        struct buf out = {0};
                        progress_render(&view, width, &out);
                        int columns = columns_of(buf_str(&out));
                        if (width < 20)
                            assert_int_equal(out.len, 0);
                        else
                            assert_in_range(columns, 1, width - 1);
                        assert_int_equal(strstr(buf_str(&out), "\x1b[36m") != NULL,
                                         (kind & 2) && strstr(buf_str(&out), "\x1b[0m"));
                        assert_null(strpbrk(buf_str(&out), "\r\n\t\x07"));
                        buf_release(&out);
                    }
}

// A terminal and, once the test is done with it, all that it was sent.
struct terminal {
    int master, slave;
};

static struct terminal terminal_open(unsigned short width)
{
    struct terminal t;
    struct winsize size = {.ws_row = 24, .ws_col = width};
    assert_int_equal(openpty(&t.master, &t.slave, NULL, NULL, &size), 0);
    return t;
}

static void terminal_read(struct terminal *t, char *out, size_t size)
{
    close(t->slave); // then reading ends with an error once everything was read
    size_t len = 0;
    for (ssize_t got; len < size - 1 && (got = read(t->master, out + len, size - 1 - len)) > 0;)
        len += (size_t)got;
    out[len] = '\0';
    close(t->master);
}

static size_t count_of(const char *text, const char *what)
{
    size_t count = 0;
    for (const char *p = text; (p = strstr(p, what)); p += strlen(what))
        count++;
    return count;
}

static void run_on(int fd, int updates)
{
    struct progress progress;
    progress_begin(&progress, fd, "label", PROGRESS_COUNT, updates);
    for (int i = 0; i < updates; i++)
        progress_update(&progress, i, updates);
    progress_end(&progress);
}

TEST(test_terminal)
{
    char seen[8000];
    setenv("TERM", "xterm", 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    unsetenv("NO_COLOR");
    struct terminal t = terminal_open(60);
    int64_t begun_ns = clock_now_ns();
    run_on(t.slave, 1000);
    int64_t draws = 1 + (clock_now_ns() - begun_ns) / (100 * NS_PER_MS);
    terminal_read(&t, seen, sizeof seen);
    assert_memory_equal(seen, WIPE "label", 8);
    assert_in_range(count_of(seen, "label"), 1, draws); // ten a second
    assert_string_equal(seen + strlen(seen) - 4, WIPE); // nothing stays
    assert_null(strchr(seen, '\n'));
    assert_non_null(strstr(seen, "\x1b[36m"));
    assert_non_null(strstr(seen, "\u2500"));

    setenv("NO_COLOR", "1", 1); // https://no-color.org
    setenv("LC_ALL", "C", 1);
    t = terminal_open(60);
    run_on(t.slave, 10);
    terminal_read(&t, seen, sizeof seen);
    assert_null(strstr(seen, "\x1b[36m"));
    assert_null(strstr(seen, "\x1b[0m"));
    assert_non_null(strstr(seen, "label  ...."));
    unsetenv("NO_COLOR");

    t = terminal_open(0); // a terminal that does not know its size
    setenv("COLUMNS", "20", 1);
    run_on(t.slave, 10);
    unsetenv("COLUMNS");
    terminal_read(&t, seen, sizeof seen);
    assert_string_equal(seen, WIPE "label    0 %" WIPE);
}

TEST(test_silence)
{
    char seen[100];
    setenv("TERM", "dumb", 1);
    struct terminal t = terminal_open(60);
    run_on(t.slave, 10);
    terminal_read(&t, seen, sizeof seen);
    assert_string_equal(seen, "");
    setenv("TERM", "xterm", 1);
    t = terminal_open(19);
    run_on(t.slave, 10);
    terminal_read(&t, seen, sizeof seen);
    assert_string_equal(seen, "");
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    run_on(ends[1], 10);
    close(ends[1]);
    assert_int_equal(read(ends[0], seen, sizeof seen), 0);
    close(ends[0]);
    run_on(-1, 10);
    struct progress none = {0};
    progress_update(&none, 1, 2);
    progress_end(&none);
}

TEST(test_redraws)
{
    char seen[8000];
    setenv("TERM", "xterm", 1);
    struct terminal t = terminal_open(60);
    struct progress progress;
    progress_begin(&progress, t.slave, "label", PROGRESS_BYTES, 0);
    clock_sleep_ns(110 * NS_PER_MS);
    progress_update(&progress, 512, 1024); // the whole became known on the way
    progress_end(&progress);
    terminal_read(&t, seen, sizeof seen);
    assert_int_equal(count_of(seen, "label"), 2);
    assert_non_null(strstr(seen, "label  0 B"));
    assert_non_null(strstr(seen, " 50 %"));
}

int main(void)
{
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return 1;
    return run_all_tests(NULL, NULL);
}
