// SPDX-License-Identifier: Apache-2.0
// data: where a workload's samples come from.
#include "workload/workload.h"

#include <string.h>
#include <sys/stat.h>

#include "data/fetch.h"

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

// 1 and `dir`, 0 if there is none, or an error. DIR/mnist if that is a folder, else DIR: one --data
// works for `fare run all`, and a folder with just the files for one workload.
static int find_dir(const struct workload *workload, const char *data, struct buf *dir,
                    struct err *err)
{
    if (data) {
        buf_printf(dir, "%s/%s", data, workload->data);
        if (buf_check(dir, NULL) == 0 && is_folder(buf_str(dir)))
            return 1;
        buf_reset(dir);
        buf_adds(dir, data);
        return buf_check(dir, err) == 0 ? 1 : ERR_MEMORY;
    }
    // Where `fare workloads data get` puts it.
    int rc = data_cache_dir(workload->data, dir, err);
    return rc != 0 ? rc : is_folder(buf_str(dir));
}

int workload_data_open(const struct workload *workload, const char *data,
                       const struct workload_options *options, int threads, struct data_pair *out,
                       struct err *err)
{
    struct buf dir = {0};
    int found = find_dir(workload, data, &dir, err);
    const struct data_options data_options = {
        .dir = found > 0 ? buf_str(&dir) : NULL,
        .seed = 1, // of generated sets: the same data for every seed of the training
        .made_train = workload->made_train,
        .made_test = workload->made_test,
        .threads = threads,
        .context = options ? (int)options->context : 0,
    };
    int rc = found < 0 ? found : data_open(workload->data, &data_options, out, err);
    buf_release(&dir);
    return rc;
}

bool workload_is_target(const struct workload *workload, const struct data_pair *data)
{
    return !data->made && data->name && strcmp(data->name, workload->data) == 0;
}
