// SPDX-License-Identifier: Apache-2.0
// Estimates from a model's description. By hand: the net and the GPU of round numbers of
// test_model_fit.py. model-cases.csv has the answers of the reference, bench/model_predict.py, by
// the shipped coefficients. The planner is held against a plain search over all layouts.
#include "advise/estimate/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "test.h"

// Nobody releases or changes the texts of these devices.
#ifdef __clang__
#pragma GCC diagnostic ignored "-Wincompatible-pointer-types-discards-qualifiers"
#else
#pragma GCC diagnostic ignored "-Wdiscarded-qualifiers"
#endif

#define near(got, want, within)                                                                    \
    do {                                                                                           \
        const double near_got = (got), near_want = (want);                                         \
        if (!(fabs(near_got - near_want) <= (within)*fabs(near_want)))                             \
            fail_msg("%s: %.9g, not %.9g", #got, near_got, near_want);                             \
    } while (0)

static char folder[] = "/tmp/fare-model-XXXXXX";
static struct model_tables *shipped;
static struct model_tables plain; // every factor 1, every term 0

static int set_up(void **state)
{
    (void)state;
    struct err err = {0};
#define ONE(name)   plain.time.name = 1;
#define ONE_M(name) plain.memory.name = 1;
    MODEL_TIME_FACTORS(ONE)
    MODEL_MEMORY_FACTORS(ONE_M)
    if (!mkdtemp(folder) || setenv("XDG_CONFIG_HOME", folder, 1) != 0)
        return -1;
    assert_ok(model_tables_open(&shipped, &err), &err);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    model_tables_close(shipped);
    return rmdir(folder);
}

// 10 layers of width 1000, feed-forward 4000 of two matrices, 10 heads of 100, vocabulary 10,000,
// tied: 10e6 in the table, 12e6 a layer. A GPU of 100 TFLOP/s, 1000 GB/s, 100 W, 80 GiB.
static struct model_question round_question(void)
{
    return (struct model_question){
        .shape = {130e6, 130e6, 10, 1000, 10, 10, 100, 4000, 10000, 1, 1, 1, 0, 1},
        .gpu = {100, 1000, 80, 100, 100, 10, 0, 1},
        .run = {.seq = 1000,
                .gpus = 1,
                .nodes = 1,
                .class = MODEL_ANY,
                .year = 2025,
                .flash = 1,
                .rank = 10,
                .mixed = 1},
        .layout = {1, 1, 1, 1, 0, 0, 10, 2}};
}

TEST(time_by_hand)
{
    struct model_question q = round_question();
    struct model_parts p;
    // 10,000 tokens × 3 passes × 2 × 130e6 operations at 100 TFLOP/s; causal pairs, backward 2.5
    // times forward; a row of 34 bytes and logits; 12 launches a layer and pass; 24 bytes each
    near(model_step(&plain, &q, &p), 0.182321, 1e-5);
    near(p.products, 0.078, 1e-9);
    near(p.attention, 0.007, 1e-9);
    near(p.moved, 0.0046, 1e-9);
    near(p.launch, 360e-6, 1e-9);
    near(p.optimizer, 3.12e-3, 1e-9);
    near(p.tokens, 20000, 1e-9);
    // useful: 6 × 130e6 and 6 × 1000 × 1000 × 10 a token
    near(p.ops, 20000 * (780e6 + 60e6), 1e-9);
    near(p.share, 20000 * 840e6 / (100e12 * p.step_s), 1e-9);
    q.run.method = MODEL_LORA;
    q.layout.recompute = 1;
    model_step(&plain, &q, &p); // forward twice, backward through frozen weights
    near(p.products, 10000 * 2 * (3 * 120e6 + 2 * 10e6) / 100e12, 1e-9);
    near(p.launch, 360e-6, 1e-9);
    q = round_question();
    q.run.gpus = q.layout.pp = 2;
    model_step(&plain, &q, &p);
    near(p.step_s, 3 * p.micro + p.optimizer, 1e-9); // two micro batches and a bubble of one
    q = round_question();
    q.run.gpus = 4;
    q.layout.zero = 3;
    model_step(&plain, &q, &p); // 120e6 × 2 bytes × 3 times × 3/4 at 100 GB/s
    near(p.gathered, 120e6 * 4.5 / 100e9, 1e-9);
    near(p.micro, hypot(hypot(0.0896, 360e-6), 5.4e-3), 1e-9);
}

TEST(memory_by_hand)
{
    struct model_question q = round_question();
    struct model_bytes b;
    model_memory(&plain, &q, &b);
    near(b.weights, 520e6, 1e-9);
    near(b.optimizer, 1040e6, 1e-9);
    near(b.gradients, 520e6, 1e-9);
    near(b.activations, 10000 * 10 * 2 * 15000.0, 1e-9);
    near(b.logits, 8e8, 1e-9);
    near(b.framework, 0x1p30, 1e-9);
    near(b.total, 520e6 + 1040e6 + 520e6 + 3e9 + 8e8 + 0x1p30, 1e-9);
    near(b.low * b.high, b.total * b.total, 1e-9);
    q.run.method = MODEL_QLORA;
    q.layout.recompute = q.layout.micro = 1;
    model_memory(&plain, &q, &b);
    near(b.weights, 120e6 * 0.56 + 10e6 * 2, 1e-9);
    near(b.adapters, 16 * 10 * 10 * 14000.0, 1e-9);
    near(b.activations, 1000 * 2 * 1000 * 10.0, 1e-9);
    // The verdict changes at e^±0.2 of the total.
    struct model_gpu gpu = {.memory = b.high / 0x1p30 * 1.0001};
    assert_int_equal(model_fit(&b, &gpu), ESTIMATE_FITS);
    gpu.memory = b.high / 0x1p30 * 0.9999;
    assert_int_equal(model_fit(&b, &gpu), ESTIMATE_FIT_UNSURE);
    gpu.memory = b.low / 0x1p30 * 0.9999;
    assert_int_equal(model_fit(&b, &gpu), ESTIMATE_FITS_NOT);
    gpu.memory = (double)NAN;
    assert_int_equal(model_fit(&b, &gpu), ESTIMATE_FIT_UNKNOWN);
}

// ==== the reference's answers ====

static const struct {
    const char *name;
    size_t at;
} inputs[] = {
#define IN(part, member) {#member, offsetof(struct model_question, part.member)},
    IN(shape, params) IN(shape, active) IN(shape, layers) IN(shape, hidden) IN(shape, heads)
        IN(shape, kv) IN(shape, head_size) IN(shape, ffn) IN(shape, vocab) IN(shape, tied)
            IN(shape, experts) IN(shape, chosen) IN(shape, gated) IN(shape, routed) IN(gpu, peak)
                IN(gpu, bandwidth) IN(gpu, memory) IN(gpu, watts) IN(gpu, link) IN(gpu, amd)
                    IN(gpu, net) IN(gpu, fast) IN(run, seq) IN(run, gpus) IN(run, nodes)
                        IN(run, method) IN(run, class) IN(run, year) IN(run, loops) IN(run, flash)
                            IN(run, offload) IN(run, rank) IN(run, mixed) IN(run, reserved)
                                IN(run, chunked) IN(layout, tp) IN(layout, pp) IN(layout, cp)
                                    IN(layout, ep) IN(layout, zero) IN(layout, recompute)
                                        IN(layout, micro) IN(layout, accumulate)};
enum { INPUTS = sizeof inputs / sizeof *inputs, CELLS = INPUTS + 13 };

struct model_case {
    char line[2000];
    char *cells[CELLS];
    struct model_question q;
};

static bool next_case(FILE *file, struct model_case *out)
{
    if (!fgets(out->line, sizeof out->line, file))
        return false;
    size_t count = 0;
    for (char *at = out->line; count < CELLS; at = NULL)
        if (!(out->cells[count++] = strtok(at, ",\n")))
            break;
    assert_int_equal(count, CELLS);
    for (size_t i = 0; i < INPUTS; i++) {
        const double v = strtod(out->cells[5 + i], NULL);
        memcpy((char *)&out->q + inputs[i].at, &v, sizeof v);
    }
    return true;
}

static FILE *open_cases(void)
{
    struct model_case head;
    FILE *file = fopen(TESTS_DIR "/advise/estimate/model-cases.csv", "r");
    assert_non_null(file);
    next_case(file, &head);
    for (size_t i = 0; i < INPUTS; i++)
        assert_string_equal(head.cells[5 + i], inputs[i].name);
    assert_string_equal(head.cells[5 + INPUTS], "step_s");
    return file;
}

TEST(cases_of_the_reference)
{
    struct model_case c;
    FILE *file = open_cases();
    int count = 0;
    while (next_case(file, &c)) {
        struct model_bytes b;
        model_memory(shipped, &c.q, &b);
        const double got[] = {model_step(shipped, &c.q, NULL),
                              b.weights,
                              b.gradients,
                              b.optimizer,
                              b.adapters,
                              b.activations,
                              b.logits,
                              b.framework};
        for (size_t i = 0; i < sizeof got / sizeof *got; i++) {
            const double want = strtod(c.cells[5 + INPUTS + i], NULL);
            if (!(fabs(got[i] - want) <= 1e-5 * fabs(want)))
                fail_msg("case %s, answer %zu: %.9g, not %.9g", c.cells[0], i, got[i], want);
        }
        count++;
    }
    fclose(file);
    assert_true(count >= 160);
}

// Where the reference chose the layout, ours is as fast, and fits or not as its does.
TEST(plans_of_the_reference)
{
    struct model_case c;
    FILE *file = open_cases();
    int count = 0, same = 0;
    while (next_case(file, &c)) {
        if (strcmp(c.cells[4], "planned") != 0)
            continue;
        struct model_ask ask =
            model_ask(&c.q.shape, (enum model_method)c.q.run.method, c.q.run.seq);
        struct model_plan plan;
        ask.question.gpu = c.q.gpu;
        ask.question.run.gpus = c.q.run.gpus;
        ask.question.run.nodes = c.q.run.nodes;
        ask.box =
            strncmp(c.cells[2], "GB200", 5) == 0 || strncmp(c.cells[2], "GB300", 5) == 0 ? 72 : 8;
        model_plan(shipped, &ask, &plan);
        assert_null(plan.why);
        struct model_parts p;
        struct model_bytes b;
        model_step(shipped, &c.q, &p);
        model_memory(shipped, &c.q, &b);
        bool theirs = b.total <= c.q.gpu.memory * 0x1p30 * 0.94;
        bool ours = plan.bytes.total <= c.q.gpu.memory * 0x1p30 * 0.94;
        assert_int_equal(ours, theirs);
        if (theirs)
            near(plan.parts.step_s / plan.parts.tokens, p.step_s / p.tokens, 1e-9);
        else
            near(plan.bytes.total, b.total, 1e-9);
        same += memcmp(&plan.question.layout, &c.q.layout, sizeof c.q.layout) == 0;
        count++;
    }
    fclose(file);
    assert_true(count >= 80);
    assert_int_equal(same, count);
}

// From names alone, as bench/model_fit.py plans them: seconds of a step and tokens a second.
TEST(names_to_seconds)
{
    static const struct {
        const char *model, *gpu, *precision;
        int gpus;
        enum model_method method;
        double seq, step_s, tokens_per_s, micro;
    } cases[] = {
        {"llama-3-8b", "A100-80GB", "bf16", 1, MODEL_LORA, 4096, 69.1457, 3791.2, 8},
        {"llama-3-8b", "H100", "fp8", 8, MODEL_FULL, 4096, 3.00806, 87147.0, 8},
        {"gpt2", "A100-80GB", "bf16", 8, MODEL_PRETRAIN, 1024, 0.350067, 1497678.5, 32},
        {"qwen3-30b-a3b", "H100", "bf16", 16, MODEL_PRETRAIN, 4096, 29.6684, 134745.9, 1},
    };
    struct devices *devices;
    struct err err = {0};
    assert_ok(devices_open(&devices, &err), &err);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct model_found found;
        struct model_plan plan;
        assert_ok(model_find(shipped, cases[i].model, &found, &err), &err);
        struct model_ask ask = model_ask(&found.shape, cases[i].method, cases[i].seq);
        const struct device *gpu = device_find(devices, cases[i].gpu);
        assert_null(model_ask_gpus(&ask, gpu, cases[i].precision, cases[i].gpus, 0));
        model_plan(shipped, &ask, &plan);
        assert_null(plan.why);
        near(plan.parts.step_s, cases[i].step_s, 1e-4);
        near(plan.parts.tokens / plan.parts.step_s, cases[i].tokens_per_s, 1e-4);
        assert_true(plan.question.layout.micro == cases[i].micro);
        assert_true(plan.parts.share > 0.05 && plan.parts.share < 1);
    }
    devices_close(devices);
}

// ==== the planner ====

static struct model_ask llama_ask(enum model_method method, double gpus, double memory)
{
    struct model_found found;
    struct err err = {0};
    assert_ok(model_find(shipped, "llama-3-8b", &found, &err), &err);
    struct model_ask ask = model_ask(&found.shape, method, 4096);
    ask.question.gpu = (struct model_gpu){989, 3350, memory, 700, 450, 50, 0, 1};
    ask.question.run.gpus = gpus;
    return ask;
}

// Every layout of these numbers, whether anyone would use it or not, as long as the rules allow it.
static void search_all(const struct model_ask *ask, double *fastest, double *smallest)
{
    struct model_question q = ask->question;
    struct model_layout *l = &q.layout;
    const int gpus = (int)q.run.gpus, tuning = q.run.method >= MODEL_FULL;
    const int sequences = (int)fmax(1, rint(model_batch_tokens(&q) / q.run.seq));
    *fastest = *smallest = HUGE_VAL;
    q.run.offload = 0;
    for (int code = 0; code < 16 * 16 * 16 * 4 * 2 * 7; code++) {
        const int tp = code % 16 + 1, pp = code / 16 % 16 + 1, ep = code / 256 % 16 + 1;
        const int zero = code / 4096 % 4, again = code / 16384 % 2, micro = 1 << code / 32768;
        const int ranks = gpus / (tp * pp);
        if (gpus % (tp * pp) || (tp & (tp - 1)) || (pp & (pp - 1)) || (ep & (ep - 1)) ||
            tp > ask->box || tp > q.shape.kv || (int)q.shape.heads % tp ||
            pp > q.shape.layers / 2 || ep > q.shape.experts || ranks % ep || (tuning && !again) ||
            zero == 2 || (zero == 0) != (ranks == 1) || (zero == 3 && pp > 1) ||
            micro > (tuning ? 8 : 64) || micro > fmax(1, sequences / ranks))
            continue;
        *l = (struct model_layout){
            tp, pp, 1, ep, zero, again, micro, fmax(1, rint((double)sequences / ranks / micro))};
        struct model_parts p;
        struct model_bytes b;
        model_step(shipped, &q, &p);
        model_memory(shipped, &q, &b);
        *smallest = fmin(*smallest, b.total);
        if (b.total <= q.gpu.memory * 0x1p30 * 0.94)
            *fastest = fmin(*fastest, p.step_s / p.tokens);
    }
}

TEST(planner_is_a_search_over_all)
{
    static const char *const names[] = {"gpt2", "llama-3-8b", "qwen3-30b-a3b", "mixtral-8x7b"};
    static const double memories[] = {24, 80, 192}, counts[] = {1, 2, 6, 8, 16};
    struct err err = {0};
    int fit = 0, none = 0;
    for (size_t i = 0; i < 4 * 3 * 5 * MODEL_METHODS; i++) {
        struct model_found found;
        struct model_plan plan;
        double fastest, smallest;
        assert_ok(model_find(shipped, names[i % 4], &found, &err), &err);
        struct model_ask ask =
            llama_ask((enum model_method)(i / 60), counts[i / 12 % 5], memories[i / 4 % 3]);
        ask.question.shape = found.shape;
        ask.question.run.nodes = ask.question.run.gpus > 8 ? 2 : 1;
        ask.question.run.offload = 0;
        model_plan(shipped, &ask, &plan);
        assert_null(plan.why);
        search_all(&ask, &fastest, &smallest);
        near(plan.least_bytes, smallest, 1e-12);
        if (isfinite(fastest))
            near(plan.parts.step_s / plan.parts.tokens, fastest, 1e-12);
        else
            near(plan.bytes.total, smallest, 1e-12);
        fit += isfinite(fastest);
        none += !isfinite(fastest);
    }
    assert_true(fit > 60 && none > 30);
}

TEST(pins_narrow_the_planner)
{
    struct model_ask ask = llama_ask(MODEL_PRETRAIN, 8, 80);
    struct model_plan plan;
    ask.question.layout.tp = 2;
    ask.question.layout.micro = 3; // no power of two
    model_plan(shipped, &ask, &plan);
    assert_null(plan.why);
    assert_true(plan.question.layout.tp == 2 && plan.question.layout.micro == 3);
    assert_false(plan.given);
    near(plan.half, 0.492, 1e-9); // of planned pretraining
    ask.question.layout.pp = 1;
    ask.question.layout.zero = 2;
    ask.question.layout.recompute = 0.15;
    ask.question.layout.accumulate = 5;
    model_plan(shipped, &ask, &plan);
    assert_true(plan.question.layout.zero == 2 && plan.question.layout.recompute == 0.15);
    assert_true(plan.tried == 1 && plan.given);
    assert_true(plan.question.layout.accumulate == 5);
    near(plan.half, 0.317, 1e-9);
    ask.question.gpu.amd = 1;
    model_plan(shipped, &ask, &plan);
    near(plan.half, 0.8, 1e-9);
    ask.question.layout.tp = 3; // does not divide 8
    model_plan(shipped, &ask, &plan);
    assert_non_null(strstr(plan.why, "pinned"));
    ask.question.layout.tp = 16;
    model_plan(shipped, &ask, &plan);
    assert_string_equal(plan.why, "the layout needs more GPUs than there are");
}

TEST(what_would_make_it_fit)
{
    struct model_remedy r[MODEL_REMEDIES];
    struct model_ask ask = llama_ask(MODEL_FULL, 1, 24);
    struct model_plan plan;
    model_plan(shipped, &ask, &plan); // 16 GB of weights with all of the rest on 24 GiB
    assert_true(plan.fit != ESTIMATE_FITS && plan.question.run.offload == 1);
    size_t count = model_remedies(shipped, &ask, r);
    assert_true(count >= 2);
    for (size_t i = 0; i < count; i++) {
        assert_true(i == 0 || r[i].kind > r[i - 1].kind);
        assert_true(r[i].fit < plan.fit && r[i].bytes * exp(-0.2) <= 24 * 0x1p30);
    }
    assert_true(r[count - 1].kind == MODEL_MORE_GPUS && r[count - 1].gpus > 1);
    ask = llama_ask(MODEL_PRETRAIN, 8, 80); // which fits but for these pins
    ask.question.layout.micro = 64;
    ask.question.layout.recompute = 0;
    count = model_remedies(shipped, &ask, r);
    assert_true(count >= 1 && r[0].kind == MODEL_MICRO_1 && r[0].fit == ESTIMATE_FITS);
    ask = llama_ask(MODEL_QLORA, 1, 24);
    assert_int_equal(model_remedies(shipped, &ask, r), 0);
    model_plan(shipped, &ask, &plan);
    assert_int_equal(plan.fit, ESTIMATE_FITS);
    ask.question.gpu.memory = 1;
    model_plan(shipped, &ask, &plan);
    assert_int_equal(plan.fit, ESTIMATE_FITS_NOT);
}

static double cpu_ms(void)
{
    return (double)clock() / CLOCKS_PER_SEC * 1e3;
}

TEST(all_offers_take_little)
{
    static const double counts[] = {1, 2, 4, 8, 16, 64, 256};
    struct devices *devices;
    struct err err = {0};
    struct model_found found;
    assert_ok(devices_open(&devices, &err), &err);
    assert_ok(model_find(shipped, "mixtral-8x7b", &found, &err), &err);
    size_t plans = 0, tried = 0;
    const double began = cpu_ms();
    for (size_t i = 0; device_at(devices, i) && plans < 300; i++)
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            struct model_ask ask = model_ask(&found.shape, MODEL_PRETRAIN, 32768);
            struct model_plan plan;
            if (model_ask_gpus(&ask, device_at(devices, i), "bf16", counts[k], 0))
                continue;
            model_plan(shipped, &ask, &plan);
            assert_null(plan.why);
            tried += plan.tried;
            plans++;
        }
    const double ms = cpu_ms() - began;
    print_message("%zu plans, %zu layouts: %.1f ms\n", plans, tried, ms);
    assert_true(plans >= 300 && ms < 2000); // without optimisation and beside other tests
    devices_close(devices);
}

// ==== models ====

static const char *name_of(const char *text, struct model_found *found)
{
    static struct err err;
    err = (struct err){0};
    return model_find(shipped, text, found, &err) == 0 ? found->model->name : err.text;
}

TEST(names)
{
    struct model_found f;
    static const char *const same[][2] = {
        {"llama-3-8b", "llama-3-8b"},
        {"LLaMA 3 8B", "llama-3-8b"},
        {"llama3_8b", "llama-3-8b"},
        {"meta-llama/Meta-Llama-3-8B", "llama-3-8b"},
        {"meta-llama/Meta-Llama-3.1-8B-Instruct", "llama-3.1-8b"},
        {"meta-llama/Llama-2-7b-hf", "llama-2-7b"},
        {"openai-community/gpt2", "gpt2"},
        {"GPT-2", "gpt2"},
        {"Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b"},
        {"mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b-v0.3"},
        {"mistralai/Mistral-7B-v0.1", "mistral-7b"},
        {"google/gemma-3-4b-it", "gemma-3-4b"},
        {"EleutherAI/pythia-1.4b-deduped", "pythia-1.4b"},
        {"microsoft/Phi-3-mini-4k-instruct", "phi-3-mini"},
        {"deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "llama-3.1-8b"},
        {"deepseek-ai/DeepSeek-V3", "deepseek-v3"},
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        assert_string_equal(name_of(same[i][0], &f), same[i][1]);
        assert_false(f.typical);
        assert_string_equal(f.name, same[i][1]);
    }
    near(f.shape.ffn, 2048, 1e-9); // of an expert
    near(f.shape.chosen, 8, 1e-9);
    near(f.shape.active, 37551276032, 1e-9);
    // No two models have one name once case and separators are forgiven.
    for (size_t i = 0; i < shipped->models.count; i++)
        assert_string_equal(name_of(shipped->models.items[i].name, &f),
                            shipped->models.items[i].name);
    struct err err = {0};
    static const char *const none[] = {"",
                                       "/",
                                       "llama",
                                       "nan",
                                       "infb",
                                       "-8b",
                                       "8",
                                       "8bb",
                                       "1e9b",
                                       "900b",
                                       "0b",
                                       "..b",
                                       "99999999999999999999b"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++, err = (struct err){0})
        assert_int_equal(model_find(shipped, none[i], &f, &err), ERR_MISSING);
}

TEST(sizes)
{
    struct model_found f;
    static const char *const near_to[][2] = {
        {"8b", "llama-3-8b"},   {"7B", "llama-2-7b"},     {"70b", "llama-3-70b"},
        {"13b", "llama-2-13b"}, {"124m", "gpt2"},         {"1b", "pythia-1b"},
        {"3b", "llama-3.2-3b"}, {"1.3b", "llama-3.2-1b"}, {"32b", "qwen3-32b"},
        {"4b", "qwen3-4b"},
    };
    for (size_t i = 0; i < sizeof near_to / sizeof *near_to; i++) {
        assert_string_equal(name_of(near_to[i][0], &f), near_to[i][1]);
        assert_true(f.typical);
        assert_non_null(strstr(f.name, ": as "));
    }
    assert_string_equal(f.name, "4b: as qwen3-4b");
}

// ==== config.json ====

// From the models' public repositories, without what says nothing of the shape.
static const struct {
    const char *model, *text;
} configs[] = {
    {"llama-3-8b",
     "{\"architectures\": [\"LlamaForCausalLM\"], \"hidden_size\": 4096, \"intermediate_size\": "
     "14336, \"max_position_embeddings\": 8192, \"model_type\": \"llama\", "
     "\"num_attention_heads\": "
     "32, \"num_hidden_layers\": 32, \"num_key_value_heads\": 8, \"rope_scaling\": null, "
     "\"tie_word_embeddings\": false, \"vocab_size\": 128256}"},
    {"gpt2", "{\"model_type\": \"gpt2\", \"n_ctx\": 1024, \"n_embd\": 768, \"n_head\": 12, "
             "\"n_layer\": 12, "
             "\"n_positions\": 1024, \"n_inner\": null, \"vocab_size\": 50257}"},
    {"falcon-7b",
     "{\"model_type\": \"falcon\", \"alibi\": false, \"hidden_size\": 4544, \"multi_query\": true, "
     "\"num_attention_heads\": 71, \"num_hidden_layers\": 32, \"vocab_size\": 65024}"},
    {"mpt-7b",
     "{\"model_type\": \"mpt\", \"d_model\": 4096, \"expansion_ratio\": 4, \"n_heads\": 32, "
     "\"n_layers\": 32, \"max_seq_len\": 2048, \"vocab_size\": 50432}"},
    {"opt-125m",
     "{\"model_type\": \"opt\", \"ffn_dim\": 3072, \"hidden_size\": 768, \"num_attention_heads\": "
     "12, \"num_hidden_layers\": 12, \"max_position_embeddings\": 2048, \"vocab_size\": 50272}"},
    {"gemma-2b",
     "{\"model_type\": \"gemma\", \"head_dim\": 256, \"hidden_size\": 2048, \"intermediate_size\": "
     "16384, \"num_attention_heads\": 8, \"num_hidden_layers\": 18, \"num_key_value_heads\": 1, "
     "\"vocab_size\": 256000}"},
    {"qwen3-30b-a3b",
     "{\"model_type\": \"qwen3_moe\", \"decoder_sparse_step\": 1, \"head_dim\": 128, "
     "\"hidden_size\": 2048, \"intermediate_size\": 6144, \"mlp_only_layers\": [], "
     "\"moe_intermediate_size\": 768, \"num_attention_heads\": 32, \"num_experts\": 128, "
     "\"num_experts_per_tok\": 8, \"num_hidden_layers\": 48, \"num_key_value_heads\": 4, "
     "\"tie_word_embeddings\": false, \"vocab_size\": 151936}"},
    {"mixtral-8x7b",
     "{\"model_type\": \"mixtral\", \"hidden_size\": 4096, \"intermediate_size\": 14336, "
     "\"num_attention_heads\": 32, \"num_experts_per_tok\": 2, \"num_hidden_layers\": 32, "
     "\"num_key_value_heads\": 8, \"num_local_experts\": 8, \"vocab_size\": 32000}"},
    {"deepseek-v3",
     "{\"model_type\": \"deepseek_v3\", \"first_k_dense_replace\": 3, \"hidden_size\": 7168, "
     "\"intermediate_size\": 18432, \"kv_lora_rank\": 512, \"moe_intermediate_size\": 2048, "
     "\"n_routed_experts\": 256, \"n_shared_experts\": 1, \"num_attention_heads\": 128, "
     "\"num_experts_per_tok\": 8, \"num_hidden_layers\": 61, \"num_key_value_heads\": 128, "
     "\"q_lora_rank\": 1536, \"qk_nope_head_dim\": 128, \"qk_rope_head_dim\": 64, \"v_head_dim\": "
     "128, \"vocab_size\": 129280}"},
    {"llama-4-scout",
     "{\"model_type\": \"llama4\", \"text_config\": {\"model_type\": \"llama4_text\", "
     "\"head_dim\": "
     "128, \"hidden_size\": 5120, \"interleave_moe_layer_step\": 1, \"intermediate_size\": 8192, "
     "\"intermediate_size_mlp\": 16384, \"num_attention_heads\": 40, \"num_experts_per_tok\": 1, "
     "\"num_hidden_layers\": 48, \"num_key_value_heads\": 8, \"num_local_experts\": 16, "
     "\"vocab_size\": 202048}, \"vision_config\": {\"hidden_size\": 1408, \"num_hidden_layers\": "
     "34}}"},
};

TEST(configs_of_families)
{
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        struct model_found f;
        struct model_shape s;
        struct err err = {0};
        double context;
        char type[64];
        assert_string_equal(name_of(configs[i].model, &f), configs[i].model);
        assert_ok(model_config(configs[i].text, strlen(configs[i].text), &s, &context, type, &err),
                  &err);
        print_message("%s: %s\n", configs[i].model, type);
        near(s.params, f.shape.params, 0.01);
        near(s.active, f.shape.active, 0.01);
        const double members[][2] = {
            {s.layers, f.shape.layers},   {s.hidden, f.shape.hidden}, {s.heads, f.shape.heads},
            {s.kv, f.shape.kv},           {s.ffn, f.shape.ffn},       {s.tied, f.shape.tied},
            {s.experts, f.shape.experts}, {s.chosen, f.shape.chosen}, {s.gated, f.shape.gated}};
        for (size_t k = 0; k < sizeof members / sizeof *members; k++)
            assert_true(members[k][0] == members[k][1]);
        if (i != 8) // DeepSeek's heads have two sizes
            assert_true(s.head_size == f.shape.head_size);
    }
}

static const char *refusal(const char *text, struct err *err)
{
    struct model_shape s;
    double context;
    char type[64];
    *err = (struct err){0};
    assert_int_equal(model_config(text, strlen(text), &s, &context, type, err), ERR_FORMAT);
    assert_true(s.params == 0);
    return err->text;
}

#define SHAPE "\"hidden_size\": 4096, \"num_attention_heads\": 32, \"vocab_size\": 32000"

TEST(configs_that_cannot_be)
{
    struct err err;
    assert_string_equal(refusal("{" SHAPE "}", &err), "'num_hidden_layers' is missing");
    assert_string_equal(refusal("{" SHAPE ", \"n_layer\": 0}", &err),
                        "'n_layer' must be a whole number from 1 to 10000");
    assert_non_null(strstr(refusal("{" SHAPE ", \"n_layer\": -3}", &err), "'n_layer'"));
    assert_non_null(strstr(refusal("{" SHAPE ", \"n_layer\": 1.5}", &err), "'n_layer'"));
    assert_non_null(strstr(refusal("{" SHAPE ", \"n_layer\": 1e300}", &err), "'n_layer'"));
    assert_non_null(strstr(refusal("{" SHAPE ", \"n_layer\": \"32\"}", &err), "'n_layer'"));
    assert_non_null(strstr(refusal("{" SHAPE ", \"n_layer\": [32]}", &err), "'n_layer'"));
    assert_non_null(strstr(refusal("{" SHAPE ", \"n_layer\": NaN}", &err), "not a JSON object"));
    assert_non_null(strstr(refusal("{" SHAPE ", \"n_layer\": 2, \"num_key_value_heads\": 5}", &err),
                           "multiple of 'num_key_value_heads'"));
    assert_non_null(strstr(refusal("{" SHAPE ", \"n_layer\": 2, \"num_experts\": 8}", &err),
                           "'num_experts_per_tok' is missing"));
    assert_non_null(strstr(refusal("{" SHAPE ", \"n_layer\": 2, \"num_experts\": 8, "
                                   "\"num_experts_per_tok\": 9}",
                                   &err),
                           "from 1 to 8"));
    assert_non_null(
        strstr(refusal("{\"hidden_size\": 100, \"num_attention_heads\": 3, \"n_layer\": "
                       "1, \"vocab_size\": 9}",
                       &err),
               "multiple"));
    assert_non_null(strstr(refusal("{\"model_type\": \"bert\", " SHAPE ", \"n_layer\": 2}", &err),
                           "not a decoder"));
    assert_non_null(strstr(refusal("{\"is_encoder_decoder\": true}", &err), "not a decoder"));
    refusal("", &err);
    refusal("[]", &err);
    refusal("{\"text_config\": {}}", &err);

    char *large = calloc(10 << 20, 1);
    struct model_shape s;
    double context;
    char type[64];
    assert_non_null(large);
    memset(large, ' ', (10 << 20) - 1);
    err = (struct err){0};
    assert_int_equal(model_config(large, 10 << 20, &s, &context, type, &err), ERR_FORMAT);
    assert_string_equal(err.text, "a config.json has at most 1 MiB");
    char path[100];
    snprintf(path, sizeof path, "%s/config.json", folder);
    FILE *file = fopen(path, "w");
    fwrite(large, 1, 10 << 20, file);
    fclose(file);
    struct model_found f;
    err = (struct err){0};
    assert_true(model_find(shipped, path, &f, &err) < 0 && strstr(err.text, "config.json"));
    file = fopen(path, "w");
    fputs(configs[0].text, file);
    fclose(file);
    err = (struct err){0};
    assert_ok(model_find(shipped, folder, &f, &err), &err); // the folder does as well
    assert_non_null(strstr(f.name, "llama in /tmp/"));
    near(f.context, 8192, 1e-9);
    unlink(path);
    free(large);
    err = (struct err){0};
    assert_int_equal(model_find(shipped, "/nonexistent/config.json", &f, &err), ERR_MISSING);
}

// ==== nonsense ====

// Any one of the numbers wrong: unknown with a reason, and never NaN or an infinity.
TEST(nonsense_is_unknown)
{
    static const double wrong[] = {-2, -1e300, 1e300, HUGE_VAL, -HUGE_VAL, (double)NAN, 0};
    for (size_t i = 0; i < INPUTS; i++)
        for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
            struct model_question q = round_question();
            struct model_bytes b;
            struct model_parts p;
            memcpy((char *)&q + inputs[i].at, &wrong[k], sizeof wrong[k]);
            const double s = model_step(shipped, &q, &p);
            model_memory(shipped, &q, &b);
            assert_true(isfinite(s) && isfinite(b.total) && isfinite(p.share));
            assert_true(wrong[k] == 0 || (s == 0 && b.total == 0)); // some may be 0
            struct model_ask ask = {.question = q, .box = 8};
            struct model_plan plan;
            model_plan(shipped, &ask, &plan);
            assert_true(plan.why || (isfinite(plan.parts.step_s) && plan.parts.step_s > 0));
            assert_true(wrong[k] == 0 || plan.why);
            struct model_remedy r[MODEL_REMEDIES];
            if (plan.why)
                assert_int_equal(model_remedies(shipped, &ask, r), 0);
        }
    struct model_ask ask = llama_ask(MODEL_LORA, 1, 80);
    ask.question.run.seq = -4096;
    assert_string_equal(model_ask_check(&ask), "a sequence must have 1 to 10000000 tokens");
    ask = llama_ask(MODEL_LORA, 1, 80);
    ask.batch_tokens = -1;
    assert_string_equal(model_ask_check(&ask), "a batch must have 1 to 1e12 tokens");
    ask = llama_ask(MODEL_LORA, 1, 80);
    ask.question.shape.vocab = 1e6; // 8.2e9 in two tables
    assert_string_equal(model_ask_check(&ask),
                        "the embeddings alone have more parameters than the model");
}

TEST(gpus_with_gaps)
{
    struct device whole = {.name = "A100-80GB",
                           .vendor = "nvidia",
                           .architecture = "ampere-dc",
                           .memory_mib = 80 << 10,
                           .memory_mbs = 2039000,
                           .link_mbs = 600000,
                           .host_mbs = 31500,
                           .watts = 400,
                           .bf16_gflops = 312000};
    struct model_ask ask = llama_ask(MODEL_LORA, 1, 80), before;
    assert_null(model_ask_gpus(&ask, &whole, "bf16", 16, 0));
    near(ask.question.gpu.link, 300, 1e-9);
    near(ask.question.gpu.net, 25, 1e-9);
    near(ask.question.run.nodes, 2, 1e-9);
    assert_null(model_ask_gpus(&ask, &whole, "fp8", 4, 1)); // it has none: as 16 bits
    near(ask.question.gpu.fast, 1, 1e-9);
    near(ask.question.run.nodes, 4, 1e-9);
    whole.fp8_gflops = 624000;
    whole.link_mbs = 0;
    assert_null(model_ask_gpus(&ask, &whole, "fp8", 4, 1));
    near(ask.question.gpu.fast, 2, 1e-9);
    near(ask.question.gpu.link, 0.75 * 31.5 / 2, 1e-9);
    near(ask.question.gpu.net, 12.5, 1e-9);
    assert_null(model_ask_gpus(&ask, &whole, "fp4", 4, 1)); // not on Ampere
    near(ask.question.gpu.fast, 2, 1e-9);
    before = ask;
    assert_non_null(model_ask_gpus(&ask, &whole, "fp32", 1, 0));
    assert_non_null(model_ask_gpus(&ask, &whole, "fp64", 1, 0));
    assert_non_null(model_ask_gpus(&ask, &whole, "bf16", (double)NAN, 0));
    assert_non_null(model_ask_gpus(&ask, NULL, "bf16", 1, 0));
    for (int i = 0; i < 4; i++) {
        struct device gap = whole;
        *(i == 0   ? &gap.bf16_gflops
          : i == 1 ? &gap.memory_mbs
          : i == 2 ? &gap.memory_mib
                   : &gap.watts) = 0;
        assert_non_null(strstr(model_ask_gpus(&ask, &gap, "bf16", 1, 0), "unknown"));
    }
    assert_memory_equal(&ask, &before, sizeof ask);
}

// ==== tables ====

static int with_own(const char *name, const char *text, struct model_tables **out, struct err *err)
{
    char path[200];
    snprintf(path, sizeof path, "%s/fare", folder);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/fare/estimate", folder);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/fare/%s", folder, name);
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
    *err = (struct err){0};
    int rc = model_tables_open(out, err);
    unlink(path);
    snprintf(path, sizeof path, "%s/fare/estimate", folder);
    rmdir(path);
    snprintf(path, sizeof path, "%s/fare", folder);
    rmdir(path);
    return rc;
}

TEST(own_rows_win)
{
    struct model_tables *t;
    struct err err;
    assert_ok(with_own("estimate/model-time.csv", "name,value\nproducts,1\n", &t, &err), &err);
    near(t->time.products, exp(1), 1e-9);
    near(t->time.base, shipped->time.base, 1e-12);
    model_tables_close(t);
    assert_ok(
        with_own("models.csv",
                 "name,aliases,parameters,active,layers,width,heads,kv_heads,head_size,ff_width,"
                 "matrices,experts,chosen,shared,expert_width,dense_layers,attention,vocabulary,"
                 "positions,context,tied,source,date\n"
                 "llama-3-8b,,1000000,1000000,1,64,1,1,64,64,2,,,,,,,10,,,1,,\n",
                 &t, &err),
        &err);
    struct model_found f;
    assert_ok(model_find(t, "llama-3-8b", &f, &err), &err);
    near(f.shape.params, 1e6, 1e-12);
    model_tables_close(t);
    assert_int_equal(with_own("estimate/model-time.csv", "name,value\nproducts,nan\n", &t, &err),
                     ERR_FORMAT);
    assert_int_equal(with_own("estimate/model-errors.csv", "question,method\nhow,\n", &t, &err),
                     ERR_FORMAT);
    near(model_errors(shipped, "memory", NULL)->half[ESTIMATE_90], 0.483, 1e-9);
    assert_null(model_errors(shipped, "planned", "guess"));
}

int main(void)
{
    return run_all_tests(set_up, tear_down);
}
