// SPDX-License-Identifier: Apache-2.0
// UTF-8 against the Unicode Standard's table 3-7, lower case and white space against Python 3.11
// (Unicode 14): the sums are of what it prints.
#include "base/utf8.h"

#include "train/data/files.h"

TEST(test_bad)
{
    static const struct {
        const char *text;
        size_t len, bad;
    } cases[] = {
        {"", 0, 0},
        {"plain", 5, 5},
        {"twelve bytes and more", 21, 21},
        {"caf\xC3\xA9", 5, 5},
        {"\xE2\x82\xAC \xF0\x9F\x98\x80", 8, 8},
        {"\xF4\x8F\xBF\xBF", 4, 4},  // 10FFFF
        {"\xF4\x90\x80\x80", 4, 0},  // one more
        {"ab\x80", 3, 2},            // a continuation alone
        {"ab\xC3", 3, 2},            // cut off
        {"ab\xE2\x82", 4, 2},        //
        {"\xC0\xAF", 2, 0},          // overlong
        {"\xC1\x80", 2, 0},          //
        {"\xE0\x9F\xBF", 3, 0},      //
        {"\xF0\x8F\xBF\xBF", 4, 0},  //
        {"\xED\xA0\x80", 3, 0},      // a surrogate
        {"\xED\x9F\xBF", 3, 3},      // the last before them
        {"eight by\xFF\x00", 10, 8}, //
        {"\xE2\x28\xA1", 3, 0},      //
        {"\xF5\x80\x80\x80", 4, 0},  //
        {"0123456\xC3\xA9"
         "89",
         11, 11}, // across the eight bytes that are looked at together
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(utf8_bad(cases[i].text, cases[i].len), cases[i].bad);
}

TEST(test_round_trip)
{
    for (uint32_t c = 0; c < 0x110000; c++) {
        if (c >= 0xD800 && c < 0xE000)
            continue;
        char text[UTF8_MAX];
        uint32_t back;
        size_t len = utf8_put(c, text);
        assert_int_equal(utf8_bad(text, len), len);
        assert_int_equal(utf8_next(text, len, &back), len);
        assert_int_equal(back, c);
    }
    char euro[UTF8_MAX];
    assert_int_equal(utf8_put(0x20AC, euro), 3);
    assert_memory_equal(euro, "\xE2\x82\xAC", 3);
}

// for a, b in blocks: for c in range(a, b + 1): pack('<I', ord(chr(c).lower())), without U+0130,
// whose lower case is two characters in Python.
TEST(test_lower)
{
    static const uint32_t blocks[][2] = {
        {0, 0x17F}, {0x370, 0x3FF}, {0x400, 0x52F}, {0x531, 0x58F}, {0x1E00, 0x1EFF}};
    struct buf out = {0};
    char hex[SHA256_HEX_BYTES];
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        for (uint32_t c = blocks[i][0]; c <= blocks[i][1]; c++)
            if (c != 0x130)
                files_little(&out, utf8_lower(c), 4);
    files_sha(out.data, out.len, hex);
    buf_release(&out);
    assert_string_equal(hex, "c1802131aab7b49a5eb3be7762717b6f7a06e10267465b11e08388fb23628a7c");
    assert_int_equal(utf8_lower(0x130), 'i'); // UnicodeData.txt's simple mapping
    assert_int_equal(utf8_lower(0x10FFFF), 0x10FFFF);
    // A small letter never has more bytes than its capital: words are changed in place.
    for (uint32_t c = 0; c < 0x110000; c++) {
        char text[UTF8_MAX];
        assert_true(utf8_put(utf8_lower(c), text) <= utf8_put(c, text));
    }
}

// b'1' if chr(c).isspace() else b'0' for all characters.
TEST(test_space)
{
    struct buf out = {0};
    char hex[SHA256_HEX_BYTES];
    for (uint32_t c = 0; c < 0x110000; c++)
        buf_addc(&out, utf8_space(c) ? '1' : '0');
    files_sha(out.data, out.len, hex);
    buf_release(&out);
    assert_string_equal(hex, "6c4eda9112d4db3cd23936f071127b489c7a69988e8758a098bb879af25f141e");
}

// b'1' if unicodedata.category(chr(c)) == 'Cc' or unicodedata.bidirectional(chr(c)) in ('LRE',
// 'RLE', 'LRO', 'RLO', 'PDF', 'LRI', 'RLI', 'FSI', 'PDI') or c in (0x61C, 0x200E, 0x200F) else
// b'0'.
TEST(test_steers)
{
    struct buf out = {0};
    char hex[SHA256_HEX_BYTES];
    for (uint32_t c = 0; c < 0x110000; c++)
        buf_addc(&out, utf8_steers(c) ? '1' : '0');
    files_sha(out.data, out.len, hex);
    buf_release(&out);
    assert_string_equal(hex, "cf2166533c29046b395746c3bbd55d49f82283c03a7648f88a83f463a4ebda3c");
}
