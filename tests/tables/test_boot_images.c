// SPDX-License-Identifier: Apache-2.0
// Ready images: each row has where it was read, and the versions are those of the sources.
#include "book/folder.h"

#include <stdlib.h>
#include <string.h>

#include "tables/extras.h"

static const char *or_dash(const char *text)
{
    return text ? text : "-";
}

static void as_published(void **state)
{
    (void)state;
    // docs.amazonaws.cn/dlami, 2026-08-24: driver 595.91.07, framework 2.12; the page names no
    // CUDA. runpod/docs create-custom-template: "PyTorch 2.8.0, CUDA 12.8.1, and Ubuntu 24.04".
    // azhpc-images pull request 478: "up to CUDA 13"; no framework in it.
    static const struct {
        const char *provider, *driver, *cuda, *pytorch, *machine;
    } cases[] = {{"aws", "595.91.07", "-", "2.12", "vm"},
                 {"runpod", "-", "12.8.1", "2.8.0", "container"},
                 {"azure", "580 or newer", "13", "-", "vm"}};
    struct boot_images *images;
    struct err err = {0};
    assert_ok(boot_images_open(&images, &err), &err);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct boot_image *image = boot_images_find(images, cases[i].provider, 0);
        assert_non_null(image);
        assert_string_equal(or_dash(image->driver), cases[i].driver);
        assert_string_equal(or_dash(image->cuda), cases[i].cuda);
        assert_string_equal(or_dash(image->pytorch), cases[i].pytorch);
        assert_string_equal(image->machine, cases[i].machine);
    }
    assert_null(boot_images_find(images, "aws", 1));
    assert_null(boot_images_find(images, "nobody", 0));
    boot_images_close(images);
}

// Every row says where and when it was read, and has something a training needs.
static void all_rows(void **state)
{
    (void)state;
    static const char *const providers[] = {"aws",  "gcp",        "azure",  "lambda", "runpod",
                                            "vast", "paperspace", "nebius", "oci",    "shadeform"};
    struct boot_images *images;
    struct err err = {0};
    assert_ok(boot_images_open(&images, &err), &err);
    for (size_t i = 0; i < sizeof providers / sizeof *providers; i++) {
        const struct boot_image *image = boot_images_find(images, providers[i], 0);
        assert_non_null(image);
        const char *date = strrchr(image->source, ' ');
        assert_true(date && strlen(date) == strlen(" 2026-01-31") && strncmp(date, " 20", 3) == 0);
        assert_true(image->driver || image->cuda || image->pytorch);
        assert_true(image->disk_gb == -1 || image->disk_gb >= 10);
    }
    boot_images_close(images);
    boot_images_close(NULL);
}

static void own_first(void **state)
{
    (void)state;
    char path[400];
    const char *folder = folder_new();
    struct boot_images *images;
    struct err err = {0};
    snprintf(path, sizeof path, "%s/fare", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    setenv("XDG_CONFIG_HOME", folder, 1);
    folder_put(path, "images.csv", "provider,image,machine\naws,ami-1,vm\n");
    assert_ok(boot_images_open(&images, &err), &err);
    const struct boot_image *image = boot_images_find(images, "aws", 0);
    assert_string_equal(image->image, "ami-1");
    assert_null(image->driver);
    assert_int_equal(image->disk_gb, -1);
    assert_string_equal(boot_images_find(images, "aws", 1)->driver, "595.91.07");
    boot_images_close(images);
    folder_put(path, "images.csv", "provider,image,machine\naws,ami-1,box\n");
    assert_int_equal(boot_images_open(&images, &err), ERR_FORMAT);
    assert_non_null(strstr(err.text, "expected vm or container"));
    assert_null(images);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_published),
        cmocka_unit_test(all_rows),
        cmocka_unit_test(own_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
