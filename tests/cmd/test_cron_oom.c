// SPDX-License-Identifier: Apache-2.0
// fare cron with every allocation failing once: the job's parts, its rule, the record, the text.
#include "oom.h"

#include <stdio.h>
#include <unistd.h>

#include "base/fs.h"
#include "cmd/cmd.h"
#include "book/small_share.h"

static int run_once(const char *const *args, int count, bool json, struct err *err)
{
    const struct opt *tables[3];
    struct opt_rest rest = {0};
    struct out out = {.fd = STDOUT_FILENO, .width = 80};
    char *argv[16];
    int code = 0;
    long counted = oom_countdown;
    oom_countdown = -1; // options have tests of their own
    struct cmd_common *options = calloc(1, cmd_cron.options_size);
    assert_non_null(options);
    memcpy(options, cmd_cron.defaults, cmd_cron.options_size);
    cmd_tables(&cmd_cron, tables);
    for (int i = 0; i < count; i++)
        argv[i] = (char *)(uintptr_t)args[i];
    assert_ok(opt_parse(tables, count, argv, options, false, &rest, NULL, err), err);
    options->json = json;
    oom_countdown = counted;
    struct desk desk;
    const struct cmd_call call = {NULL, options, &rest, &out, &desk, &code};
    int rc = desk_open(&desk, NULL, NULL, err);
    if (rc == 0)
        rc = cmd_cron.run(&call, err);
    if (rc == 0)
        rc = buf_check(&out.text, err); // as the frame does when it writes
    counted = oom_countdown;
    oom_countdown = -1;
    if (rc == 0)
        assert_non_null(strstr(buf_str(&out.text), "always"));
    out_release(&out);
    desk_close(&desk);
    opt_release(tables, options, &rest);
    free(options);
    oom_countdown = counted;
    return rc;
}

static void jobs(void **state)
{
    (void)state;
    static const struct {
        const char *args[12];
        int count;
    } cases[] = {
        {{"0 */4 * * *", "--up", "2m", "--offer", "gcp/n1-standard-1:spot", "--date", "2018-11-01"},
         7},
        // In EUR, with a discount and a credit of the user's own, of a calendar month.
        {{"@hourly", "--up", "5m", "--offer", "leadergpu/2xP100", "--month", "2018-03", "--tasks",
          "12"},
         9},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int json = 0; json < 2; json++) {
            OOM_EACH
            {
                struct err err = {0};
                int rc = run_once(cases[i].args, cases[i].count, json, &err);
                OOM_EXPECT(rc, &err);
            }
        }
}

int main(void)
{
    static const char rates[] = "provider,offer,discount_percent,credit,rate,currency,from,to\n"
                                "leadergpu,,10,,,,,\nleadergpu,,,5,,EUR,,\n";
    char home[200], path[256];
    struct err err = {0};
    const char *scratch = getenv("TMPDIR");
    snprintf(home, sizeof home, "%s/cron-oom-XXXXXX", scratch ? scratch : "/tmp");
    if (!mkdtemp(home))
        return 1;
    setenv("XDG_CONFIG_HOME", home, 1);
    setenv("FARE_BOOK", "-", 1);
    small_share(SHARE, (const char *const[]){"n1-standard-1", "P100", NULL});
    snprintf(path, sizeof path, "%s/fare", home);
    if (fs_mkdirs(path, &err) != 0)
        return 1;
    snprintf(path, sizeof path, "%s/fare/rates.csv", home);
    if (fs_write(path, rates, strlen(rates), &err) != 0)
        return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(jobs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
