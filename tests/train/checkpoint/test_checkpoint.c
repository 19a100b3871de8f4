// SPDX-License-Identifier: Apache-2.0
// Checkpoints with a toy engine: a few numbers, and a rule that makes every step depend on all that
// came before, on the phase and on the iteration, so that nothing can be forgotten unnoticed.
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/safetensors.h"
#include "train/checkpoint/toy_engine.h"

static char dir[256];
static char path[300];

static int make_dir(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/checkpoint-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof path, "%s/one.safetensors", dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(dir); // fails where something was left behind
}

static const struct checkpoint_place somewhere = {
    .epoch = 3,
    .step = 41,
    .iteration = 1241,
    .score = {.loss = 0.1 + 0.2, .correct = 99, .count = 123}};

TEST(restored_run_ends_in_the_same_bits)
{
    struct err err = {0};
    struct buf notes = {0};
    struct engine_program through, first, second;
    toy_start(&through);
    toy_train(&through, 0, 100);
    // The same with a stop in the middle, in phase 1, whose state starts anew when it is entered.
    toy_start(&first);
    toy_train(&first, 0, 63);
    struct checkpoint_place place = {.iteration = 63, .stage = first.stage, .epoch = 6, .step = 3};
    assert_int_equal(place.stage, 1);
    assert_ok(checkpoint_save(path, &toy_subject, &first, &place, &err), &err);

    toy_start(&second);
    memset(&place, 0xFF, sizeof place);
    assert_ok(checkpoint_restore(path, &toy_subject, &second, &place, &notes, &err), &err);
    assert_int_equal(place.iteration, 63);
    assert_int_equal(second.stage, 1);
    assert_int_equal(second.iteration, 63);
    assert_string_equal(buf_str(&notes), "");
    assert_memory_equal(second.values, first.values, sizeof first.values);
    toy_train(&second, place.iteration, 100);
    assert_memory_equal(second.values, through.values, sizeof through.values);
    buf_release(&notes);
}

TEST(the_place_comes_back_exactly)
{
    struct err err = {0};
    struct buf notes = {0};
    static const double losses[] = {0.1 + 0.2, 0, -0.0, 1e-310, 1.7976931348623157e308, HUGE_VAL};
    struct engine_program program;
    toy_start(&program);
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        struct checkpoint_place place = somewhere, back;
        place.score.loss = losses[i];
        assert_ok(checkpoint_save(path, &toy_subject, &program, &place, &err), &err);
        assert_ok(checkpoint_restore(path, &toy_subject, &program, &back, &notes, &err), &err);
        assert_memory_equal(&back.score.loss, &place.score.loss, sizeof(double));
        assert_int_equal(back.score.correct, 99);
        assert_int_equal(back.score.count, 123);
        assert_int_equal(back.epoch, 3);
        assert_int_equal(back.step, 41);
        assert_int_equal(back.iteration, 1241);
        assert_int_equal(back.stage, 0);
    }
    struct checkpoint_place place = somewhere, back;
    place.score.loss = nan(""); // a training that has gone astray is still a training
    assert_ok(checkpoint_save(path, &toy_subject, &program, &place, &err), &err);
    assert_ok(checkpoint_restore(path, &toy_subject, &program, &back, &notes, &err), &err);
    assert_true(isnan(back.score.loss));
    buf_release(&notes);
}

TEST(says_what_it_is_of)
{
    static const char *const expected[][2] = {
        {"format", "fare.checkpoint/1"},
        {"workload", "mlp"},
        {"data", "mnist"},
        {"data_identity", "b18c33f0"},
        {"epochs", "20"},
        {"seed", "18446744073709551615"},
        {"engine", "toy"},
        {"precision", "f32"},
        {"threads", "2"},
        {"epoch", "3"},
        {"step", "41"},
        {"iteration", "1241"},
        {"phase", "0"},
        {"loss_sum", "0x1.3333333333334p-2"}, // Python: (0.1 + 0.2).hex()
        {"correct", "99"},
        {"count", "123"},
        {"recipe", "optimizer=rmsprop rho=0.9 beta2=0 epsilon=1e-08 decay=0 momentum=0 "
                   "weight_decay=0 batch=128 phase0.steps=50 phase0.rate=0.001 phase1.steps=0 "
                   "phase1.rate=0.0001 phase1.only=head"},
    };
    struct err err = {0};
    struct engine_program program;
    struct safetensors st;
    toy_start(&program);
    assert_ok(checkpoint_save(path, &toy_subject, &program, &somewhere, &err), &err);
    assert_ok(safetensors_open(&st, path, &err), &err);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const char *text = safetensors_text(&st, expected[i][0]);
        assert_string_equal(text ? text : "(absent)", expected[i][1]);
    }
    assert_int_equal(strlen(safetensors_text(&st, "net")), 64);
    assert_int_equal(st.count, TOY_TENSORS);
    assert_non_null(safetensors_find(&st, "body.weight"));
    assert_non_null(safetensors_find(&st, "body.weight.state0"));
    safetensors_release(&st);
}

static void expect_refused(const struct checkpoint_subject *subject, int code, const char *text)
{
    struct err err = {0};
    struct buf notes = {0};
    struct checkpoint_place place;
    struct engine_program program, before;
    toy_start(&program);
    before = program;
    int rc = checkpoint_restore(path, subject, &program, &place, &notes, &err);
    if (rc != code || !strstr(err.text, text) || !strstr(err.text, path))
        fail_msg("expected '%s', got %d '%s'", text, rc, err.text);
    assert_memory_equal(&program, &before, sizeof before); // untouched
    buf_release(&notes);
}

TEST(names_the_first_difference)
{
    struct err err = {0};
    struct engine_program program;
    toy_start(&program);
    struct checkpoint_subject s = toy_subject;
    s.workload = "cnn";
    assert_ok(checkpoint_save(path, &s, &program, &somewhere, &err), &err);
    expect_refused(&toy_subject, ERR_FAIL, "this checkpoint is of cnn on mnist, not mlp: ");

    assert_ok(checkpoint_save(path, &toy_subject, &program, &somewhere, &err), &err);
    s = toy_subject;
    s.data = "drawn digits";
    s.data_identity = "made:digits:1";
    expect_refused(&s, ERR_FAIL, "this checkpoint is of mlp on mnist, not on drawn digits: ");
    s.data = toy_subject.data;
    expect_refused(&s, ERR_FAIL,
                   "of mlp on mnist with other contents (b18c33f0, here made:digits:1): ");
    s = toy_subject;
    s.data = "MNIST, renamed"; // the same contents
    struct buf notes = {0};
    struct checkpoint_place place;
    assert_ok(checkpoint_restore(path, &s, &program, &place, &notes, &err), &err);
    buf_release(&notes);

    struct net_param params[4];
    struct net_layer layers[4];
    struct net net = toy_net;
    memcpy(params, toy_net.params, sizeof(struct net_param) * toy_net.param_count);
    memcpy(layers, toy_net.layers, sizeof(struct net_layer) * toy_net.layer_count);
    net.params = params;
    net.layers = layers;
    s = toy_subject;
    s.net = &net;
    params[0].dim[1] = 7;
    expect_refused(&s, ERR_FORMAT, "tensor 'body.weight' is 3×2 in it, 3×7 here");
    params[0].dim[1] = 2;
    snprintf(params[1].name, sizeof params[1].name, "tail.weight");
    expect_refused(&s, ERR_MISSING, "has no tensor 'tail.weight'");
    memcpy(params[1].name, toy_net.params[1].name, sizeof params[1].name);
    layers[1].relu = !layers[1].relu;
    expect_refused(&s, ERR_FAIL, "of another net: its parameters have the same shapes, its layers");

    struct recipe recipe = toy_recipe;
    s = toy_subject;
    s.recipe = &recipe;
    recipe.batch = 64;
    expect_refused(&s, ERR_FAIL, "was trained with batch=128, not batch=64");
    recipe = toy_recipe;
    recipe.rho = nextafterf(0.9F, 1); // numpy.nextafter(float32(0.9), 1) prints as 0.90000004
    expect_refused(&s, ERR_FAIL, "was trained with rho=0.9, not rho=0.90000004");
    recipe = toy_recipe;
    recipe.stage_count = 1;
    expect_refused(&s, ERR_FAIL, "was trained with phase1.steps=0, not nothing");
    recipe = toy_recipe;
    recipe.stages[1].only = NULL;
    expect_refused(&s, ERR_FAIL, "was trained with phase1.only=head, not nothing");
    recipe = toy_recipe;
    recipe.epochs = 40; // longer than planned is fine
    assert_ok(checkpoint_restore(path, &s, &program, &place, &notes, &err), &err);

    s = toy_subject;
    s.options.seed = 7;
    expect_refused(&s, ERR_FAIL, "this checkpoint is of seed 18446744073709551615, not 7: ");
}

TEST(another_machine_is_noted)
{
    struct err err = {0};
    struct buf notes = {0};
    struct engine_program program;
    struct checkpoint_place place;
    toy_start(&program);
    struct checkpoint_subject s = toy_subject;
    s.options.threads = 96;
    s.options.precision = ENGINE_BF16;
    assert_ok(checkpoint_save(path, &s, &program, &somewhere, &err), &err);
    assert_ok(checkpoint_restore(path, &toy_subject, &program, &place, &notes, &err), &err);
    assert_non_null(strstr(buf_str(&notes), "precision was bf16, is f32: "));
    assert_non_null(strstr(buf_str(&notes), "threads was 96, is 2: "));
    assert_null(strstr(buf_str(&notes), "engine"));
    assert_int_equal(place.iteration, 1241);
    buf_release(&notes);
}

// A checkpoint whose text `key` is `value` (null: absent), everything else in order.
static void save_with(const char *key, const char *value)
{
    struct err err = {0};
    struct engine_program program;
    struct safetensors st;
    struct safetensors_text texts[32];
    struct safetensors_entry entries[TOY_TENSORS];
    int count = 0;
    toy_start(&program);
    assert_ok(checkpoint_save(path, &toy_subject, &program, &somewhere, &err), &err);
    assert_ok(safetensors_open(&st, path, &err), &err);
    for (int i = 0; i < st.text_count; i++) {
        bool this = strcmp(st.texts[2 * i], key) == 0;
        if (!this || value)
            texts[count++] =
                (struct safetensors_text){st.texts[2 * i], this ? value : st.texts[2 * i + 1]};
    }
    for (int i = 0; i < st.count; i++)
        entries[i] =
            (struct safetensors_entry){st.tensors[i].name, st.tensors[i].rank, st.tensors[i].dim};
    struct safetensors_writer w;
    assert_ok(safetensors_begin(&w, path, texts, count, entries, st.count, &err), &err);
    static const float zeros[64];
    assert_ok(safetensors_add_bytes(&w, zeros, w.left, &err), &err);
    assert_ok(safetensors_commit(&w, &err), &err);
    safetensors_release(&st);
}

TEST(refuses_texts_that_make_no_sense)
{
    static const char *const all[] = {"workload", "data",     "data_identity", "net",
                                      "recipe",   "seed",     "engine",        "precision",
                                      "threads",  "epoch",    "step",          "iteration",
                                      "phase",    "loss_sum", "correct",       "count"};
    char expected[100];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        save_with(all[i], NULL);
        snprintf(expected, sizeof expected, "lacks its %s", all[i]);
        expect_refused(&toy_subject, ERR_FORMAT, expected);
    }
    static const char *const bad[][2] = {
        {"epoch", "-1"},  {"epoch", "x"},      {"step", ""},       {"iteration", "1e3"},
        {"phase", "2"},   {"phase", "-1"},     {"correct", "124"}, {"count", "9223372036854775808"},
        {"loss_sum", ""}, {"loss_sum", "0x1z"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        save_with(bad[i][0], bad[i][1]);
        snprintf(expected, sizeof expected, "its %s is '%s'", bad[i][0], bad[i][1]);
        expect_refused(&toy_subject, ERR_FORMAT, expected);
    }
    save_with("format", NULL);
    expect_refused(&toy_subject, ERR_FORMAT, "holds tensors, but not a checkpoint of fare");
    save_with("format", "fare.checkpoint/2");
    expect_refused(&toy_subject, ERR_FORMAT, "is a checkpoint of another fare");
    save_with("", NULL); // and so it is in order: the refusals above were for their reasons
    struct err err = {0};
    struct buf notes = {0};
    struct checkpoint_place place;
    struct engine_program program;
    toy_start(&program);
    assert_ok(checkpoint_restore(path, &toy_subject, &program, &place, &notes, &err), &err);
    buf_release(&notes);
}

TEST(a_missing_state_is_noticed_before_anything_is_written)
{
    struct err err = {0};
    struct engine_program program;
    toy_start(&program);
    toy_tensors = TOY_TENSORS - 1; // an engine that keeps less
    assert_ok(checkpoint_save(path, &toy_subject, &program, &somewhere, &err), &err);
    toy_tensors = TOY_TENSORS;
    expect_refused(&toy_subject, ERR_MISSING, "has no tensor 'head.weight.state0'");
}

TEST(the_engines_errors_come_through)
{
    struct err err = {0};
    struct buf notes = {0};
    struct checkpoint_place place;
    struct engine_program program;
    toy_start(&program);
    assert_ok(checkpoint_save(path, &toy_subject, &program, &somewhere, &err), &err);
    toy_broken = true;
    assert_int_equal(checkpoint_restore(path, &toy_subject, &program, &place, &notes, &err),
                     ERR_IO);
    assert_string_equal(err.text, "the toy is broken");
    err = (struct err){0};
    assert_int_equal(checkpoint_save(path, &toy_subject, &program, &somewhere, &err), ERR_IO);
    toy_broken = false;
    err = (struct err){0};
    assert_ok(checkpoint_restore(path, &toy_subject, &program, &place, &notes, &err), &err);
}

TEST(fingerprints_tell_nets_apart)
{
    char a[SHA256_HEX_BYTES], b[SHA256_HEX_BYTES];
    struct net net = toy_net;
    struct net_layer layers[4];
    memcpy(layers, toy_net.layers, sizeof layers);
    net.layers = layers;
    checkpoint_fingerprint(&toy_net, a);
    checkpoint_fingerprint(&net, b);
    assert_string_equal(a, b); // by what it holds, not where it lies
    net.name[0] = 'X';
    net.layer_cap = 99;
    checkpoint_fingerprint(&net, b);
    assert_string_equal(a, b);
    net.loss = NET_SIGMOID;
    checkpoint_fingerprint(&net, b);
    assert_string_not_equal(a, b);
    net.loss = toy_net.loss;
    layers[2].rate = 0.25F;
    checkpoint_fingerprint(&net, b);
    assert_string_not_equal(a, b);
    layers[2].rate = toy_net.layers[2].rate;
    layers[2].inputs[0] = 0;
    checkpoint_fingerprint(&net, b);
    assert_string_not_equal(a, b);

    // The options of the definitions.
    layers[2] = toy_net.layers[2];
    layers[1].hard_gates = true;
    checkpoint_fingerprint(&net, b);
    assert_string_not_equal(a, b);
    layers[1].hard_gates = false;
    checkpoint_fingerprint(&net, b);
    assert_string_equal(a, b);
    layers[2].op = NET_AUX;
    layers[2].weight = 0.4F;
    checkpoint_fingerprint(&net, a);
    layers[2].weight = 0.3F;
    checkpoint_fingerprint(&net, b);
    assert_string_not_equal(a, b);
}

// ---------------------------------------------------------------------------------------------
// Parameters alone

static void write_tensors(const struct safetensors_entry *entries, int count, const float *values)
{
    struct err err = {0};
    struct safetensors_writer w;
    assert_ok(safetensors_begin(&w, path, NULL, 0, entries, count, &err), &err);
    assert_ok(safetensors_add_bytes(&w, values, w.left, &err), &err);
    assert_ok(safetensors_commit(&w, &err), &err);
}

static int load(struct engine_program *program, int *loaded, struct buf *notes, struct err *err)
{
    *err = (struct err){0};
    buf_reset(notes);
    toy_start(program);
    return checkpoint_load_parameters(path, &toy_subject, program, loaded, notes, err);
}

static const int64_t body[] = {3, 2}, four[] = {4}, one[] = {1};

TEST(fine_tunes_from_other_classes)
{
    // A file as PyTorch would write one: other classes in the head, a counter, something unknown.
    static const int64_t head[] = {1001};
    const struct safetensors_entry entries[] = {
        {"body.weight", 2, body}, {"module.rnn.bias_ih_l0", 1, four},
        {"head.weight", 1, head}, {"bn.num_batches_tracked", 0, NULL},
        {"aux.weight", 1, one},   {"body.weight.state0", 2, body}};
    static float values[1100] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    struct err err;
    struct buf notes = {0};
    int loaded;
    struct engine_program program, before;
    write_tensors(entries, 6, values);
    toy_start(&before);
    assert_ok(load(&program, &loaded, &notes, &err), &err);
    assert_int_equal(loaded, 2);
    assert_memory_equal(program.values[0], values, 6 * sizeof(float));
    assert_memory_equal(program.values[2], values + 6, 4 * sizeof(float));
    assert_memory_equal(program.values[1], before.values[1], sizeof before.values[1]);
    assert_memory_equal(program.values[3], before.values[3], sizeof before.values[3]); // state
    assert_string_equal(buf_str(&notes),
                        "'head.weight' is 1001, not 4: the classifier starts untrained\n"
                        "'aux.weight': only in the file, not used\n");
    buf_release(&notes);
}

TEST(adds_the_second_bias_of_a_pytorch_lstm)
{
    const struct safetensors_entry entries[] = {
        {"body.weight", 2, body}, {"rnn.bias_ih_l0", 1, four}, {"rnn.bias_hh_l0", 1, four}};
    static const float values[] = {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 0.5F, -2, 0, 8};
    static const float sum[] = {1.5F, 0, 3, 12};
    struct err err;
    struct buf notes = {0};
    int loaded;
    struct engine_program program;
    write_tensors(entries, 3, values);
    assert_ok(load(&program, &loaded, &notes, &err), &err);
    assert_int_equal(loaded, 2);
    assert_memory_equal(program.values[2], sum, sizeof sum);
    assert_string_equal(buf_str(&notes),
                        "'head.weight' is missing: the classifier starts untrained\n");
    // Alone, it is taken as it is.
    write_tensors(entries, 2, values);
    assert_ok(load(&program, &loaded, &notes, &err), &err);
    assert_memory_equal(program.values[2], values + 6, sizeof sum);
    buf_release(&notes);
}

// 50 % of the tensors beside the classifier, then none; at most three examples, whatever the file
// has.
TEST(a_file_that_does_not_fit_is_refused_with_examples)
{
    static const int64_t turned[] = {2, 3};
    static const float values[16];
    const struct safetensors_entry half[] = {{"body.weight", 2, turned},
                                             {"rnn.bias_ih_l0", 1, four}};
    const struct safetensors_entry none[] = {
        {"y", 1, one}, {"z", 1, one}, {"u", 1, one}, {"v", 1, one}};
    struct err err;
    struct buf notes = {0};
    int loaded;
    struct engine_program program, before;
    toy_start(&before);
    write_tensors(half, 2, values);
    assert_int_equal(load(&program, &loaded, &notes, &err), ERR_FORMAT);
    char expected[600];
    snprintf(expected, sizeof expected,
             "1 of 2 tensors fit toy: 'body.weight' is 2×3, not 3×2: '%s'", path);
    assert_string_equal(err.text, expected);
    assert_memory_equal(&program, &before, sizeof before); // untouched

    write_tensors(none, 4, values);
    assert_int_equal(load(&program, &loaded, &notes, &err), ERR_FORMAT);
    snprintf(expected, sizeof expected,
             "0 of 2 tensors fit toy: 'u' is of no layer; 'v' is of no layer; 'y' is of no layer: "
             "'%s'",
             path);
    assert_string_equal(err.text, expected);

    write_tensors(half + 1, 1, values);
    assert_int_equal(load(&program, &loaded, &notes, &err), ERR_FORMAT);
    snprintf(expected, sizeof expected, "1 of 2 tensors fit toy: 'body.weight' is missing: '%s'",
             path);
    assert_string_equal(err.text, expected);
    buf_release(&notes);
}

TEST(two_tensors_for_one_parameter_are_refused)
{
    const struct safetensors_entry entries[] = {
        {"body.weight", 2, body}, {"model.body/weight:0", 2, body}, {"rnn.bias_ih_l0", 1, four}};
    static const float values[16];
    struct err err;
    struct buf notes = {0};
    int loaded;
    struct engine_program program;
    write_tensors(entries, 3, values);
    assert_int_equal(load(&program, &loaded, &notes, &err), ERR_FORMAT);
    assert_non_null(strstr(err.text, "'body.weight' and 'model.body/weight:0' name the same"));
    buf_release(&notes);
}

TEST(loads_the_parameters_of_a_checkpoint)
{
    struct err err = {0};
    struct buf left = {0};
    int loaded;
    struct engine_program program, trained;
    toy_start(&trained);
    toy_train(&trained, 0, 10);
    struct checkpoint_subject other = toy_subject;
    other.workload = "cnn"; // whatever it is of
    assert_ok(checkpoint_save(path, &other, &trained, &somewhere, &err), &err);
    toy_start(&program);
    assert_ok(checkpoint_load_parameters(path, &toy_subject, &program, &loaded, &left, &err), &err);
    assert_int_equal(loaded, 3);
    assert_string_equal(buf_str(&left), "");
    for (int i = 0; i < 3; i++)
        assert_memory_equal(program.values[i], trained.values[i], toy_count(i) * sizeof(float));
    assert_true(program.values[3][0] == 0); // the state was not
    assert_int_equal(program.iteration, 0);
}

int main(void)
{
    return run_all_tests(make_dir, remove_dir);
}
