// SPDX-License-Identifier: Apache-2.0
// What is known of models and their trainings: coefficients, errors, shapes by name, by size and
// from a config.json.
#include "advise/estimate/model.h"

#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "tables/files.h"

// ==== tables ====

struct coefficient {
    char *name;
    double value;
};

#define REAL(type, member, title, from, to, empty)                                                 \
    {                                                                                              \
        .name = title, .kind = COLUMN_REAL, .at = offsetof(struct type, member), .may_be = empty,  \
        .least = from, .most = to                                                                  \
    }
#define WORDS(type, member, empty)                                                                 \
    {                                                                                              \
        .name = #member, .kind = COLUMN_TEXT, .at = offsetof(struct type, member), .may_be = empty \
    }

static const struct column coefficient_columns[] = {
    WORDS(coefficient, name, COLUMN_NEEDED),
    REAL(coefficient, value, "value", -20, 20, COLUMN_NEEDED),
    {0}};
static const char *const questions[] = {"given", "planned", "memory", NULL};
static const struct column error_columns[] = {
    {"question", COLUMN_TEXT, offsetof(struct model_errors, question), .words = questions},
    WORDS(model_errors, method, COLUMN_EMPTY),
    REAL(model_errors, half[ESTIMATE_50], "half50", 0, 20, COLUMN_NEEDED),
    REAL(model_errors, half[ESTIMATE_80], "half80", 0, 20, COLUMN_NEEDED),
    REAL(model_errors, half[ESTIMATE_90], "half90", 0, 20, COLUMN_NEEDED),
    REAL(model_errors, half[ESTIMATE_95], "half95", 0, 20, COLUMN_NEEDED),
    REAL(model_errors, rows, "rows", 0, 1e9, COLUMN_NEEDED),
    REAL(model_errors, sources, "sources", 0, 1e9, COLUMN_NEEDED),
    {0}};
#define NEED(member, title, from, to) REAL(model_row, member, title, from, to, COLUMN_NEEDED)
#define MAY(member, title, to)        REAL(model_row, member, title, 0, to, COLUMN_EMPTY)
static const struct column model_columns[] = {WORDS(model_row, name, COLUMN_NEEDED),
                                              WORDS(model_row, aliases, COLUMN_EMPTY),
                                              NEED(params, "parameters", 1e3, 1e15),
                                              NEED(active, "active", 1e3, 1e15),
                                              NEED(layers, "layers", 1, 1e4),
                                              NEED(hidden, "width", 1, 1e6),
                                              NEED(heads, "heads", 1, 1e5),
                                              NEED(kv, "kv_heads", 1, 1e5),
                                              NEED(head_size, "head_size", 1, 1e5),
                                              NEED(ff_width, "ff_width", 1, 1e7),
                                              NEED(matrices, "matrices", 2, 3),
                                              MAY(experts, "experts", 1e5),
                                              MAY(chosen, "chosen", 1e5),
                                              MAY(shared, "shared", 1e3),
                                              MAY(expert_width, "expert_width", 1e7),
                                              MAY(dense_layers, "dense_layers", 1e4),
                                              MAY(attention, "attention", 1e15),
                                              NEED(vocab, "vocabulary", 1, 1e8),
                                              MAY(positions, "positions", 1e8),
                                              MAY(context, "context", 1e9),
                                              NEED(tied, "tied", 0, 1),
                                              WORDS(model_row, source, COLUMN_EMPTY),
                                              WORDS(model_row, date, COLUMN_EMPTY),
                                              {0}};

static int check_row(const struct columns_row *at, void *row, struct err *err)
{
    const struct model_row *m = row;
    if (m->active > m->params || m->chosen > m->experts || m->kv > m->heads)
        return columns_fault(at, NULL, err, "more are used than there are");
    return m->experts > 1 && (m->chosen < 1 || m->expert_width < 1)
               ? columns_fault(at, "chosen", err,
                               "expected the experts of a token, and their width")
               : 0;
}

static const struct columns coefficients_file = {coefficient_columns, sizeof(struct coefficient)},
                            errors_file = {error_columns, sizeof(struct model_errors)},
                            models_file = {model_columns, sizeof(struct model_row), false,
                                           check_row};

struct coefficients {
    LIST_OF(struct coefficient) rows;
};

static int take(const struct coefficients *from, const char *file, const char *name, bool factor,
                double *out, struct err *err)
{
    for (size_t i = 0; i < from->rows.count; i++)
        if (strcmp(from->rows.items[i].name, name) == 0) {
            *out = factor ? exp(from->rows.items[i].value) : from->rows.items[i].value;
            return 0;
        }
    return err_set(err, ERR_FORMAT, "%s: expected a row '%s'", file, name);
}

static int take_all(const struct coefficients *time, const struct coefficients *memory,
                    struct model_tables *out, struct err *err)
{
#define FACTOR(name) TRY(take(time, TIME_FILE, #name, true, &out->time.name, err));
#define TERM(name)   TRY(take(time, TIME_FILE, #name, false, &out->time.name, err));
#define TIME_FILE    "estimate/model-time.csv"
    MODEL_TIME_FACTORS(FACTOR)
    MODEL_TIME_TERMS(TERM)
#undef FACTOR
#undef TERM
#define FACTOR(name) TRY(take(memory, MEMORY_FILE, #name, true, &out->memory.name, err));
#define TERM(name)   TRY(take(memory, MEMORY_FILE, #name, false, &out->memory.name, err));
#define MEMORY_FILE  "estimate/model-memory.csv"
    MODEL_MEMORY_FACTORS(FACTOR)
    MODEL_MEMORY_TERMS(TERM)
#undef FACTOR
#undef TERM
    return 0;
}

int model_tables_open(struct model_tables **out, struct err *err)
{
    struct model_tables *tables = calloc(1, sizeof *tables);
    int rc = tables ? 0 : err_memory(err);
    struct coefficients *time = NULL, *memory = NULL;
    *out = NULL;
    if (rc == 0)
        time = columns_new(&coefficients_file, TIME_FILE, TIME_FILE, &rc, err);
    if (rc == 0)
        memory = columns_new(&coefficients_file, MEMORY_FILE, MEMORY_FILE, &rc, err);
    if (rc == 0)
        rc = take_all(time, memory, tables, err);
    if (rc == 0)
        rc = columns_both(&errors_file, "estimate/model-errors.csv", "estimate/model-errors.csv",
                          &tables->errors, NULL, err);
    if (rc == 0)
        rc = columns_both(&models_file, "models.csv", "models.csv", &tables->models, NULL, err);
    columns_free(&coefficients_file, time);
    columns_free(&coefficients_file, memory);
    if (rc == 0)
        *out = tables;
    else
        model_tables_close(tables);
    return rc;
}

void model_tables_close(struct model_tables *tables)
{
    if (!tables)
        return;
    columns_release(&errors_file, &tables->errors);
    columns_release(&models_file, &tables->models);
    free(tables);
}

// ==== a model by name or size ====

struct model_shape model_shape(const struct model_row *m)
{
    bool many = m->experts > 1;
    return (struct model_shape){.params = m->params,
                                .active = m->active,
                                .layers = m->layers,
                                .hidden = m->hidden,
                                .heads = m->heads,
                                .kv = m->kv,
                                .head_size = m->head_size,
                                .ffn = many ? m->expert_width : m->ff_width,
                                .vocab = m->vocab,
                                .tied = m->tied,
                                .experts = many ? m->experts : 1,
                                .chosen = many ? m->chosen : 1,
                                .gated = m->matrices == 3,
                                .routed = 1};
}

// What publishers put around a name; the shape is the same.
static const char *const trimmings[] = {
    "instruct", "chat", "base", "hf",  "it",   "pt",   "deduped",  "v0.1",    "v0.2", "v1.0",
    "4k",       "8k",   "128k", "bnb", "4bit", "meta", "deepseek", "preview", NULL};

// Letters and digits in lower case: "Meta-Llama-3-8B" is "metallama38b"; `bare`: "llama38b".
static void plain_name(const char *text, size_t len, bool bare, char out[80])
{
    size_t n = 0;
    for (size_t i = 0, end; i < len; i = end + 1) {
        for (end = i; end < len && (isalnum((unsigned char)text[end]) || text[end] == '.');)
            end++;
        bool trim = false;
        for (size_t t = 0; bare && trimmings[t]; t++)
            trim |= strlen(trimmings[t]) == end - i &&
                    strncasecmp(trimmings[t], text + i, end - i) == 0;
        for (size_t k = i; k < end && !trim && n < 79; k++)
            if (text[k] != '.')
                out[n++] = (char)tolower((unsigned char)text[k]);
    }
    out[n] = '\0';
}

static bool is_called(const struct model_row *m, const char *name)
{
    char plain[80];
    plain_name(m->name, strlen(m->name), false, plain);
    if (strcmp(plain, name) == 0)
        return true;
    for (const char *alias = m->aliases; alias; alias = strchr(alias, ';')) {
        alias += *alias == ';';
        plain_name(alias, strcspn(alias, ";"), false, plain);
        if (strcmp(plain, name) == 0)
            return true;
    }
    return false;
}

static const struct model_row *by_name(const struct model_tables *tables, const char *text)
{
    const char *publisher = strrchr(text, '/');
    const char *name = publisher ? publisher + 1 : text;
    for (int bare = 0; bare < 2; bare++) {
        char plain[80];
        plain_name(name, strlen(name), bare, plain);
        for (size_t i = 0; plain[0] && i < tables->models.count; i++)
            if (is_called(&tables->models.items[i], plain))
                return &tables->models.items[i];
    }
    return NULL;
}

// "8b", "1.3B", "124m"; 0: it is no size.
static double size_of(const char *text)
{
    const size_t digits = strspn(text, "0123456789.");
    const char unit = (char)tolower((unsigned char)text[digits]);
    if (digits == 0 || digits > 12 || (unit != 'b' && unit != 'm') || text[digits + 1])
        return 0;
    return strtod(text, NULL) * (unit == 'b' ? 1e9 : 1e6);
}

// The nearest row without experts, within 25 %; of near ones a Llama or GPT-2 before Qwen and
// Pythia, and those before others.
static const struct model_row *by_size(const struct model_tables *tables, double params)
{
    const struct model_row *best = NULL;
    double least = HUGE_VAL;
    for (size_t i = 0; i < tables->models.count; i++) {
        const struct model_row *m = &tables->models.items[i];
        bool first = strncmp(m->name, "llama-", 6) == 0 || strncmp(m->name, "gpt2", 4) == 0;
        bool second = strncmp(m->name, "qwen", 4) == 0 || strncmp(m->name, "pythia", 6) == 0;
        double off = fabs(log(m->params / params));
        double score = off + (first ? 0 : second ? 0.05 : 0.1);
        if (m->experts > 1 || !(off <= log(1.25)) || score >= least)
            continue;
        best = m;
        least = score;
    }
    return best;
}

// ==== config.json ====

struct config {
    const json_t *json;
    struct err *err;
    int rc;
};

// The value of the first of these keys ("hidden_size|n_embd") that is there and not null.
static const json_t *value_of(const json_t *json, const char *keys, char key[48])
{
    for (;; keys++) {
        size_t len = strcspn(keys, "|");
        snprintf(key, 48, "%.*s", (int)len, keys);
        const json_t *value = json_object_get(json, key);
        if (value && !json_is_null(value))
            return value;
        keys += len;
        if (!*keys)
            break;
    }
    snprintf(key, 48, "%.*s", 0, "");
    return NULL;
}

// A whole number; `otherwise` if it is not there, unless that is REQUIRED.
#define REQUIRED (-1.0)
static double number(struct config *c, const char *keys, double least, double most,
                     double otherwise)
{
    char key[48];
    const json_t *value = value_of(c->json, keys, key);
    const double v = value ? json_number_value(value) : otherwise;
    if (c->rc != 0 || (!value && otherwise >= 0))
        return otherwise;
    if (!value)
        c->rc = err_set(c->err, ERR_FORMAT, "'%.*s' is missing", (int)strcspn(keys, "|"), keys);
    else if (!json_is_number(value) || !(v >= least && v <= most) || v != floor(v))
        c->rc = err_set(c->err, ERR_FORMAT, "'%s' must be a whole number from %.0f to %.0f", key,
                        least, most);
    return v;
}

static bool flag(const json_t *json, const char *key, bool otherwise)
{
    const json_t *value = json_object_get(json, key);
    return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

// Whether a text begins with one of these: "gpt2|opt".
static bool one_of(const char *text, const char *words)
{
    for (;; words++) {
        size_t len = strcspn(words, "|");
        if (strncmp(text, words, len) == 0)
            return true;
        words += len;
        if (!*words)
            return false;
    }
}

// Weights of attention in a layer where keys and values come from a narrow row (DeepSeek's MLA).
static double latent_attention(struct config *c, const struct model_row *m)
{
    const double kv = number(c, "kv_lora_rank", 1, 1e6, 0);
    if (kv == 0)
        return 0;
    const double q = number(c, "q_lora_rank", 1, 1e6, 0);
    const double nope = number(c, "qk_nope_head_dim", 1, 1e5, REQUIRED);
    const double rope = number(c, "qk_rope_head_dim", 1, 1e5, REQUIRED);
    const double v = number(c, "v_head_dim", 1, 1e5, REQUIRED);
    const double size = nope + rope;
    return (q > 0 ? m->hidden * q + q * m->heads * size : m->hidden * m->heads * size) +
           m->hidden * (kv + rope) + kv * m->heads * (nope + v) + m->heads * v * m->hidden;
}

static void read_experts(struct config *c, const char *type, struct model_row *m)
{
    m->experts = number(c, "num_experts|num_local_experts|n_routed_experts", 1, 1e5, 0);
    if (m->experts <= 1)
        return;
    m->chosen =
        number(c, "num_experts_per_tok|experts_per_token|moe_topk", 1, m->experts, REQUIRED);
    m->expert_width = number(c, "moe_intermediate_size", 1, 1e7, m->ff_width);
    m->shared = number(c, "n_shared_experts|num_shared_experts", 0, 1e3, 0);
    m->shared += number(c, "shared_expert_intermediate_size", 0, 1e7, 0) / m->expert_width;
    m->dense_layers = number(c, "first_k_dense_replace", 0, m->layers, 0);
    m->dense_layers += (double)json_array_size(json_object_get(c->json, "mlp_only_layers"));
    if (one_of(type, "llama4")) { // each of so many layers has experts, and one that all rows pass
        m->shared = 1;
        m->dense_layers =
            m->layers - floor(m->layers / number(c, "interleave_moe_layer_step", 1, 1e4, 1));
        m->ff_width = number(c, "intermediate_size_mlp", 1, 1e7, m->ff_width);
    }
    m->dense_layers = fmin(m->dense_layers, m->layers);
}

static int read_row(struct config *c, const json_t *whole, const char *type, struct model_row *m)
{
    static const char two[] =
        "gpt2|gpt_neo|gptj|gpt_bigcode|opt|falcon|bloom|mpt|starcoder2|codegen|"
        "nemotron|persimmon|xglm";
    static const char shared_tables[] = "gpt2|gpt_neo|gpt_bigcode|opt|falcon|gemma|bloom|mpt|"
                                        "starcoder2|cohere|xglm";
    m->hidden = number(c, "hidden_size|n_embd|d_model|n_embed", 1, 1e6, REQUIRED);
    m->layers = number(c, "num_hidden_layers|n_layer|n_layers|num_layers", 1, 1e4, REQUIRED);
    m->heads = number(c, "num_attention_heads|n_head|n_heads|num_heads", 1, 1e5, REQUIRED);
    // Falcon and StarCoder had one key for all heads before there was a number.
    const bool one_key = flag(c->json, "multi_query", false);
    m->kv = number(c, "num_key_value_heads|num_kv_heads|n_head_kv|n_kv_heads", 1, 1e5,
                   one_key ? 1 : m->heads);
    m->head_size = number(c, "head_dim", 1, 1e5, m->hidden / m->heads);
    m->ff_width = number(c, "intermediate_size|n_inner|ffn_dim|ffn_hidden_size", 1, 1e7,
                         number(c, "expansion_ratio", 1, 1000, 4) * m->hidden);
    m->vocab = number(c, "vocab_size|padded_vocab_size", 1, 1e8, REQUIRED);
    // Parts with a table of their own for positions; the others turn rows.
    m->context =
        number(c, "max_position_embeddings|n_positions|n_ctx|max_seq_len|seq_length", 1, 1e9, 0);
    m->positions =
        one_of(type, "gpt2|opt|gpt_neo|gpt_bigcode") && !one_of(type, "gpt_neox") ? m->context : 0;
    m->matrices = strcmp(type, "phi") == 0 || one_of(type, two) ? 2 : 3;
    m->tied = flag(c->json, "tie_word_embeddings",
                   flag(whole, "tie_word_embeddings",
                        one_of(type, shared_tables) && !one_of(type, "gpt_neox")));
    if (c->rc == 0)
        read_experts(c, type, m);
    m->attention = c->rc == 0 ? latent_attention(c, m) : 0;
    if (c->rc != 0)
        return c->rc;
    if (m->head_size != floor(m->head_size))
        return err_set(c->err, ERR_FORMAT,
                       "'hidden_size' must be a multiple of 'num_attention_heads'");
    if (m->kv > m->heads || fmod(m->heads, m->kv) != 0)
        return err_set(c->err, ERR_FORMAT,
                       "'num_attention_heads' must be a multiple of 'num_key_value_heads'");
    return 0;
}

// Embeddings, attention and feed-forward matrices, experts and their routers; without biases and
// norms. tests/tables/test_models.py holds the table against the same sum.
static void count_parameters(struct model_row *m)
{
    const bool many = m->experts > 1;
    const double dense = many ? m->dense_layers : m->layers, sparse = m->layers - dense;
    const double attention =
        m->attention > 0 ? m->attention : m->hidden * m->head_size * 2 * (m->heads + m->kv);
    const double expert = sparse * m->matrices * m->hidden * m->expert_width;
    const double rest = ((m->tied > 0 ? 1 : 2) * m->vocab + m->positions) * m->hidden +
                        m->layers * attention + dense * m->matrices * m->hidden * m->ff_width +
                        sparse * m->hidden * (many ? m->experts : 0);
    m->params = rest + expert * (m->experts + m->shared);
    m->active = rest + expert * (m->chosen + m->shared);
}

int model_config(const char *text, size_t len, struct model_shape *out, double *context,
                 char name[64], struct err *err)
{
    static const char *const parts[] = {"text_config", "language_config", "llm_config", NULL};
    json_error_t why;
    *out = (struct model_shape){0};
    *context = 0;
    name[0] = '\0';
    if (len > MODEL_CONFIG_MOST)
        return err_set(err, ERR_FORMAT, "a config.json has at most 1 MiB");
    json_auto_t *json = json_loadb(text, len, 0, &why);
    if (!json_is_object(json))
        return err_set(err, ERR_FORMAT, "it is not a JSON object (line %d)", json ? 1 : why.line);
    struct config c = {json, err, 0};
    for (size_t i = 0; parts[i]; i++)
        if (json_is_object(json_object_get(json, parts[i]))) {
            c.json = json_object_get(json, parts[i]);
            break;
        }
    const char *type = json_string_value(json_object_get(c.json, "model_type"));
    if (!type)
        type = json_string_value(json_object_get(json, "model_type"));
    snprintf(name, 64, "%s", type ? type : "");
    if (flag(json, "is_encoder_decoder", false) || strstr(name, "bert"))
        return err_set(err, ERR_FORMAT, "'%s' is not a decoder: only those were measured", name);
    struct model_row row = {0};
    TRY(read_row(&c, json, name, &row));
    count_parameters(&row);
    *out = model_shape(&row);
    *context = row.context;
    return 0;
}

// ==== all of them ====

static int find_config(const char *path, struct model_found *out, struct err *err)
{
    SCOPED(buf_release) struct buf text = {0};
    char type[64];
    int rc = fs_read(path, MODEL_CONFIG_MOST, &text, err);
    if (rc == 0) {
        rc = model_config(buf_str(&text), text.len, &out->shape, &out->context, type, err);
        if (rc != 0)
            err_context(err, "'%s'", path);
    }
    if (rc == 0)
        snprintf(out->name, sizeof out->name, "%s%s%s", type, type[0] ? " in " : "", path);
    return rc;
}

int model_find(const struct model_tables *tables, const char *text, struct model_found *out,
               struct err *err)
{
    const struct short_text inside = short_text("%s/config.json", text);
    const char *file = text_ends(text, ".json") ? text : fs_is_file(inside.s) ? inside.s : NULL;
    *out = (struct model_found){0};
    if (file && (file == text || strchr(text, '/')))
        return find_config(file, out, err);
    out->model = by_name(tables, text);
    const double size = out->model ? 0 : size_of(text);
    if (size > 0 && (out->model = by_size(tables, size)))
        out->typical = true;
    if (!out->model && file)
        return find_config(file, out, err);
    if (!out->model) {
        err_set(err, ERR_MISSING,
                size > 0 ? "no model of the table is near %s" : "'%s' is not a model of the table",
                text);
        return err_hint(err, "'fare workloads models' lists them; a config.json will do as well, "
                             "or a size such as 8b");
    }
    out->shape = model_shape(out->model);
    out->context = out->model->context;
    snprintf(out->name, sizeof out->name, "%s%s%s", out->typical ? text : "",
             out->typical ? ": as " : "", out->model->name);
    return 0;
}
