// SPDX-License-Identifier: Apache-2.0
// The name of a command: its program or script, never an argument. Command lines as their tools'
// documentation has them.
#include "measure/code.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

TEST(names)
{
    static const struct {
        const char *name, *words[10];
    } cases[] = {
        {"train", {"python", "train.py", "--lr", "1"}},
        {"train", {"/venv/bin/python3.11", "-u", "-W", "ignore", "dir/train.py", "other.py"}},
        {"train", {"./train.py", "x"}},
        {"llama.finetune", {"python", "-m", "llama.finetune", "--x"}},
        {"train", {"python", "-mtorch.distributed.run", "--nproc_per_node", "8", "train.py"}},
        {"train", {"python", "-m", "accelerate.commands.launch", "train.py", "--model", "m"}},
        {"llm.tune", {"accelerate", "launch", "-m", "llm.tune", "x.py"}},
        {"train", {"python3", "/venv/bin/torchrun", "train.py"}},
        {"torch.utils.bottleneck", {"python", "-m", "torch.utils.bottleneck", "train.py"}},
        {"python", {"python", "-c", "import secret.py"}},
        {"python", {"python", "-", "hunter2"}},
        {"train", {"env", "KEY=hunter2", "-u", "X", "python", "train.py"}},
        {"go", {"env", "KEY=hunter2", "bin/go", "--key", "x.py"}},
        {"env", {"env"}},
        {"train", {"torchrun", "--nproc_per_node", "8", "train.py", "--config", "c.py"}},
        {"run_clm", {"accelerate", "launch", "--mixed_precision", "bf16", "run_clm.py"}},
        {"train", {"taskset", "-c", "0-3", "python", "train.py"}},
        {"train", {"nice", "-n", "10", "python3", "-u", "train.py", "a.py"}},
        {"train", {"mpirun", "-np", "4", "python", "train.py"}},
        {"train", {"uv", "run", "train.py", "--token", "x"}},
        {"mod", {"conda", "run", "-n", "e", "python", "-m", "mod"}},
        {"job.sh", {"bash", "-x", "dir/job.sh", "hunter2"}},
        {"train", {"sh", "-c", "cd x && KEY=hunter2 python dir/train.py --lr 1"}},
        {"sh", {"sh", "-c", "echo hunter2"}},
        {"bash", {"bash", "-s", "hunter2"}},
        {"tool", {"tool", "-m", "hunter2"}},
        {"tool", {"/usr/bin/tool", "--config", "x.py"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *argv[11] = {NULL}, *name = NULL;
        struct err err = {0};
        for (size_t k = 0; k < 10 && cases[i].words[k]; k++)
            argv[k] = (char *)(uintptr_t)cases[i].words[k];
        assert_ok(code_name(argv, &name, &err), &err);
        assert_string_equal(name, cases[i].name);
        free(name);
    }
}

// Whose loop a script runs decides what a step costs the host. Lightning has a Trainer too.
TEST(loops)
{
    static const struct {
        const char *text, *loop;
    } cases[] = {
        {"from transformers import Trainer\nTrainer(model=m, args=a).train()\n",
         "transformers.Trainer"},
        {"from transformers import AutoModel\nfor x in data: step(x)\n", NULL},
        {"import lightning as L\nimport transformers\nL.Trainer(max_epochs=3).fit(m)\n", NULL},
        {"class Trainer: pass\nTrainer().run()\n", NULL},
        {"import torch\nclass Trainer: pass\nTrainer().run()\n", "pytorch"},
        {"from torch import nn\nimport jax\n", NULL},
    };
    char path[] = "/tmp/fare-code-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run run = {0};
        struct err err = {0};
        char bash[] = "bash", *argv[] = {bash, path, NULL};
        assert_int_equal(ftruncate(file, 0), 0);
        assert_int_equal(pwrite(file, cases[i].text, strlen(cases[i].text), 0),
                         strlen(cases[i].text));
        assert_ok(code_describe(argv, &run.code, &err), &err);
        assert_non_null(run.code.script_sha256);
        if (cases[i].loop)
            assert_string_equal(run.code.loop, cases[i].loop);
        else
            assert_null(run.code.loop);
        record_release(run_fields, &run);
    }
    close(file);
    unlink(path);
}
