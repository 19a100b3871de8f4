// SPDX-License-Identifier: Apache-2.0
// Every emitter with every allocation failing once, and what is refused.
#include "oom.h"

#include "fleet/emit.h"

static struct emit_task nightly(char *const *command)
{
    struct emit_task task = {.name = "nightly",
                             .schedule = "0 3 1,15 * mon-fri",
                             .command = command,
                             .folder = "/home/u/50% of it",
                             .limit_s = 7200,
                             .machine = "t3.small",
                             .region = "us-east-1",
                             .disk_gb = 10,
                             .cost = "Cost: 1 USD\n"};
    assert_int_equal(crontab_parse(&task.tab, task.schedule, NULL), 0);
    return task;
}

static int make(const struct emitter *emitter, const struct emit_task *task, bool remove,
                struct err *err)
{
    struct emit_files files = {0};
    int rc = remove ? emit_remove(emitter, task, &files, err) : emitter->set_up(task, &files, err);
    for (size_t i = 0; i < files.count && rc == 0; i++)
        rc = buf_check(&files.items[i].text, err);
    for (size_t i = 0; i < files.count && rc == 0; i++)
        assert_true(files.items[i].text.len > 100);
    emit_release(&files);
    return rc;
}

static void no_memory(void **state)
{
    (void)state;
    char program[] = "train", word[] = "it's 50%";
    char *const command[] = {program, word, NULL};
    for (size_t i = 0; emitter_name(i); i++)
        for (int remove = 0; remove < 2; remove++) {
            const struct emitter *emitter = emitter_find(emitter_name(i));
            struct emit_task task = nightly(command);
            task.time_zone = strcmp(emitter->name, "slurm") == 0 ? NULL : "UTC";
            OOM_EACH
            {
                struct err err = {0};
                int rc = make(emitter, &task, remove, &err);
                OOM_EXPECT(rc, &err);
            }
        }
}

static void refused(void **state)
{
    (void)state;
    static const char *const names[] = {"",
                                        "A",
                                        "1a",
                                        "a_b",
                                        "a b",
                                        "a-",
                                        "-a",
                                        "a\n",
                                        "a/b",
                                        "../x",
                                        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    static const char *const zones[] = {"", "UTC\nX", "a'b", "x;y", "$HOME", "\xc3\xa9"};
    char *const command[] = {NULL};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct emit_task task = nightly(command);
        task.name = names[i];
        assert_int_equal(emit_check(&task, &(struct err){0}), ERR_USAGE);
    }
    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
        struct emit_task task = nightly(command);
        task.time_zone = zones[i];
        assert_int_equal(emit_check(&task, &(struct err){0}), ERR_USAGE);
    }
    struct emit_task task = nightly(command);
    task.time_zone = "America/Argentina/Buenos_Aires";
    assert_int_equal(emit_check(&task, NULL), 0);
    task.region = "r'1";
    assert_int_equal(emit_check(&task, &(struct err){0}), ERR_USAGE);
}

// By hand, from crontab(5) and the schedulers' own references.
static void lists(void **state)
{
    (void)state;
    static const struct {
        const char *schedule, *crontab;
        enum emit_days days;
    } cases[] = {
        {"*/15 * * * *", "0,15,30,45 * * * *", EMIT_EVERY_DAY},
        {"0-2 1,2 * jan-mar *", "0-2 1,2 * 1-3 *", EMIT_EVERY_DAY},
        {"0 0 1 * sun", "0 0 1 * 0", EMIT_EITHER},
        {"0 0 1-31 * sun", "0 0 * * *", EMIT_EVERY_DAY},
        {"0 0 */10 * 7", "0 0 1,11,21,31 * 0", EMIT_BOTH},
        {"0 0 * * sat,sun", "0 0 * * 0,6", EMIT_BY_WEEKDAY},
        {"0 0 30,31 * *", "0 0 30,31 * *", EMIT_BY_DAY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct crontab tab;
        struct buf text = {0};
        assert_int_equal(crontab_parse(&tab, cases[i].schedule, NULL), 0);
        assert_int_equal(emit_days_of(&tab), cases[i].days);
        emit_crontab(&text, &tab);
        assert_string_equal(buf_str(&text), cases[i].crontab);
        buf_release(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_memory),
        cmocka_unit_test(refused),
        cmocka_unit_test(lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
