// SPDX-License-Identifier: Apache-2.0
// Command lines as their programs document them, and words that only look like totals.
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "follow/formats.h"

static struct event read_words(const char *line)
{
    static char text[1024];
    char *argv[64] = {NULL};
    struct event e = {0};
    size_t n = 0;
    strncpy(text, line, sizeof text - 1);
    char *rest = text;
    for (char *word; (word = strsep(&rest, " ")) && n < 63;)
        argv[n++] = word;
    bool any = arguments_read(argv, &e);
    assert_true(any || (!e.total_steps.known && !e.epochs.known && !e.eval_every.known));
    return e;
}

TEST(totals)
{
    static const struct {
        const char *line;
        int64_t steps, epochs, eval, save; // 0: none
    } rows[] = {
        // Hugging Face's Trainer, with numbers as argparse takes them
        {"python run_clm.py --max_steps 1000 --save_steps 500 --eval_steps=250", 1000, 0, 250, 500},
        {"torchrun --nproc_per_node 8 run_glue.py --num_train_epochs=3.0", 0, 3, 0, 0},
        {"python run_clm.py --max_steps -1 --eval_steps 0.1", 0, 0, 0, 0},
        // nanoGPT's configurator, Megatron-LM
        {"python train.py config/a.py --max_iters=600_000 --eval_interval=1000", 600000, 0, 1000,
         0},
        {"torchrun pretrain_gpt.py --train-iters 500000 --eval-interval 1000 --save-interval 2000 "
         "--eval-iters 10",
         500000, 0, 1000, 2000},
        // Hydra, LightningCLI, MaxText, litgpt, torchtitan, detectron2, spaCy
        {"python train.py model=x trainer.max_epochs=10", 0, 10, 0, 0},
        {"python train.py fit --trainer.max_steps 5000", 5000, 0, 0, 0},
        {"python -m MaxText.train configs/base.yml run_name=x steps=10", 10, 0, 0, 0},
        {"litgpt finetune lora --train.max_steps=800 --eval.interval=200", 800, 0, 200, 0},
        {"python train.py --training.steps 1000", 1000, 0, 0, 0},
        {"train_net.py --config-file a.yaml SOLVER.MAX_ITER 300 TEST.EVAL_PERIOD 100", 300, 0, 100,
         0},
        {"python -m spacy train config.cfg --training.max_steps 20000", 20000, 0, 0, 0},
        // fairseq, OpenNMT, kohya, diffusers, MLX, Ultralytics, Stable-Baselines3's zoo
        {"fairseq-train data --max-update 300000 --save-interval-updates 1000", 300000, 0, 0, 1000},
        {"onmt_train -config a.yaml -train_steps 5000 -valid_steps 1000 -save_checkpoint_steps 500",
         5000, 0, 1000, 500},
        {"accelerate launch train_network.py --max_train_epochs=10", 0, 10, 0, 0},
        {"accelerate launch train_dreambooth.py --max_train_steps=400 --checkpointing_steps 100",
         400, 0, 0, 100},
        {"mlx_lm.lora --train --iters 1000 --steps-per-eval 200 --save-every 100", 1000, 0, 200,
         100},
        {"yolo detect train data=coco8.yaml epochs=100 imgsz=640", 0, 100, 0, 0},
        {"python train.py --algo ppo -n 50000 --n-timesteps 50000", 50000, 0, 0, 0},
        {"python boost.py --num_boost_round 800", 800, 0, 0, 0},
        {"python main.py -a resnet50 --epochs 90 --batch-size 256", 0, 90, 0, 0},
        // values that are no numbers, and numbers of other options
        {"python train.py --epochs auto --max_steps $N", 0, 0, 0, 0},
        {"python train.py --run-name epochs=3 --out max_steps", 0, 0, 0, 0},
        {"python train.py --epochs", 0, 0, 0, 0},
        {"python train.py --warmup_steps 100 --logging_steps 10 --seed 3", 0, 0, 0, 0},
        {"python train.py --gradient_accumulation_steps=8 --max_steps_per_epoch 10", 0, 0, 0, 0},
        {"python train.py --eval-every 1 --save_every 5", 0, 0, 0, 0}, // epochs, as often as not
        {"python train.py --epochs 3x --max_steps 1e5 --max_iters 99999999999999999", 0, 0, 0, 0},
        {"python train.py 90 epochs", 0, 0, 0, 0},
        {"python train.py --epochs 3 --epochs 5", 0, 5, 0, 0}, // the last counts
        {"python train.py = -- --= -=3 =3 . ..=3", 0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct event e = read_words(rows[i].line);
        bool same = (e.total_steps.known ? e.total_steps.v : 0) == rows[i].steps &&
                    (e.epochs.known ? e.epochs.v : 0) == rows[i].epochs &&
                    (e.eval_every.known ? e.eval_every.v : 0) == rows[i].eval &&
                    (e.save_every.known ? e.save_every.v : 0) == rows[i].save;
        if (!same)
            fail_msg("%s: steps %lld, epochs %lld, evaluations every %lld, checkpoints every %lld",
                     rows[i].line, (long long)e.total_steps.v, (long long)e.epochs.v,
                     (long long)e.eval_every.v, (long long)e.save_every.v);
    }
}

TEST(scripts_of_a_shell)
{
    static const struct {
        const char *shell, *option, *script;
        int64_t steps, epochs;
    } rows[] = {
        {"bash", "-c", "cd x && python train.py --max_steps 1000", 1000, 0},
        {"/bin/sh", "-ec", "python train.py --epochs '3'; echo \"done\"", 0, 3},
        {"bash", "-lc", "(torchrun a.py \"--num_train_epochs=2\")|tee log", 0, 2},
        {"sh", "-c", "sh -c 'python train.py --epochs 5'", 0, 5},
        {"sh", "-c", "python train.py --epochs $N", 0, 0},
        {"sh", "-c", "python train.py --epochs '3", 0, 3},
        {"sh", "-c", "'\"", 0, 0},
        {"sh", "-e", "--epochs", 0, 0}, // a script's file
        {"python", "-c", "train(--epochs 3)", 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char words[3][128], *argv[] = {words[0], words[1], words[2], NULL};
        struct event e = {0};
        snprintf(words[0], sizeof words[0], "%s", rows[i].shell);
        snprintf(words[1], sizeof words[1], "%s", rows[i].option);
        snprintf(words[2], sizeof words[2], "%s", rows[i].script);
        arguments_read(argv, &e);
        assert_int_equal(e.total_steps.v, rows[i].steps);
        assert_int_equal(e.epochs.v, rows[i].epochs);
    }
    static char sh[] = "sh", c[] = "-c";
    char *alone[] = {sh, c, NULL}, *none[] = {NULL};
    struct event e = {0};
    assert_false(arguments_read(alone, &e) || arguments_read(none, &e));
}
