# SPDX-License-Identifier: Apache-2.0
"""Tools whose logs were added after the readers were written, to see what these make of logs nobody had in mind: either the truth is in
the interval, or there is no figure. Kinds for corpus.py."""
from corpus import aside, kind, logged
from corpus_left import clock_left


def spent(seconds):
    seconds = int(seconds)
    return f"{seconds // 3600}h {seconds // 60 % 60:02d}m {seconds % 60:02d}s" if seconds >= 3600 else f"{seconds // 60}m {seconds % 60:02d}s"


@kind(argv=["./darknet", "detector", "train", "obj.data", "yolo.cfg"])
def darknet(r):
    """The losses stand before their words; the iterations are in the configuration."""
    r.wait(8)
    for n in range(1, 401):
        r.step(1.1)
        loss = r.loss(600, 2)
        r.say(f" {n}: {loss:.6f}, {loss * 1.01:.6f} avg loss, 0.000000 rate, {r.slow * 1.1:.6f} seconds, {n * 64} images, {(400 - n) * 1.1 / 3600:.6f} hours left")
        r.say("Loaded: 0.000029 seconds")
        if n % 100 == 0:
            r.say("Saving weights to backup//yolo_last.weights")
            r.wait(0.5)


@kind(argv=["./marian", "--train-sets", "a.en", "a.de", "--disp-freq", "100", "--after-epochs", "3"], announced=False)
def marian(r):
    r.wait(12)
    r.epochs, n = 3, 0
    for epoch in range(1, 4):
        for i in range(1, 1201):
            r.step(0.12)
            n += 1
            if n % 100 == 0:
                r.say(f"[{r.clock()}] Ep. {epoch} : Up. {n} : Sen. {i * 64:,} : Cost {r.loss(6, 2):.8f} : Time 12.01s : 9357.35 words/s")
            if n % 600 == 0:
                r.say(f"[{r.clock()}] Saving model weights and runtime parameters to model/model.npz.orig.npz")
                r.wait(2)
                r.say(f"[{r.clock()}] [valid] Ep. {epoch} : Up. {n} : cross-entropy : 130.97 : new best")
        r.say(f"[{r.clock()}] Seen {epoch * 76800} samples")


@kind(argv=["python", "train.py", "--outdir=runs", "--kimg=100"], announced=False)
def stylegan(r):
    """Ticks of 4 kimg, of which the line has both."""
    r.wait(40)
    r.say("Training for 100 kimg...")
    r.counted = 26
    for tick in range(26):
        r.step(14)
        r.say(f"tick {tick:<5d} kimg {tick * 4.0:<8.1f} time {spent(r.t):<12s} sec/tick 14.0    sec/kimg 3.50    maintenance 0.1    cpumem 5.88   gpumem 9.79   "
              "reserved 10.64  augment 0.052")


@kind(argv=["python", "train_gan_tts.py"], announced=False)
def coqui(r):
    r.wait(9)
    r.epochs = 6
    done = 0
    for epoch in range(6):
        r.say(f"\n\033[4m\033[1m > EPOCH: {epoch}/6\033[0m\n --> train-2024\n\n\033[1m > TRAINING ({r.clock()}) \033[0m")
        for i in range(377):
            r.step(0.09)
            if i % 25 == 24:
                r.say(f"\n\033[1m   --> STEP: {i}/377 -- GLOBAL_STEP: {done + i}\033[0m\n     | > loss_disc: 2.40120  (2.51074)\n     | > loss_mel: 17.6  (17.2)\n"
                      f"     | > loss_1: {r.loss(30, 20):.5f}  (30.49375)\n     | > step_time: 0.55960  (0.62170)\n     | > loader_time: 0.10720  (0.10090)")
        done += 377
        r.say(f"\n\033[1m > EVALUATION \033[0m")
        r.wait(3, 0.05)
        r.say("\n  \033[1m--> EVAL PERFORMANCE\033[0m\n     | > avg_loss_1: 28.1 (-0.3)")


@kind(argv=["torchrun", "scripts/train.py", "configs/OLMo-1B.yaml"])
def olmo(r):
    r.wait(30)
    logged(r, 700, 0.8, 10, lambda n: f"{r.clock()}.181 node:0  olmo.train:908  INFO    [step={n}/700,epoch=0]\n    optim/total_grad_norm=231.7\n"
           f"    train/CrossEntropyLoss={r.loss(12, 3):.3f}\n    train/Perplexity=195,153\n    throughput/total_tokens={n * 1048576:,}\n"
           "    throughput/device/tokens_per_second=26,668\n    System/Peak GPU Memory (MB)=46,911")


@kind(argv=["python", "train.py"])
def pith(r):
    """step 00000002/00000300 | step-time 28.823 sec | cross-entropy-loss 2.5949"""
    r.wait(15)
    logged(r, 300, 1.9, 1, lambda n: f"{r.clock()} | INFO | step {n:08d}/00000300 | step-time {r.slow * 1.9:.3f} sec | cross-entropy-loss {r.loss():.4f} | "
           "load-balance-loss 0.001803 | learning-rate 1.000000e-06 | gradient-norm 20.0672 | tokens-per-second 72,759 | peak-gpu-memory 63.84 GB")


@kind(argv=["ns-train", "nerfacto", "--data", "x", "--max-num-iterations", "5000"])
def nerfstudio(r):
    r.wait(14)
    begun = r.t
    for n in range(5000):
        r.step(0.045)
        if n % 100 == 10:
            left = (r.t - begun) / (n + 1) * (4999 - n)
            words = f"{int(left) // 60} m, {int(left) % 60} s" if left >= 60 else f"{int(left)} s, 300.687 ms"
            r.say("Step (% Done)       Train Iter (time)    ETA (time)           Train Rays / Sec                         ")
            r.say("-" * 83)
            r.say(f"{n} ({n / 50:.2f}%)".ljust(20) + "45.140 ms            " + words.ljust(21) + "14.86 M                                  ")


@kind(argv=["swift", "sft", "--num_train_epochs", "2"], announced=False)
def swift(r):
    """ms-swift: a Trainer whose dictionaries tell the step, and the time left."""
    r.wait(25)
    r.epochs, steps = 2, 240
    bar = r.bar("Train", steps)
    begun = r.t
    for n in range(1, steps + 1):
        r.step(1.6)
        bar.update()
        if n % 5 == 0:
            left = (r.t - begun) / n * (steps - n)
            r.say("\r" + f"{{'loss': {r.loss():.8f}, 'grad_norm': 25.866, 'learning_rate': 1e-06, 'memory(GiB)': 69.19, 'train_speed(iter/s)': 0.62, "
                  f"'epoch': {n * 2 / steps:.2f}, 'global_step/max_steps': '{n}/{steps}', 'percentage': '{100 * n / steps:.2f}%', "
                  f"'elapsed_time': '{spent(r.t - begun)}', 'remaining_time': '{spent(left)}'}}")
    bar.close()


@kind(argv=["python", "tools/train.py", "-c", "configs/det.yml"], announced=False)
def paddleocr(r):
    r.wait(11)
    epochs, each, begun = 20, 90, 0.0
    r.epochs = epochs
    for n in range(1, epochs * each + 1):
        before = r.t
        r.step(0.25)
        begun += r.t - before
        if n % 10 == 0:
            left = begun / n * (epochs * each - n)
            r.say(f"[{r.clock('%Y/%m/%d %H:%M:%S')}] ppocr INFO: epoch: [{1 + (n - 1) // each}/{epochs}], global_step: {n}, lr: 0.000100, loss: {r.loss():.6f}, "
                  f"loss_cbn: 0.000000, avg_reader_cost: 0.35601 s, avg_batch_cost: 0.25 s, avg_samples: 6.4, ips: 15.32489 samples/s, eta: {clock_left(left)}, "
                  "max_mem_reserved: 6177 MB, max_mem_allocated: 5281 MB")
        if n % each == 0:
            r.say(f"[{r.clock('%Y/%m/%d %H:%M:%S')}] ppocr INFO: save model in ./output/det/latest")
            r.wait(0.8)


@kind(argv=["python", "test_train_mp_imagenet.py", "--num_epochs=3"], announced=False)
def torch_xla(r):
    """Four devices report the same steps."""
    r.wait(30)
    r.epochs = 3
    for epoch in range(1, 4):
        r.say(f"Epoch {epoch} train begin {r.clock('%H:%M:%S')}")
        for i in range(400):
            r.step(0.22)
            if i % 20 == 0:
                for device in range(4):
                    r.say(f"| Training Device=xla:0/{device} Epoch={epoch} Step={i} Loss={r.loss():.5f} Rate=798.11 GlobalRate=981.24 Time={r.clock('%H:%M:%S')}")
        r.say(f"Epoch {epoch} train end {r.clock('%H:%M:%S')}")
        r.wait(9, 0.03)
        r.say(f"Epoch {epoch} test end {r.clock('%H:%M:%S')}, Accuracy=71.20")


@kind(argv=["mlagents-learn", "config.yaml", "--run-id=x"])
def ml_agents(r):
    r.wait(20)
    logged(r, 50, 6, 1, lambda n: f"[INFO] 3DBall. Step: {n * 10000}. Time Elapsed: {r.t:.3f} s. Mean Reward: 1.218. Std of Reward: 0.739. Training.")


@kind(argv=["python", "train.py", "--batch-size", "64"], announced=False)
def mxnet(r):
    r.wait(5)
    r.epochs = 5
    for epoch in range(5):
        for i in range(1, 501):
            r.step(0.07)
            if i % 20 == 0:
                r.say(f"INFO:root:Epoch[{epoch}] Batch [{i - 20}-{i}]\tSpeed: 1962.12 samples/sec\taccuracy=0.9{i % 100:02d}")
        r.say(f"INFO:root:Epoch[{epoch}] Train-accuracy=0.971")
        r.say(f"INFO:root:Epoch[{epoch}] Time cost=35.011")
        r.wait(2, 0.03)
        r.say(f"INFO:root:Epoch[{epoch}] Validation-accuracy=0.981")


@kind(argv=["python", "tagger.py"], announced=False)
def flair(r):
    r.wait(6)
    epochs, each = 8, 300
    r.epochs = epochs
    r.say(f"{r.clock()},101  - max_epochs: \"{epochs}\"")
    for epoch in range(1, epochs + 1):
        for i in range(1, each + 1):
            r.step(0.11)
            if i % 30 == 0:
                r.say(f"{r.clock()},389 epoch {epoch} - iter {i}/{each} - loss {r.loss():.8f} - time (sec): {i * 0.11:.2f} - samples/sec: 288.1 - lr: 0.100000")
        r.say(f"{r.clock()},390 EPOCH {epoch} done: loss {r.loss():.4f} - lr: 0.1000000")
        r.wait(5, 0.03)
        r.say(f"{r.clock()},391 DEV : loss {r.loss():.4f} - f1-score (micro avg)  0.8012")


@kind(argv=["./word2vec", "-train", "text8", "-output", "v.bin"])
def word2vec(r):
    r.wait(5)
    r.counted = 10000
    for n in range(1, 2501):
        r.step(0.1)
        r.say("\r" + f"Alpha: {0.025 * (1 - n / 2500):f}  Progress: {100 * n / 2500:.2f}%  Words/thread/sec: 100.11k  ", end="")


@kind(argv=["python", "embed.py"], announced=False)
def gensim(r):
    r.wait(6)
    r.epochs, each = 5, 60
    for epoch in range(1, 6):
        for i in range(1, each + 1):
            r.step(1.0)
            r.say(f"{r.clock()},117 : INFO : EPOCH {epoch} - PROGRESS: at {100 * i / each:.2f}% examples, 1234567 words/s, in_qsize 14, out_qsize 1")
        r.say(f"{r.clock()},118 : INFO : EPOCH - {epoch} : training on 17005207 raw words (12506280 effective words) took 60.1s, 207882 effective words/s")


@kind(argv=["dora", "run", "solver=musicgen"], announced=False)
def audiocraft(r):
    r.wait(20)
    r.epochs = 4
    for epoch in range(1, 5):
        for i in range(1, 401):
            r.step(0.3)
            if i % 40 == 0:
                r.say(f"[{r.clock('%m-%d %H:%M:%S')}][flashy.solver][INFO] - Train | Epoch {epoch} | {i}/400 | 3.32 it/sec | CE {r.loss():.3f} | PPL 210.1 | "
                      "GRAD_NORM 1.2 | LR 1.00E-04")
        r.wait(6, 0.03)
        r.say(f"[{r.clock('%m-%d %H:%M:%S')}][flashy.solver][INFO] - Valid Summary | Epoch {epoch} | CE=3.811 | PPL=200.1")


@kind(argv=["python", "train.py", "-s", "data/garden"])
def gaussian_splatting(r):
    """Its steps take longer as there are more Gaussians, up to half of the training."""
    r.wait(9)
    total = 7000
    bar = r.bar("Training progress", total, postfix=lambda r: f"Loss={r.loss(.3, .05):.7f}, Depth Loss=0.0000000")
    for n in range(total):
        r.step(0.03 * (1 + min(n / total, 0.5)))
        if n % 10 == 9:
            bar.update(10)
    bar.close()


@kind(argv=["allennlp", "train", "config.jsonnet", "-s", "out"], announced=False)
def allennlp(r):
    r.wait(12)
    r.epochs = 5
    for epoch in range(5):
        r.say(f"{r.clock()},532 - INFO - allennlp.training.trainer - Epoch {epoch}/4")
        bar = r.bar("accuracy: 0.5123, loss: 1.2034 ||", 250)
        for _ in range(250):
            r.step(0.2)
            bar.label = f"accuracy: {1 - r.loss(1, .2):.4f}, loss: {r.loss():.4f} ||"
            bar.update()
        bar.close()
        aside(r, "accuracy: 0.6123, loss: 1.1034 ||", 30, 0.15)


@kind(argv=["vw", "-d", "train.vw", "--passes", "3"], announced=False)
def vowpal_wabbit(r):
    """Reports at 1, 2, 4, 8 ... examples."""
    r.wait(2)
    r.say("average  since         example        example        current        current  current\nloss     last          counter         weight          label        "
          "predict features")
    shown = 1
    for n in range(1, 150001):
        r.step(0.001)
        if n == shown:
            r.say(f"{r.loss(.7, .3):.6f} {r.loss(.7, .3):.6f} {n:14d} {n:14.1f}         1.0000         0.{n % 9973:04d}       {30 + n % 7}")
            shown *= 2


# ---- trainings within others, and other habits

@kind(argv=["python", "cv.py"], announced=False)
def folds(r):
    """Five trainings of 12 epochs each."""
    r.wait(5)
    for fold in range(1, 6):
        r.say(f"========== Fold {fold}/5 ==========")
        for epoch in range(1, 13):
            for _ in range(40):
                r.step(0.2)
            r.say(f"Epoch {epoch}/12 - train_loss: {r.loss():.4f} - val_loss: {r.loss():.4f}")


@kind(argv=["python", "search.py"], announced=False)
def trials(r):
    """A search: each trial has bars of its own."""
    r.wait(5)
    for trial in range(1, 9):
        r.say(f"Trial {trial}/8: lr=0.001")
        bar = r.bar("train", 900, postfix=lambda r: f"loss={r.loss():.4f}")
        for _ in range(900):
            r.step(0.1)
            bar.update()
        bar.close()


@kind(argv=["python", "ppo.py"], announced=False)
def rollouts(r):
    """Steps of an outer bar without a word, with two bars in each."""
    r.wait(8)
    outer = r.bar("", 80)
    for _ in range(80):
        aside(r, "Rollout", 64, 0.05)
        aside(r, "Update", 16, 0.1)
        r.made += 1
        outer.update()
    outer.close()


@kind(argv=["torchrun", "--nproc-per-node", "4", "train.py"])
def rank_prefix(r):
    r.wait(10)
    for n in range(1, 1201):
        r.step(0.2)
        if n % 10 == 0:
            for rank in range(4):
                r.say(f"[rank{rank}]: step {n}/1200 loss {r.loss():.4f} lr 3e-4")


@kind(argv=["python", "train.py", "--max_steps", "2000"])
def json_lines(r):
    r.wait(6)
    logged(r, 2000, 0.12, 20, lambda n: f'{{"step": {n}, "loss": {r.loss():.4f}, "lr": 0.0001, "tokens": {n * 4096}, "elapsed": {r.t:.2f}}}')


@kind(argv=["python", "gan.py", "--n_epochs", "6"], announced=False)
def gan(r):
    r.wait(6)
    r.epochs = 6
    for epoch in range(6):
        for i in range(300):
            r.step(0.1)
            r.say(f"[Epoch {epoch}/6] [Batch {i}/300] [D loss: {r.loss(.7, .5):.6f}] [G loss: 0.702345]")


@kind(argv=["python", "train.py", "--epochs", "5"], announced=False)
def yolov5(r):
    """Epochs are told as 0/4."""
    r.wait(9)
    r.epochs = 5
    for epoch in range(5):
        bar = r.bar(f"       {epoch}/4      3.21G    0.05123    0.03112    0.01201         51        640", 150)
        for _ in range(150):
            r.step(0.2)
            bar.update()
        bar.close()
        aside(r, "                 Class     Images  Instances          P          R      mAP50   mAP50-95", 12, 0.3)


@kind(argv=["python", "train.py", "--dataroot", "maps"], announced=False)
def cyclegan(r):
    r.wait(8)
    r.epochs = 4
    for epoch in range(1, 5):
        begun = r.t
        for i in range(1, 1097):
            r.step(0.058)
            if i % 100 == 0:
                r.say(f"(epoch: {epoch}, iters: {i}, time: 0.058, data: 0.190) D_A: 0.301 G_A: 0.412 cycle_A: 1.801 idt_A: 0.7 D_B: 0.2 G_B: 0.5 cycle_B: 1.1")
        r.say(f"End of epoch {epoch} / 4 \t Time Taken: {int(r.t - begun)} sec")


@kind(argv=["python", "train.py"], announced=False)
def kaggle_remain(r):
    """The time left is the epoch's."""
    r.wait(7)
    r.epochs = 4
    for epoch in range(1, 5):
        begun = r.t
        for i in range(600):
            r.step(0.12)
            if i % 20 == 0 or i == 599:
                left = (r.t - begun) / (i + 1) * (599 - i)
                r.say(f"Epoch: [{epoch}][{i}/600] Elapsed {int(r.t - begun) // 60}m {int(r.t - begun) % 60}s (remain {int(left) // 60}m {int(left) % 60}s) "
                      f"Loss: {r.loss():.4f}(0.7012) Grad: 1.2034  LR: 0.00002000")
        r.wait(6, 0.05)
        r.say(f"Epoch {epoch} - avg_train_loss: {r.loss():.4f}  avg_val_loss: {r.loss():.4f}  time: 78s")


@kind(argv=["python", "pretrain.py"], announced=False)
def two_bars(r):
    """First an auto-encoder, then the training: the second bar cannot be foreseen, but is longer."""
    r.wait(5)
    for label, steps in (("pretraining", 200), ("fine-tuning", 1500)):
        bar = r.bar(label, steps, postfix=lambda r: f"loss={r.loss():.4f}")
        for _ in range(steps):
            r.step(0.1)
            bar.update()
        bar.close()
