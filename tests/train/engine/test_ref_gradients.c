// SPDX-License-Identifier: Apache-2.0
// Whole programs of the reference engine: losses and gradients against PyTorch's, and against
// differences of the loss that a step reports.
#include "train/engine/engine.h"

#include "train/engine/gpt_cases.h"
#include "train/engine/ref_cases.h"

// ---- against PyTorch ----

struct gradient {
    const char *name;
    double sum;     // of g[k] × (k mod 7 - 2.5)
    double squares; // of g[k]²
};

// Numbers are read in single precision, so a sum is as good as its terms are small.
static void assert_near(double got, double expected, double scale, const char *what)
{
    if (!(fabs(got - expected) <= 2e-7 * scale))
        fail_msg("%s: %.12g, but PyTorch has %.12g", what, got, expected);
}

static void assert_close(double got, double expected, const char *what)
{
    assert_near(got, expected, fabs(expected), what);
}

static void assert_gradients(struct engine_program *program, const struct gradient *rows, int count)
{
    for (int i = 0; i < count; i++) {
        char name[64];
        struct engine_tensor tensor;
        int64_t size;
        double sum = 0, squares = 0;
        snprintf(name, sizeof name, "%s.state0", rows[i].name);
        float *g = values_of(program, find(program, name, &tensor), &size);
        assert_int_equal(tensor.role, ENGINE_STATE);
        for (int64_t k = 0; k < size; k++) {
            sum += (double)g[k] * ((double)(k % 7) - 2.5);
            squares += (double)g[k] * (double)g[k];
        }
        assert_near(sum, rows[i].sum, fabs(rows[i].sum) + sqrt(rows[i].squares), rows[i].name);
        assert_close(squares, rows[i].squares, rows[i].name);
        free(g);
    }
}

// The figures of the next three tests were printed by PyTorch 2.11 in double precision for the
// same nets, parameters and data, with TensorFlow's padding made by hand.
TEST(test_images_like_pytorch)
{
    static const struct gradient gradients[] = {
        {"c1.weight", 0.0119929313247, 8.36982764803e-05},
        {"c1.bias", 0.00374169731344, 2.09397099578e-05},
        {"c2.weight", -0.00474900658972, 2.51783410787e-06},
        {"bn.weight", -0.00202061622364, 7.7287291655e-06},
        {"bn.bias", 0.0050973387749, 3.94600170874e-06},
        {"c3.weight", -0.0179450961361, 0.00025307086111},
        {"c3.bias", 0.0111140885278, 2.52700649558e-05},
        {"fc1.weight", -0.000507741755707, 1.71197896628e-05},
        {"fc1.bias", 0.00723199874278, 0.000627621669787},
        {"fc2.weight", 0.0208392484604, 0.000724994031473},
        {"fc2.bias", 0.108905392832, 0.00671088819313},
    };
    struct net net;
    struct err err = {0};
    build_images(&net);
    struct engine_program *program = compile(&net, &see_gradients, 5, 1);
    struct engine_batch batch = data(5, 3, 11);
    struct engine_score score = {0};
    set_params(program, &net);
    step(program, &batch, &score);
    assert_close(score.loss, 5.32327324211816, "loss");
    assert_int_equal(score.correct, 2);
    assert_int_equal(score.count, 5);
    assert_gradients(program, gradients, 11);

    static const double running[2][2] = {{0.0693782809385, 0.320509241419},
                                         {0.598615062987, 0.753590150124}};
    for (int i = 0; i < 2; i++) {
        struct engine_tensor tensor;
        int64_t count;
        int index = find(program, i == 0 ? "bn.running_mean" : "bn.running_var", &tensor);
        assert_int_equal(tensor.role, ENGINE_PARAMETER);
        float *got = values_of(program, index, &count);
        assert_close((double)got[0], running[i][0], tensor.name);
        assert_close((double)got[1], running[i][1], tensor.name);
        free(got);
    }

    // Evaluating uses those.
    struct engine_score evaluated = {0};
    assert_ok(engine_ref.evaluate(program, &batch, &evaluated, &err), &err);
    assert_close(evaluated.loss, 5.32400397408598, "evaluated loss");
    assert_int_equal(evaluated.correct, 2);
    static const double last[3] = {0.334063490811, 0.422824663827, 0.243111845362};
    float out[5 * 3];
    assert_ok(engine_ref.predict(program, &batch, out, &err), &err);
    for (int u = 0; u < 3; u++)
        assert_close((double)out[4 * 3 + u], last[u], "prediction");
    engine_ref.release(program);
    net_release(&net);
}

TEST(test_words_like_pytorch)
{
    static const struct gradient gradients[] = {
        {"embedding.weight", 0.00015329760281, 0.000224623720475},
        {"lstm.weight_ih_l0", -0.0106879359356, 0.000395387533184},
        {"lstm.weight_hh_l0", 0.00123709815415, 3.04693549354e-05},
        {"lstm.bias_ih_l0", 0.0832304147677, 0.000401413910807},
        {"lstm.weight_ih_l0_reverse", 0.0126655027423, 0.000509884979596},
        {"lstm.weight_hh_l0_reverse", -0.0183160657565, 1.47038636764e-05},
        {"lstm.bias_ih_l0_reverse", 0.025496486964, 0.00016727214742},
        {"fc.weight", -0.0287868416994, 0.00136180189237},
        {"fc.bias", -0.222406680686, 0.00791435705821},
    };
    static const double predictions[4] = {0.586930777446, 0.591705698408, 0.583670122818,
                                          0.593544090426};
    struct net net;
    struct err err = {0};
    build_words(&net);
    struct engine_program *program = compile(&net, &see_gradients, 4, 1);
    struct engine_batch batch = data(4, 2, 11);
    struct engine_score score = {0};
    float out[4];
    set_params(program, &net);
    assert_ok(engine_ref.predict(program, &batch, out, &err), &err);
    for (int i = 0; i < 4; i++)
        assert_close((double)out[i], predictions[i], "prediction");
    step(program, &batch, &score);
    assert_close(score.loss, 2.80680712756825, "loss");
    assert_int_equal(score.correct, 2);
    assert_gradients(program, gradients, 9);
    engine_ref.release(program);
    net_release(&net);
}

TEST(test_letters_like_pytorch)
{
    static const struct gradient gradients[] = {
        {"lstm.weight_ih_l0", -0.0598807763509, 0.00230258978674},
        {"lstm.weight_hh_l0", -0.0151267226424, 6.51651172526e-05},
        {"lstm.bias_ih_l0", 0.137741948261, 0.00244790335325},
        {"fc.weight", 0.114470328392, 0.00276582857595},
        {"fc.bias", 0.461097296591, 0.0897876706801},
    };
    struct net net;
    build_letters(&net);
    struct engine_program *program = compile(&net, &see_gradients, 3, 1);
    struct engine_batch batch = data(3, 4, 7);
    struct engine_score score = {0};
    set_params(program, &net);
    step(program, &batch, &score);
    assert_close(score.loss, 4.20968745901991, "loss");
    assert_int_equal(score.correct, 1);
    assert_gradients(program, gradients, 5);
    engine_ref.release(program);
    net_release(&net);
}

// Figures by PyTorch 1.13 in double precision, with attention written out.
static const struct gpt gpt = {2, 3, 6, 5, 11, 7};
#define GPT_BATCH 4

static struct engine_batch gpt_data(void)
{
    static int32_t words[GPT_BATCH * 5], next[GPT_BATCH * 5];
    for (int k = 0; k < GPT_BATCH * 5; k++) {
        words[k] = (k * 5 + k / 7 + 3) % 11;
        next[k] = (k * 3 + k / 4) % 11;
    }
    return (struct engine_batch){.count = GPT_BATCH, .tokens = words, .labels = next};
}

TEST(test_gpt_like_pytorch)
{
    static const struct gradient gradients[] = {
        {"wte.weight", 0.0901707117328, 0.0126753877086},
        {"wpe.weight", -0.0107440501253, 0.00253707860964},
        {"h.0.ln_1.weight", 0.0104442975904, 8.68104418819e-05},
        {"h.0.ln_1.bias", -0.0128904147262, 7.07141497096e-05},
        {"h.0.attn.c_attn.weight", -0.0647765576032, 0.000388717967094},
        {"h.0.attn.c_attn.bias", 0.0795013876767, 0.000342754434671},
        {"h.0.attn.c_proj.weight", 0.00198780612549, 0.000434825673191},
        {"h.0.attn.c_proj.bias", 0.0194662378248, 0.0010908775634},
        {"h.0.ln_2.weight", -0.00847599750866, 4.22886645982e-05},
        {"h.0.ln_2.bias", -0.00573792127751, 5.28482619865e-05},
        {"h.0.mlp.c_fc.weight", -0.00677782905972, 0.000239980956428},
        {"h.0.mlp.c_fc.bias", -0.0032816742516, 0.000215887774729},
        {"h.0.mlp.c_proj.weight", -0.038872524425, 0.000337138109889},
        {"h.0.mlp.c_proj.bias", 0.00486887635271, 0.000707106263904},
        {"h.1.ln_1.weight", 0.0221309253724, 0.000234109661899},
        {"h.1.ln_1.bias", -0.0182099273426, 7.56011102642e-05},
        {"h.1.attn.c_attn.weight", -0.0349759667042, 0.000206480030363},
        {"h.1.attn.c_attn.bias", -0.0358127946999, 0.000202948689418},
        {"h.1.attn.c_proj.weight", 0.0311217838818, 0.000281027838574},
        {"h.1.attn.c_proj.bias", -0.00515285660547, 0.000447554729042},
        {"h.1.ln_2.weight", -0.0124736096877, 1.95949483559e-05},
        {"h.1.ln_2.bias", 0.0059057044849, 2.8960425124e-05},
        {"h.1.mlp.c_fc.weight", 0.044748735495, 0.000231531984718},
        {"h.1.mlp.c_fc.bias", -0.0111243039282, 0.000272305575861},
        {"h.1.mlp.c_proj.weight", 0.0253619702478, 0.000215704547044},
        {"h.1.mlp.c_proj.bias", -0.00899787267988, 0.000376875261892},
        {"ln_f.weight", 0.0617309148709, 0.00115642924245},
        {"ln_f.bias", 0.00955561972097, 0.000897059454414},
    };
    static const double odds[3] = {0.0862778976706, 0.0811126639422, 0.0890073331596};
    struct net net;
    struct err err = {0};
    build_gpt(&net, &gpt);
    struct engine_program *program = compile(&net, &see_gradients, GPT_BATCH, 1);
    struct engine_batch batch = gpt_data();
    struct engine_score score = {0};
    float out[GPT_BATCH * 11];
    set_params(program, &net);
    batch.position = 3;
    assert_ok(engine_ref.predict(program, &batch, out, &err), &err);
    for (int i = 0; i < 3; i++)
        assert_close((double)out[11 + i], odds[i], "prediction");
    step(program, &batch, &score);
    assert_close(score.loss, 47.608363499137, "loss");
    assert_int_equal(score.count, GPT_BATCH * 5);
    assert_int_equal(score.correct, 2);
    assert_gradients(program, gradients, sizeof gradients / sizeof *gradients);
    engine_ref.release(program);
    net_release(&net);
}

// AdamW with decay on matrices only, gradients clipped, the rate rising and falling: losses of six
// steps and the squares of all parameters after them. These are kept in single precision.
TEST(test_adamw_like_pytorch)
{
    static const double losses[] = {2.38041817496, 2.36763770096, 2.33933467228,
                                    2.31619134604, 2.30222956882, 2.29627194871};
    static const struct recipe recipe = {.optimizer = OPTIMIZER_ADAMW,
                                         .rho = 0.9f,
                                         .beta2 = 0.95f,
                                         .epsilon = 1e-8f,
                                         .weight_decay = 0.1f,
                                         .stages = {{.rate = 0.01f, .steps = 5}},
                                         .stage_count = 1,
                                         .clip = 0.1f,
                                         .warmup = 2,
                                         .floor = 0.1f};
    struct net net;
    build_gpt(&net, &gpt);
    struct engine_program *program = compile(&net, &recipe, GPT_BATCH, 1);
    struct engine_batch batch = gpt_data();
    set_params(program, &net);
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        struct engine_score score = {0};
        step(program, &batch, &score);
        assert_near(score.loss / (double)score.count, losses[i], 5 * losses[i], "loss");
    }
    double squares = 0;
    for (int p = 0; p < net.param_count; p++) {
        int64_t count;
        float *w = values_of(program, p, &count);
        for (int64_t k = 0; k < count; k++)
            squares += (double)w[k] * (double)w[k];
        free(w);
    }
    assert_near(squares, 60.0865628, 60, "squares");
    engine_ref.release(program);
    net_release(&net);
}

// ---- whole nets against differences ----

static double loss_at(struct engine_program *program, const struct engine_batch *batch)
{
    struct engine_score score = {0};
    engine_ref.set_iteration(program, 7); // the same masks every time
    step(program, batch, &score);
    return score.loss / (double)score.count;
}

// The gradients that programs[0] has are those of its loss and `weight` × that of programs[1],
// another program with the same parameters (where there is one).
static void assert_differences(struct engine_program *const programs[2], double weight,
                               const struct net *net, const struct engine_batch *batch)
{
    int checked = 0;
    for (int p = 0; p < net->param_count; p++) {
        if (!net->params[p].trained)
            continue;
        char name[64];
        int64_t count;
        struct engine_tensor tensor;
        float *w = values_of(programs[0], p, &count);
        snprintf(name, sizeof name, "%s.state0", net->params[p].name);
        loss_at(programs[0], batch);
        float *g = values_of(programs[0], find(programs[0], name, &tensor), &count);
        for (int64_t k = 0; k < count; k += 3) {
            const float away = 0x1p-14f; // exact; so small that no relu turns within it
            const float kept = w[k], at[3] = {kept + away, kept - away, kept};
            double loss[3];
            for (int i = 0; i < 3; i++) {
                w[k] = at[i];
                put(programs[0], p, w);
                loss[i] = loss_at(programs[0], batch);
                if (!programs[1])
                    continue;
                put(programs[1], p, w);
                loss[i] += weight * loss_at(programs[1], batch);
            }
            double expected = (loss[0] - loss[1]) / (2 * (double)away);
            if (fabs((double)g[k] - expected) > 1e-6 * (1 + fabs(expected)))
                fail_msg("%s[%lld]: %g, by differences %g", name, (long long)k, (double)g[k],
                         expected);
            checked += g[k] != 0;
        }
        free(w);
        free(g);
    }
    assert_true(checked > 50); // not all of it dead
}

TEST(test_dropped_against_differences)
{
    struct net net;
    build_dropped(&net);
    struct engine_program *program = compile(&net, &see_gradients, 5, 3);
    struct engine_batch batch = data(5, 3, 11);
    set_params(program, &net);
    double loss = loss_at(program, &batch);
    assert_true(loss == loss_at(program, &batch));
    engine_ref.set_iteration(program, 8);
    struct engine_score other = {0};
    step(program, &batch, &other);
    assert_true(other.loss != loss * 5); // another mask
    assert_differences((struct engine_program *[2]){program, NULL}, 0, &net, &batch);
    engine_ref.release(program);
    net_release(&net);
}

TEST(test_gpt_against_differences)
{
    struct net net;
    build_gpt(&net, &gpt);
    struct engine_program *program = compile(&net, &see_gradients, GPT_BATCH, 3);
    struct engine_batch batch = gpt_data();
    set_params(program, &net);
    assert_differences((struct engine_program *[2]){program, NULL}, 0, &net, &batch);
    engine_ref.release(program);
    net_release(&net);
}

// A net with two heads; `swapped` tells the loss of the other one.
static void build_two_heads(struct net *net, bool swapped)
{
    net_init(net, "heads");
    struct net_conv conv = {7, 3, 3, 1, NET_SAME, false, true};
    int at = net_conv(net, net_image(net, 2, 7, 6), conv, "conv");
    int trunk = net_batch_norm(net, at, 0.9f, 0.01f, true, "bn");
    at = net_dense(net, net_average_pool(net, trunk, 5, 3, NET_VALID), 11, true, "aux.fc");
    int head = net_dense(net, at, 3, false, "aux.d");
    int own = net_dense(net, net_dropout(net, net_global_average(net, trunk), 0.2f), 3, false, "d");
    net_aux(net, swapped ? head : own, swapped ? own : head, 0.375f);
}

// What is told is the loss of the net's own head, as if there were no other; what is trained is
// the sum.
TEST(test_two_heads_against_differences)
{
    struct net nets[2];
    struct engine_program *programs[2];
    struct engine_batch batch = data(5, 3, 11);
    for (int i = 0; i < 2; i++) {
        build_two_heads(&nets[i], i == 1);
        programs[i] = compile(&nets[i], &see_gradients, 5, 3);
        set_params(programs[i], &nets[i]);
    }
    assert_true(loss_at(programs[0], &batch) != loss_at(programs[1], &batch));
    assert_differences(programs, 0.375, &nets[0], &batch);
    for (int i = 0; i < 2; i++) {
        engine_ref.release(programs[i]);
        net_release(&nets[i]);
    }
}
