// SPDX-License-Identifier: Apache-2.0
// Lines that make no sense, too many of them, and any order of them.
#include <string.h>

#include "base/rng.h"
#include "follow/followed.h"

TEST(nonsense_is_counted)
{
    struct fixture x;
    begin(&x, NULL);
    for (int i = 0; i < 1000; i++)
        event(&x, "{\"step\": %s}", i % 2 ? "-1" : "null");
    event(&x, "{\"about\": {\"batch\": \"many\"}}");
    event(&x, "{\"about\": {\"batch\": 64, \"data\": {\"name\": \"mnist\"}, \"total_steps\": 70}}");
    event(&x, "{\"step\": 9007199254740992, \"samples\": 9007199254740992, \"world\": 1000000}");
    event(&x, "{\"step\": 0}");
    event(&x, "{\"step\": 9007199254740992, \"epoch\": 999999999}");
    finish(&x);
    assert_non_null(strstr(buf_str(&x.says), "501 progress lines"));
    assert_int_equal(x.run.batch.v, 64);
    assert_string_equal(x.run.data.name, "mnist");
    end(&x);
}

TEST(long_runs_stay_small)
{
    struct fixture x;
    begin(&x, NULL);
    char line[64];
    for (int i = 1; i <= 200000; i++) {
        int len = snprintf(line, sizeof line, "{\"step\":%d,\"loss\":%d,\"epoch\":%d}", i, i, i);
        follow_event(x.follow, line, (size_t)len);
    }
    finish(&x);
    assert_int_equal(x.run.epoch_list.count, 10000);
    assert_true(x.run.first_loss.v > 5000 && x.run.first_loss.v < 15000);
    assert_true(x.run.last_loss.v > 180000);
    end(&x);
}

// A million lines of every kind in a row: each costs microseconds, and memory is bounded.
TEST(many_lines)
{
    struct fixture x;
    char line[128];
    begin(&x, NULL);
    for (int i = 0; i < 1000000; i++) {
        int len = i % 4 == 0   ? snprintf(line, sizeof line, "step %d/1000000 | loss 0.5", i)
                  : i % 4 == 1 ? snprintf(line, sizeof line, "epoch %d/9 loss nan acc 1e999", i)
                  : i % 4 == 2
                      ? snprintf(line, sizeof line, "Saving model checkpoint to %d", i)
                      : snprintf(line, sizeof line, "%dabc %d of 9223372036854775807", i, i);
        follow_output(x.follow, line, (size_t)len, true);
        clock_ns += 1000;
    }
    finish(&x);
    end(&x);
}

// Lines of all kinds in any order, with any numbers: the phases still add up to the time, and what
// is projected has an interval around it.
TEST(any_order)
{
    static const char *const forms[] = {
        "%lld%%|###   | %lld/%lld [00:01<00:01, 9.9it/s, loss=0.5]",
        "Epoch %lld:  10%%|###   | %lld/%lld [00:01<00:01, 9.9it/s]",
        "Epoch %lld/%lld",
        "Validation DataLoader %lld:  10%%|###   | %lld/%lld [00:01<00:01, 9.9it/s]",
        "{'loss': 0.5, 'learning_rate': 1e-05, 'epoch': %lld.%lld}",
        "{'eval_loss': 0.5, 'eval_runtime': %lld.5, 'epoch': %lld}",
        "step %lld: train loss 2.1, val loss 2.2",
        "iter %lld: loss 2.1, time 200.00ms",
        "Saving model checkpoint to out/checkpoint-%lld",
        "epoch %lld iter %lld/%lld loss 0.1",
        "%lld/%lld - 15s - 33ms/step - loss: 0.1",
        "Total optimization steps = %lld",
        "Num Epochs = %lld",
        "Train Epoch: %lld [%lld/%lld (1%%)] Loss: 0.5",
    };
    static const long long limits[] = {2, 10, 300, 100000, 999999999999999};
    struct rng rng;
    rng_init(&rng, 7);
    for (int trial = 0; trial < 100; trial++) {
        struct fixture x;
        begin(&x, &(struct follow_options){.total_epochs = trial % 3, SAMPLE});
        for (int i = 0; i < 400; i++) {
            long long limit = limits[(size_t)(rng_double(&rng) * 5)];
            long long n[3];
            for (int k = 0; k < 3; k++)
                n[k] = (long long)(rng_double(&rng) * (double)limit);
            char line[256];
            const char *form = forms[(size_t)(rng_double(&rng) * 14)];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            int len = snprintf(line, sizeof line, form, n[0], n[1], n[2]);
#pragma GCC diagnostic pop
            follow_output(x.follow, line, (size_t)len, true);
            follow_activity(x.follow, rng_double(&rng), (struct maybe_real){0});
            wait_s(&x, rng_double(&rng));
            struct follow_state now;
            follow_state(x.follow, &now);
            assert_true(now.step >= 0 && now.total >= 0);
        }
        finish(&x);
        const struct run_phases *p = &x.run.phases;
        assert_int_equal(p->wall_ns.v, clock_ns - x.start_ns);
        assert_int_equal(p->setup_ns.v + p->load_ns.v + p->warmup_ns.v + p->train_ns.v +
                             p->evaluate_ns.v + p->checkpoint_ns.v + p->idle_ns.v,
                         p->wall_ns.v);
        const struct run_projection *q = &x.run.projection;
        assert_true(!q->wall_s.known || (q->low_s.v <= q->high_s.v && q->wall_s.v <= q->high_s.v));
        end(&x);
    }
}

// Bars that run backwards, change their total, have thousands of names, and large numbers.
TEST(hostile_bars)
{
    struct fixture x;
    begin(&x, &(struct follow_options){SAMPLE});
    for (int i = 100; i >= 0; i--)
        bar(&x, "", i, 100);
    for (int i = 1; i <= 1000; i++)
        bar(&x, "", i, 1000 + i * 7 % 13);
    for (int i = 0; i < 5000; i++) {
        char label[32];
        snprintf(label, sizeof label, "%c%c%c: ", 'a' + i % 26, 'a' + i / 26 % 26, 'a' + i / 676);
        bar(&x, label, i % 50, 50);
    }
    for (int i = 0; i < 20000; i++)
        print(&x, "train: 50%%|###   | %lld/999999999999999 [00:01<00:01, 9.9it/s]",
              i % 2 ? 999999999999999LL : 0LL);
    for (int i = 0; i < 100; i++)
        event(&x,
              "{\"step\": %lld, \"total_steps\": 9007199254740991, \"epoch\": 9007199254740991}",
              9007199254740991LL - i);
    finish(&x);
    end(&x);
}
