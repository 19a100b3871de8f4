// SPDX-License-Identifier: Apache-2.0
// Kernels by name: kernels.tsv has real ones, with where each was seen.
#include "follow/trace/account.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

TEST(real_names)
{
    char line[1024];
    int count = 0;
    FILE *file = fopen(TESTS_DIR "/follow/trace/kernels.tsv", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (line[0] == '#')
            continue;
        line[strcspn(line, "\n")] = '\0';
        char *class = line, *precision = strchr(class, '\t') + 1;
        char *source = strchr(precision, '\t') + 1, *name = strchr(source, '\t') + 1;
        precision[-1] = source[-1] = name[-1] = '\0';
        struct kernel_class is = classify_kernel(name);
        const char *has = precision_names[is.precision] ? precision_names[is.precision] : "-";
        if (strcmp(class_names[is.class], class) != 0 || strcmp(has, precision) != 0)
            fail_msg("%s: %s, %s instead of %s, %s", name, class_names[is.class], has, class,
                     precision);
        count++;
    }
    fclose(file);
    assert_true(count >= 120);
}

TEST(odd_names)
{
    assert_int_equal(classify_kernel("").class, CLASS_UNKNOWN);
    assert_int_equal(classify_kernel("nvjet_").precision, PRECISION_NONE);
    assert_int_equal(classify_kernel("nvjet_sm90").precision, PRECISION_NONE);
    assert_int_equal(classify_kernel("nvjet_sm90_").precision, PRECISION_NONE);
    assert_int_equal(classify_kernel("\xff\xfe\x01GEMM").class, CLASS_MATMUL);
    // A lambda in the name is no LAMB.
    assert_int_equal(classify_kernel("void f<{lambda(float)#1}>").class, CLASS_UNKNOWN);
}
