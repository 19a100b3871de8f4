// SPDX-License-Identifier: Apache-2.0
// Reading share/estimate, the user's own rows, and tables with faults.
#include "advise/estimate/estimate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

static char folder[] = "/tmp/fare-tables-XXXXXX";

static void write_own(const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/fare/estimate/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void remove_own(const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "%s/fare/estimate/%s", folder, name);
    unlink(path);
}

static int set_up(void **state)
{
    (void)state;
    char path[100];
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/fare", folder);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/fare/estimate", folder);
    mkdir(path, 0700);
    return setenv("XDG_CONFIG_HOME", folder, 1);
}

static int tear_down(void **state)
{
    (void)state;
    char path[100];
    snprintf(path, sizeof path, "%s/fare/estimate", folder);
    rmdir(path);
    snprintf(path, sizeof path, "%s/fare", folder);
    rmdir(path);
    return rmdir(folder);
}

// The figures are those of docs/estimating.md.
TEST(shipped)
{
    struct estimate_tables *t;
    struct err err = {0};
    assert_ok(estimate_tables_open(&t, &err), &err);
    assert_true(t->models.count >= 5 && t->errors.count >= 100 && t->scalings.count >= 10);
    const struct estimate_errors *first = &t->errors.items[0];
    assert_string_equal(first->relation, "same");
    assert_true(first->factor[ESTIMATE_90] > 1.15 && first->factor[ESTIMATE_90] < 1.17);
    assert_true(first->pairs == 273);
    assert_string_equal(estimate_bound(t, 0.9)->bound, "gpu");
    assert_string_equal(estimate_bound(t, 0.89)->bound, "mixed");
    assert_string_equal(estimate_bound(t, 0)->bound, "host");
    assert_string_equal(estimate_bound(t, -1)->bound, "unknown");
    assert_string_equal(estimate_kind_of(t, "torchvision/ResNet50.py"), "conv");
    assert_string_equal(estimate_kind_of(t, "maskrcnn"), "conv");
    assert_string_equal(estimate_kind_of(t, "train_GPT2.py"), "attention");
    assert_null(estimate_kind_of(t, "train.py"));
    assert_null(estimate_kind_of(t, NULL));
    estimate_tables_close(t);
}

TEST(own_rows_come_first)
{
    struct estimate_tables *t;
    struct err err = {0};
    write_own("kinds.csv", "kind,pattern\nrecurrent,resnet\n");
    assert_ok(estimate_tables_open(&t, &err), &err);
    assert_string_equal(estimate_kind_of(t, "resnet"), "recurrent");
    assert_string_equal(estimate_kind_of(t, "bert"), "attention");
    estimate_tables_close(t);
    remove_own("kinds.csv");
}

TEST(faults)
{
#define MODEL "kind,matrix,memory,units,clock_power,matrix_unit_efficiency\n"
#define ERRORS                                                                                     \
    "relation,bound,scale,trace,kind,median_percent,p90_percent,factor50,factor80,factor90,"       \
    "factor95,pairs,sources,borrowed\n"
    static const struct {
        const char *file, *text, *says;
    } cases[] = {
        {"model.csv", MODEL "conv,1,2,3,4\n", "model.csv, line 2"},
        {"model.csv", MODEL "conv,nan,2,3,0,1\n", "line 2, column 'matrix'"},
        {"model.csv", MODEL "conv,1,1e9,3,0,1\n", "line 2, column 'memory'"},
        {"model.csv", MODEL "\nconv,0,1,3,0,1\n", "line 3, column 'matrix': '0' is out of range"},
        {"model.csv", MODEL "conv,1,-1,3,0,1\n", "column 'memory': '-1' is out of range"},
        {"model.csv", MODEL "conv,1,99999999999999999999,3,0,1\n", "column 'memory'"},
        {"model.csv", MODEL ",1,1,3,0,1\n", "line 2, column 'kind': expected a value"},
        {"model.csv", "kind,matrix\nconv,1\n", "'memory'"},
        {"model.csv", "", "model.csv"},
        {"kinds.csv", "pattern,kind\nx,nothing\n",
         "line 2, column 'kind': no such kind in model.csv"},
        {"kinds.csv", "pattern,kind\n,conv\n", "column 'pattern': expected a value"},
        {"bounds.csv", "bound,busy_from,busy_below,power\ngpu,2,,1\n", "column 'busy_from'"},
        {"bounds.csv", "bound,busy_from,busy_below,power\ngpu,,,\n", "column 'power'"},
        {"errors.csv", ERRORS "same,gpu,one,no,known,1,2,1.5,1.4,1.6,1.7,3,x,\n",
         "line 2: expected factors in ascending order"},
        {"errors.csv", ERRORS "same,gpu,one,no,known,1,2,0.9,1.4,1.6,1.7,3,x,\n",
         "column 'factor50': '0.9' is out of range"},
        {"scaling.csv",
         "link,bound,parameters,gpus,median,low90,high90,rows\npcie,gpu,known,2,0.9,0.95,1,4\n",
         "line 2: expected low90, median and high90"},
        {"scaling.csv",
         "link,bound,parameters,gpus,median,low90,high90,rows\npcie,gpu,known,2,0,0,0,4\n",
         "column 'median'"},
        {"constants.csv", "name,value\nx,inf\n", "column 'value'"},
        {"classes.csv", "class,matrix,memory,units\ngemm,1,0,\"\n", "classes.csv"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct estimate_tables *t;
        struct err err = {0};
        write_own(cases[i].file, cases[i].text);
        assert_int_not_equal(estimate_tables_open(&t, &err), 0);
        if (!strstr(err.text, cases[i].says) || t)
            fail_msg("%zu: %s", i, err.text);
        remove_own(cases[i].file);
    }
}

TEST(a_long_table_is_refused)
{
    struct estimate_tables *t;
    struct err err = {0};
    char path[200];
    snprintf(path, sizeof path, "%s/fare/estimate/kinds.csv", folder);
    FILE *f = fopen(path, "w");
    fputs("pattern,kind\n", f);
    for (int i = 0; i < 100001; i++)
        fprintf(f, "w%d,conv\n", i);
    fclose(f);
    assert_int_not_equal(estimate_tables_open(&t, &err), 0);
    assert_non_null(strstr(err.text, "more than 100000 rows"));
    remove_own("kinds.csv");
}

int main(void)
{
    return run_all_tests(set_up, tear_down);
}
