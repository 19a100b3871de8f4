// SPDX-License-Identifier: Apache-2.0
// Answers of S3, files of keys, manifests, markers and claims: as documented, and hostile.
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "save/lease.h"
#include "save/manifest.h"
#include "save/s3.h"
#include "save/store.h"
#include "save/store_kind.h"
#include "test.h"

// ---- XML

static int add_leaf(void *context, const char *parent, const char *name, const char *value,
                    struct err *err)
{
    struct buf *out = context;
    (void)err;
    buf_printf(out, "%s/%s=%s;", parent, name, value ? value : "-");
    return 0;
}

TEST(test_a_listing_of_amazon)
{
    // The form in Amazon S3's API reference, ListObjectsV2.
    static const char text[] =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><!-- none -->"
        "<IsTruncated>false</IsTruncated><Prefix/>"
        "<Contents><Key>a&amp;b&#38;c&#x26;d</Key><ETag>&quot;9b2cf&quot;</ETag><Size>43</Size>"
        "</Contents></ListBucketResult>";
    struct buf out = {0};
    struct err err = {0};
    assert_ok(xml_walk(text, strlen(text), add_leaf, &out, &err), &err);
    assert_string_equal(
        buf_str(&out),
        "ListBucketResult/IsTruncated=false;ListBucketResult/Prefix=;Contents/Key=a&b&c&d;"
        "Contents/ETag=\"9b2cf\";Contents/Size=43;ListBucketResult/Contents=-;"
        "/ListBucketResult=-;");
    buf_release(&out);
    char code[16];
    static const char refusal[] = "<Error><Code>NoSuchBucket</Code><Message>x</Message></Error>";
    assert_true(xml_find(refusal, strlen(refusal), "Code", code, sizeof code));
    assert_string_equal(code, "NoSuchBucket");
    assert_false(xml_find(refusal, strlen(refusal), "Size", code, sizeof code));
}

TEST(test_texts_that_are_not_xml)
{
    static const char *const bad[] = {
        "",
        "plain",
        "<a>",
        "<a><b></a></b>",
        "<a",
        "</a>",
        "<a>&nope;</a>",
        "<a>&#0;</a>",
        "<a>&#xD800;</a>",
        "<a>&#x110000;</a>",
        "<!DOCTYPE x><a></a>",
        "<a><!-- </a>",
        "<></>",
        "<a><a><a><a><a><a><a><a><a><a><a><a><a>",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct buf out = {0};
        struct err err = {0};
        assert_int_equal(xml_walk(bad[i], strlen(bad[i]), add_leaf, &out, &err), ERR_FORMAT);
        buf_release(&out);
    }
}

// ---- Keys

TEST(test_profiles)
{
    static const char credentials[] = "# mine\n[default]\naws_access_key_id = AKIDEFAULT\n"
                                      "[work]\r\naws_access_key_id=AKIWORK\r\n"
                                      "aws_secret_access_key = s=e/c+ret \r\nregion\n= odd\n";
    static const char config[] =
        "[default]\nregion = eu-west-1\n[profile work]\nregion=eu-central-1\n"
        "s3 =\n    region = no\nendpoint_url = https://minio:9000\n[work]\n"
        "region = not this\n";
    struct s3_profile p = {0};
    assert_true(s3_profile_parse(credentials, "work", false, &p));
    assert_true(s3_profile_parse(config, "work", true, &p));
    assert_string_equal(p.id, "AKIWORK");
    assert_string_equal(p.secret, "s=e/c+ret");
    assert_string_equal(p.region, "eu-central-1");
    assert_string_equal(p.endpoint, "https://minio:9000");
    assert_false(s3_profile_parse(credentials, "nobody", false, &p));
}

TEST(test_the_keys_of_a_role)
{
    struct s3_keys keys;
    struct err err = {0};
    // As in Amazon's guide to instance metadata.
    assert_ok(s3_role_parse("{\"Code\":\"Success\",\"Type\":\"AWS-HMAC\",\"AccessKeyId\":\"ASIA\","
                            "\"SecretAccessKey\":\"wJalr\",\"Token\":\"tok\","
                            "\"Expiration\":\"2017-05-17T15:09:54Z\"}",
                            &keys, &err),
              &err);
    assert_string_equal(keys.id, "ASIA");
    assert_string_equal(keys.token, "tok");
    assert_true(keys.role && keys.until_s == 1495033794 - 300);
    assert_int_equal(s3_role_parse("{\"AccessKeyId\":\"A\"}", &keys, &err), ERR_FORMAT);
    assert_int_equal(s3_role_parse("<html>", &keys, &err), ERR_FORMAT);
}

TEST(test_encoding)
{
    struct buf out = {0};
    // Unreserved characters as in RFC 3986; all others as two capital digits.
    s3_encode("aZ0-._~/=+ \xc3\xa9", true, &out);
    assert_string_equal(buf_str(&out), "aZ0-._~/%3D%2B%20%C3%A9");
    buf_reset(&out);
    s3_encode("a/b", false, &out);
    assert_string_equal(buf_str(&out), "a%2Fb");
    buf_release(&out);
}

// ---- Names and parts

TEST(test_names)
{
    static const char *const good[] = {"a", "saves/0000000001-000002/complete", "a.b/c_d-e"};
    static const char *const bad[] = {"",       "/a", "a/",  "a//b", "../a",
                                      "a/../b", ".a", "a b", "a\n",  "\xc3\xa9"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(store_name_fits(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(store_name_fits(bad[i]));
}

// Amazon takes 10,000 parts of 5 MiB to 5 GiB and objects of 5 TiB; a part is whole MiB.
TEST(test_parts)
{
    const int64_t sizes[] = {
        0, 1, 8 << 20, (8 << 20) + 1, INT64_C(70) << 30, INT64_C(71) << 30, INT64_C(5) << 40};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t part = store_part_bytes(sizes[i]), count = store_part_count(sizes[i]), sum = 0;
        assert_true(part >= 5 << 20 && part <= INT64_C(5) << 30 && part % (1 << 20) == 0);
        assert_true(count <= 10000);
        for (int64_t k = 0; k < count; k++)
            sum += store_part_len(sizes[i], k);
        assert_true(sum == sizes[i]);
    }
}

// ---- Manifests

#define HEAD                                                                                       \
    "{\"format\":\"fare.save/1\",\"job\":\"j\",\"name\":\"n\",\"epoch\":1,\"number\":2,"           \
    "\"date\":\"2026-11-17T00:00:00Z\",\"step\":3,\"file\":false,\"entries\":["
#define SUM  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" // of "abc"
#define DATA "data/0000000001-000002/" SUM
#define ENTRY(path)                                                                                \
    "{\"path\":\"" path "\",\"bytes\":3,\"mode\":420,\"sha256\":\"" SUM "\",\"parts\":\"" SUM      \
    "\",\"data\":\"" DATA "\"}"

#define BESIDE(name, text, folder)                                                                 \
    "],\"beside\":{\"name\":\"" name "\",\"text\":\"" text "\",\"folder\":\"" folder "\"}}"

// A file beside the checkpoint is part of what makes two of them the same.
TEST(test_beside)
{
    struct manifest m, again, other;
    struct err err = {0};
    struct buf text = {0};
    assert_ok(manifest_read(HEAD ENTRY("a") BESIDE("latest", "n", "run"), &m, &err), &err);
    assert_string_equal(m.beside, "latest");
    assert_string_equal(m.beside_text, "n");
    assert_string_equal(m.place, "run");
    assert_ok(manifest_write(&m, &text, &err), &err);
    assert_ok(manifest_read(buf_str(&text), &again, &err), &err);
    assert_true(manifest_same(&m, &again));
    assert_ok(manifest_read(HEAD ENTRY("a") "]}", &other, &err), &err);
    assert_false(manifest_same(&m, &other));
    manifest_release(&m), manifest_release(&again), manifest_release(&other);
    buf_release(&text);
}

TEST(test_a_manifest)
{
    struct manifest m, again;
    struct err err = {0};
    struct buf text = {0};
    assert_ok(manifest_read(HEAD ENTRY("a") ",{\"path\":\"b\",\"folder\":true,\"mode\":493}," ENTRY(
                                "b/c") ",{\"path\":\"b/l\",\"link\":\"../a\"}]}",
                            &m, &err),
              &err);
    assert_true(m.count == 4 && m.step == 3 && m.date_s == 1794873600);
    assert_true(manifest_bytes(&m) == 6 && manifest_files(&m) == 2);
    assert_ok(manifest_write(&m, &text, &err), &err);
    assert_ok(manifest_read(buf_str(&text), &again, &err), &err);
    assert_true(manifest_same(&m, &again));
    manifest_release(&m), manifest_release(&again);
    buf_release(&text);
}

TEST(test_manifests_that_lie)
{
    static const char *const bad[] = {
        "",
        "{}",
        "[]",
        HEAD,
        HEAD ENTRY("../a") "]}",
        HEAD ENTRY("a") BESIDE("../latest", "n", ""),
        HEAD ENTRY("a") BESIDE("x/latest", "n", ""),
        HEAD ENTRY("a") BESIDE("n", "n", ""), // the checkpoint's own name
        HEAD ENTRY("a") BESIDE("latest", "n", "../.."),
        HEAD ENTRY("a") BESIDE("latest", "n", "/etc"),
        HEAD ENTRY("a") "],\"beside\":{\"name\":\"latest\"}}",
        HEAD ENTRY("/a") "]}",
        HEAD ENTRY("a//b") "]}",
        HEAD ENTRY("a/./b") "]}",
        HEAD ENTRY("") "]}",
        HEAD ENTRY("b") "," ENTRY("a") "]}",                                        // out of order
        HEAD ENTRY("a") "," ENTRY("a") "]}",                                        // twice
        HEAD "{\"path\":\"a\",\"link\":\"b\"}," ENTRY("a.b") "," ENTRY("a/b") "]}", // below a link
        HEAD "{\"path\":\"a\",\"link\":\"/etc\"}]}",
        HEAD "{\"path\":\"a\",\"link\":\"..\"}]}",
        HEAD "{\"path\":\"a/b\",\"link\":\"../../x\"}]}",
        HEAD "{\"path\":\"a\",\"bytes\":-1,\"mode\":420,\"sha256\":\"" SUM
             "\",\"parts\":\"\",\"data\":\"" DATA "\"}]}",
        HEAD "{\"path\":\"a\",\"bytes\":3,\"mode\":420,\"sha256\":\"" SUM
             "\",\"parts\":\"\",\"data\":\"" DATA "\"}]}",
        HEAD "{\"path\":\"a\",\"bytes\":3,\"mode\":2541,\"sha256\":\"" SUM "\",\"parts\":\"" SUM
             "\",\"data\":\"" DATA "\"}]}",
        HEAD "{\"path\":\"a\",\"bytes\":3,\"mode\":420,\"sha256\":\"" SUM "\",\"parts\":\"" SUM
             "\",\"data\":\"lease/0000000001/claim\"}]}",
        HEAD "{\"path\":\"a\",\"bytes\":3,\"mode\":420,\"sha256\":\"" SUM "\",\"parts\":\"" SUM
             "\",\"data\":\"data/0000000001-000002/other\"}]}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct manifest m;
        struct err err = {0};
        assert_int_equal(manifest_read(bad[i], &m, &err), ERR_FORMAT);
        assert_non_null(strstr(err.text, "damaged"));
    }
}

TEST(test_markers_claims_and_beats)
{
    struct marker marker;
    struct lease_beat beat;
    struct lease_holder holder = {0};
    const char *what;
    assert_true(marker_read(
        "{\"format\":\"fare.save/1\",\"job\":\"j\",\"epoch\":1,\"number\":2,\"manifest\":\"" SUM
        "\"}",
        &marker));
    assert_true(marker.epoch == 1 && marker.number == 2);
    assert_false(marker_read(
        "{\"format\":\"fare.save/1\",\"job\":\"j\",\"epoch\":1,\"number\":2,\"manifest\":\"12\"}",
        &marker));
    assert_false(marker_read("{\"format\":\"other\"}", &marker));
    assert_false(marker_read("{\"format\":\"fare.save/1\",\"job\":\"j\",", &marker));
    assert_true(
        lease_beat_read("{\"format\":\"fare.lease/1\",\"count\":4,\"state\":\"done\"}", &beat));
    assert_true(beat.count == 4 && beat.ended && beat.done);
    assert_false(
        lease_beat_read("{\"format\":\"fare.lease/1\",\"count\":-4,\"state\":\"held\"}", &beat));
    assert_false(lease_beat_read("", &beat));
    assert_true(lease_claim_read(
        "{\"format\":\"fare.lease/1\",\"id\":\"i\",\"host\":\"h\\u001b[2J\",\"job\":\"j\"}",
        &holder));
    assert_string_equal(holder.host, "h?[2J");
    assert_int_equal(lease_name_read("lease/0000000012/beat.x", &what), 12);
    assert_string_equal(what, "beat.x");
    assert_int_equal(lease_name_read("lease/12/beat.x", &what), 0);
    assert_int_equal(lease_name_read("lease/check-0011223344", &what), 0);
}
