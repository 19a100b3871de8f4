// SPDX-License-Identifier: Apache-2.0
// Secrets in the forms that their providers document, and values that look a little like them.
// Sources: docs.github.com (token formats), docs.aws.amazon.com (example keys), api.slack.com
// (token types), RFC 7519, huggingface.co/docs/hub/security-tokens, docs.wandb.ai; the arguments of
// Hugging Face's and Diffusers' example scripts. Literals are cut in two, so that scanners of
// repositories do not take them for real ones.
#include "base/secret.h"

#include <string.h>

#include "test.h"

#define HF                                                                                         \
    "hf"                                                                                           \
    "_aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH"
#define GITHUB                                                                                     \
    "gh"                                                                                           \
    "p_16C7e42F292c6912E7710c838347Ae178B4a"
#define AWS_ID                                                                                     \
    "AK"                                                                                           \
    "IAIOSFODNN7EXAMPLE"
#define AWS_KEY "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
#define SLACK                                                                                      \
    "xo"                                                                                           \
    "xb-17653672481-19874698323-pdFZKVeTuE8sk7oOcHrzqqgy"
#define JWT                                                                                        \
    "ey"                                                                                           \
    "JhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UifQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
#define HEX40 "0123456789abcdef0123456789abcdef01234567"
#define OPENAI                                                                                     \
    "sk"                                                                                           \
    "-abcdefghijklmnopqrstT3BlbkFJABCDEFGHIJKLMNOPQRST"

static struct buf masked;

static const char *mask(const struct secrets *own, const char *name, const char *text)
{
    buf_reset(&masked);
    secret_mask(own, name, text, &masked);
    assert_false(masked.failed);
    return buf_str(&masked);
}

struct example {
    const char *before, *text, *shown; // null: as it is
};

static void check(const struct example *examples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct example *e = &examples[i];
        struct buf out = {0}, again = {0};
        secret_mask_word(NULL, e->before, e->text, &out);
        assert_string_equal(buf_str(&out), e->shown ? e->shown : e->text);
        secret_mask_word(NULL, e->before, buf_str(&out), &again);
        assert_string_equal(buf_str(&again), buf_str(&out));
        buf_release(&out);
        buf_release(&again);
    }
}
#define CHECK(examples) check(examples, sizeof examples / sizeof *examples)

TEST(secrets_are_hidden)
{
    static const struct example examples[] = {
        // by form, anywhere
        {NULL, HF, "***"},
        {NULL, "x " GITHUB " y", "x *** y"},
        {NULL, AWS_ID, "***"},
        {NULL, AWS_ID ":" AWS_KEY, "***:***"},
        {NULL, "--url=" SLACK, "--url=***"},
        {NULL, JWT, "***"},
        {NULL, "a," OPENAI ",b", "a,***,b"},
        {NULL, "wandb login " HEX40, "wandb login ***"},
        {"login", HEX40, "***"},
        {NULL, "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- end",
         "*** end"},
        // by name
        {"--hf-token", "hf_X", "***"},
        {"--hub_token", "abc", "***"},
        {"--api-key", "abc", "***"},
        {"--password", "123456", "***"},
        {"--password", "my secret words", "***"},
        {"--use-auth-token", HF, "***"},
        {"--auth", "me:hunter2", "***"},
        {NULL, "--wandb-api-key=" HEX40, "--wandb-api-key=***"},
        {NULL, "KEY=hunter2", "KEY=***"},
        {NULL, "PASSWORD=two words", "PASSWORD=***"},
        {NULL, "AWS_SECRET_ACCESS_KEY=" AWS_KEY, "AWS_SECRET_ACCESS_KEY=***"},
        {NULL, "PGPASSWORD=x", "PGPASSWORD=***"},
        {NULL, "HFToken=x", "HFToken=***"},
        {NULL, "+logger.wandb.apiKey=x", "+logger.wandb.apiKey=***"},
        {NULL, "{\"api_key\": \"x\", \"lr\": 1}", "{\"api_key\": \"***\", \"lr\": 1}"},
        {"-H", "Authorization: Bearer abc.def", "Authorization: Bearer ***"},
        {"-c", "HF_TOKEN=x python train.py --password 'a b' --lr 1",
         "HF_TOKEN=*** python train.py --password '***' --lr 1"},
        {"-c", "import os; os.environ[\"HF_TOKEN\"] = \"x\"; login(token='y')",
         "import os; os.environ[\"HF_TOKEN\"] = \"***\"; login(token='***')"},
        {"--key", "a1b2c3d4e5f6a7b8", "***"},
        // in URLs
        {NULL, "postgresql://me:sec@ret@host/x", "postgresql://me@host/x"},
        {NULL, "--ledger=postgres://me:pw@host:5432/db?x=1",
         "--ledger=postgres://me@host:5432/db?x=1"},
        {NULL, "https://me:a/b@host/x", "https://me@host/x"},
        {NULL, "https://" GITHUB "@github.com/a/b", "https://***@github.com/a/b"},
        {NULL, "https://x-access-token:" GITHUB "@github.com/a",
         "https://x-access-token@github.com/a"},
        {NULL, "https://h/x?password=abc&y=1", "https://h/x?password=***&y=1"},
        {NULL, "https://h/b?sv=2022&sig=aB3%2Fd5f7h9j1k3m5%3D", "https://h/b?sv=2022&sig=***"},
    };
    CHECK(examples);
}

TEST(harmless_values_stay)
{
    static const struct example examples[] = {
        {"--lr", "1e-4"},
        {"--tokenizer", "gpt2"},
        {NULL, "--tokenizer_name=bert-base-uncased"},
        {"--max-tokens", "512"},
        {NULL, "--max_new_tokens=512"},
        {"--tokens-per-step", "4096"},
        {"--token-dropout", "0.1"},
        {"--token", "true"},
        {"--use_auth_token", "True"},
        {"--pad-token", "<pad>"},
        {"--eos_token", "</s>"},
        {"--mask-token", "[MASK]"},
        {"--placeholder_token", "<cat-toy>"},
        {"--initializer_token", "toy"},
        {"--num-key-value-heads", "8"},
        {"--sort-key", "loss"},
        {"--image_key", "jpg"},
        {"--key", "image"},
        {"--monkey", "bar"},
        {"--ssh-key", "/home/me/.ssh/id_ed25519"},
        {"--token-file", "token"},
        {"--password-file", "/run/pw"},
        {"--revision", HEX40},
        {NULL, HEX40},
        {"--sha256", HEX40 "0123456789abcdef01234567"},
        {NULL, "sha256:" HEX40 "0123456789abcdef01234567"},
        {"--data", "/data/hf_datasets/imagenet/train"},
        {NULL, "hf_hub_download.py"},
        {NULL, "sk-learn-random-forest-baseline-2024"},
        {NULL, "mask-rcnn_R_50_FPN_3x_coco"},
        {NULL, "CUDA_VISIBLE_DEVICES=0,1"},
        {NULL, "PWD=/home/me"},
        {NULL, "python -m torch.distributed.run --nproc_per_node 8 train.py"},
        {NULL, "https://huggingface.co/datasets/a/b@main"},
        {NULL, "https://medium.com/@user/x"},
        {NULL, "git@github.com:org/repo.git"},
        {NULL, "s3://bucket/key=value/part-0001.parquet"},
        {NULL, "no progress was seen: match lines of its output"},
        {NULL, ""},
        {NULL, "é ü 日本語"},
        {"--secret-name", "prod"},
    };
    CHECK(examples);
}

TEST(names_of_labels)
{
    assert_string_equal(mask(NULL, "api_key", "x"), "***");
    assert_string_equal(mask(NULL, "team", "vision"), "vision");
    assert_string_equal(mask(NULL, "note", "token=abc"), "token=***");
}

TEST(own_patterns)
{
    static const char *const patterns[] = {"proj-[0-9]+", "^db-url$"};
    struct secrets own;
    struct err err = {0};
    assert_ok(secrets_init(&own, patterns, 2, &err), &err);
    assert_string_equal(mask(&own, NULL, "a proj-12 b proj-3"), "a *** b ***");
    assert_string_equal(mask(&own, "--db-url", "host/x"), "***");
    assert_string_equal(mask(&own, "--url", "host/x"), "host/x");
    secrets_release(&own);
    static const char *const wrong[] = {"(", "((a{200}){200}){200}"};
    for (size_t i = 0; i < 2; i++) {
        struct err why = {0};
        assert_int_equal(secrets_init(&own, wrong + i, 1, &why), ERR_USAGE);
        assert_non_null(strstr(why.text, "--secret"));
        secrets_release(&own);
    }
}

static int release(void **state)
{
    (void)state;
    buf_release(&masked);
    return 0;
}

int main(void)
{
    return run_all_tests(NULL, release);
}
