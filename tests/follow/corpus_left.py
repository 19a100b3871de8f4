# SPDX-License-Identifier: Apache-2.0
"""Trainings whose logs do not say how long they are, or only by the time that is left, or by a percentage: kinds for corpus.py."""
from corpus import aside, kind, logged


def clock_left(seconds):
    seconds = int(seconds)
    return f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def days_left(seconds):
    days = int(seconds) // 86400
    rest = clock_left(int(seconds) % 86400)
    return f"{days} day{'s' if days > 1 else ''}, {rest}" if days else rest


# ---- llama.cpp's finetune: one bar for each epoch (ggml-opt), another for its validation; no line names the epochs

def ggml_bar(r, name, total, batch, seconds, drawn, steps=False):
    begun = r.t
    for i in range(1, total + 1):
        (r.step if steps else r.wait)(seconds)
        spent = int(r.t - begun)
        left = int((r.t - begun) / i * (total - i))
        at = lambda s: f"{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d}"
        r.say(f"{name}[{drawn(i / total)}] data={i * batch:07d}/{total * batch:07d} loss={r.loss():.5f}±0.01234 acc={41 + i / total:.2f}±0.22% "
              f"t={at(spent)} ETA={at(left)} \r", end="")
    r.say()


def arrow(share):
    return "=" * int(25 * share) + ">" * (share < 1) + " " * (25 - int(25 * share) - (share < 1))


def blocks(share):
    return "█" * int(8 * share) + ("▏▎▍▌▋▊▉"[int(share * 56) % 7] if share < 1 else "") + " " * (7 - int(8 * share))


def llamacpp(r, drawn, epochs):
    r.wait(6)
    r.say("llama_model_loader: loaded meta data with 30 key-value pairs and 147 tensors from models/llama_3.2-1b-f32.gguf")
    r.epochs, r.counted = epochs, epochs * 380 * 8
    for _ in range(epochs):
        ggml_bar(r, "train: ", 380, 8, 0.35, drawn, steps=True)
        ggml_bar(r, "val:   ", 20, 8, 0.12, drawn)
        r.say()


@kind(argv=["llama-finetune", "--file", "wiki.test.raw", "-ngl", "999", "--model", "llama_3.2-1b-f32.gguf", "-c", "512"], announced=False)
def llamacpp_finetune(r):
    llamacpp(r, arrow, 2)


@kind(argv=["llama-finetune", "--file", "wiki.test.raw", "--model", "llama_3.2-1b-f32.gguf", "-epochs", "3"], announced=False)
def llamacpp_finetune_epochs(r):
    llamacpp(r, blocks, 3)


@kind(argv=["finetune", "--model-base", "llama3-q4.gguf", "--train-data", "data.txt", "--lora-out", "lora.bin"])
def llamacpp_lora(r):
    """The program before it: the bar at the end of the line shows the loss."""
    r.wait(20)
    r.say("main: begin training")
    total = 130
    for n in range(total):
        before = r.t
        r.step(5)
        dt, loss = r.t - before, r.loss(6, 2, 30)
        at = lambda s: f"{int(s) // 3600:02d}:{int(s) // 60 % 60:02d}:{int(s) % 60:02d}"
        r.say(f"train_opt_callback: iter={n:6d} sample={n + 2}/5608 sched={min(n / 100, 1):.6f} loss={loss:.6f} dt={at(dt)} eta={at(dt * (total - n))} "
              f"|{'-' * int((6 - loss) * 12)}>")


# ---- Paddle

@kind(argv=["python", "tools/train.py", "--config", "configs/bisenet.yml", "--do_eval", "--save_interval", "400"])
def paddleseg(r):
    """The first evaluation, with its checkpoint, comes a minute after the first line."""
    r.wait(12)
    total = 3000
    every = 20
    for n in range(1, total + 1):
        r.step(0.16)
        if n % every == 0:
            r.say(f"{r.clock()} [INFO]\t[TRAIN] epoch: {1 + n // 743}, iter: {n}/{total}, loss: {r.loss():.4f}, lr: 0.009657, batch_cost: {r.slow * 0.16:.4f}, "
                  f"reader_cost: 0.00204, ips: 24.8514 samples/sec | ETA {clock_left((total - n) * r.slow * 0.16)}")
        if n % 400 == 0:
            r.say(f"{r.clock()} [INFO]\tStart evaluating (total_samples: 200, total_iters: 200)...")
            for i in range(1, 201):
                r.wait(0.12, 0.05)
                bar = "=" * (29 * i // 200) + (">" if i < 200 else "=")
                r.say("\r" + f"{i:3d}/200 [{bar:.<30}] - ETA: {int((200 - i) * 0.12)}s - batch_cost: 0.1200 - reader cost: 0.0085", end="")
            r.say()
            r.say(f"{r.clock()} [INFO]\t[EVAL] #Images: 200 mIoU: 0.5000 Acc: 0.9113 Kappa: 0.7013")
            r.say(f"{r.clock()} [INFO]\t[EVAL] The model with the best validation mIoU (0.5000) was saved at iter {n}.")
            r.wait(1, 0.05)


def paddle_epochs(r, epochs, each, seconds, every, line, first=0.0, evaluate=0.0, start=0):
    """As ppdet and mmcv do: the time left is that of all epochs, by the mean since the start."""
    r.wait(10)
    r.epochs = epochs
    total, spent = epochs * each, 0.0
    for n in range(total):
        before = r.t
        r.step(seconds)
        if n == 0:
            r.wait(first)
        spent += r.t - before
        if (n % each + start) % every == 0:
            r.say(line(n // each, n % each, spent / (n + 1) * (total - n - 1), (r.t - before)))
        if evaluate and n % each == each - 1:
            r.wait(evaluate, 0.03)


@kind(argv=["python", "tools/train.py", "-c", "configs/ppyoloe.yml"], announced=False)
def paddledetection(r):
    paddle_epochs(r, 12, 500, 0.21, 20, lambda e, i, left, took:
                  f"[{r.clock('%m/%d %H:%M:%S')}] ppdet.engine INFO: Epoch: [{e}] [{i:4d}/500] learning_rate: 0.001747 loss: {r.loss():.6f} loss_cls: "
                  f"1.731808 loss_iou: 0.456640 eta: {days_left(left)} batch_cost: {took:.4f} data_cost: 0.0010 ips: 29.9510 images/s", first=14)


@kind(argv=["python", "tools/train.py", "configs/retinanet.py"], announced=False)
def mmcv(r):
    """The configuration is not shown, so only the time left tells the epochs."""
    paddle_epochs(r, 24, 600, 0.3, 50, lambda e, i, left, took:
                  f"{r.clock()},015 - mmdet - INFO - Epoch [{e + 1}][{i + 1}/600]\tlr: 0.00125, eta: {days_left(left)}, time: {took:.3f}, data_time: 0.032, "
                  f"memory: 6836, loss_rpn_cls: 0.0989, loss_cls: 0.1939, acc: 93.4961, loss: {r.loss():.4f}", first=30, start=1)


@kind(argv=["python", "tools/train.py", "configs/yolo.py"], announced=False)
def mmengine_left(r):
    r.wait(9)
    r.epochs, each, epochs, spent = 20, 200, 20, 0.0
    for n in range(1, epochs * each + 1):
        before = r.t
        r.step(0.12)
        spent += r.t - before
        if n % 50 == 0:
            r.say(f"{r.clock('%m/%d %H:%M:%S')} - mmengine - INFO - Epoch(train) [{1 + (n - 1) // each}][{1 + (n - 1) % each:3d}/{each}]  base_lr: 2.0000e-03 "
                  f"lr: 5.9600e-05  eta: {days_left(spent / n * (epochs * each - n))}  time: 0.1200  data_time: 0.0205  memory: 7657  loss: {r.loss():.4f}")


@kind(argv=["python", "main.py", "--coco_path", "/data"], announced=False)
def detr_left(r):
    """The time left is that of the epoch: it says nothing about the whole."""
    r.wait(9)
    r.epochs, each = 6, 300
    for e in range(6):
        begun = r.t
        for i in range(each):
            r.step(0.2)
            if i % 10 == 0:
                left = (r.t - begun) / (i + 1) * (each - i - 1)
                r.say(f"Epoch: [{e}]  [{i:3d}/{each}]  eta: {clock_left(left)}  lr: 0.000100  loss: {r.loss():.4f} ({r.loss():.4f})  time: 0.2000  data: 0.0050  "
                      "max mem: 3345")


# ---- percentages, tables, columns

@kind(argv=["fasttext", "supervised", "-input", "train.txt", "-output", "model", "-epoch", "25"])
def fasttext(r):
    r.wait(4)
    r.say("Read 24M words\nNumber of words:  312345\nNumber of labels: 12")
    begun, length, ticks = r.t, 320.0, 4000
    for n in range(1, ticks + 1):
        r.step(length / ticks)
        share = n / ticks
        left = (r.t - begun) / share * (1 - share)
        r.say("\r" + f"Progress: {100 * share:5.1f}% words/sec/thread: {48000 + n % 7:7d} lr: {0.1 * (1 - share):9.6f} avg.loss: {r.loss():9.6f} "
              f"ETA: {int(left) // 3600:3d}h{int(left) // 60 % 60:2d}m{int(left) % 60:2d}s", end="")
    r.say()
    r.counted = 1000


@kind(argv=["fasttext", "skipgram", "-input", "fil9", "-output", "fil9"])
def fasttext_old(r):
    r.wait(4)
    begun, length, ticks = r.t, 400.0, 2000
    for n in range(1, ticks + 1):
        r.step(length / ticks)
        left = (r.t - begun) / n * (ticks - n)
        r.say("\r" + f"Progress: {100 * n / ticks:.1f}%  words/sec/thread: 6565  lr: {0.1 * (1 - n / ticks):.6f}  loss: {r.loss():.6f}  "
              f"eta: {int(left) // 3600}h{int(left) // 60 % 60}m ", end="")
    r.say()
    r.counted = 1000


def boosted(r, total, seconds):
    r.wait(3)
    r.say("      Iter       Train Loss   Remaining Time ")
    begun = r.t
    for n in range(1, total + 1):
        r.step(seconds)
        left = (total - n) * (r.t - begun) / n
        if n <= 10 or (n <= 100 and n % 10 == 0) or n % 100 == 0:
            shown = f"{left / 60:.2f}m" if left > 60 else f"{left:.2f}s"
            r.say(f"{n:10d} {r.loss(1.3, .5):16.4f} {shown:>16s}")


@kind(argv=["python", "boost.py"])
def sklearn_boosting(r):
    boosted(r, 400, 0.6)


@kind(argv=["python", "boost.py"])
def sklearn_boosting_short(r):
    boosted(r, 100, 0.55)


@kind(argv=["python", "mlp.py"])
def sklearn_mlp(r):
    """It ends when the loss does not improve: there is no total."""
    r.wait(3)
    logged(r, 180, 0.8, 1, lambda n: f"Iteration {n}, loss = {r.loss():.8f}")
    r.say("Training loss did not improve more than tol=0.000100 for 10 consecutive epochs. Stopping.")


@kind(argv=["python", "train.py", "--epochs", "120"])
def csv_epochs(r):
    r.wait(4)
    r.epochs = r.counted = 120
    r.say("epoch,loss,accuracy,val_loss")
    for epoch in range(120):
        for _ in range(20):
            r.step(0.1)
        r.say(f"{epoch},{r.loss():.4f},{1 - r.loss(1, .1):.4f},{r.loss():.4f}")


@kind(argv=["python", "train.py", "--max_steps", "1500"])
def csv_bare(r):
    """0,4.0,0.1: no header, no word."""
    r.wait(4)
    logged(r, 1500, 0.2, 10, lambda n: f"{n},{r.loss():.1f},{3e-4 * (1 - n / 1500):.6f}", first=0)


@kind(argv=["python", "train.py", "--epochs", "90"])
def epoch_lines(r):
    """Counted from 0, and without their number."""
    r.wait(4)
    r.epochs = r.counted = 90
    for epoch in range(90):
        for _ in range(30):
            r.step(0.1)
        r.say(f"Epoch {epoch}: loss {r.loss():.4f}")


# ---- ESPnet

def espnet(r, left):
    r.wait(15)
    epochs, each = 10, 600
    r.epochs = epochs
    head = lambda line: f"[gpu01] {r.clock()},080 (trainer:{line}) INFO: "
    begun = r.t
    for e in range(1, epochs + 1):
        told = f". Estimated time to finish: {int((r.t - begun) / (e - 1) * (epochs - e + 1)) // 60} minutes and 16.79 seconds" if e > 1 and left else ""
        r.say(head(300) + f"{e}/{epochs}epoch started{told}")
        for i in range(1, each + 1):
            r.step(0.11)
            if i % 30 == 0:
                r.say(head(762) + f"{e}epoch:train:{i - 29}-{i}batch: iter_time=2.878e-04, forward_time=0.134, loss_ctc=232.499, loss_att=77.448, acc=0.013, "
                      f"loss={r.loss():.3f}, backward_time=0.111, optim_step_time=0.030, optim0_lr0=3.460e-06, train_time=1.816")
        r.wait(7, 0.03)
        r.say(head(354) + f"{e}epoch results: [train] iter_time=0.001, loss={r.loss():.3f}, lr_0=0.100, train_time=0.014, time=1 minute and 6.19 seconds, "
              f"total_count={e * each}, [valid] loss={r.loss():.3f}, time=7.12 seconds, total_count=1680, [att_plot] time=0.14 seconds, total_count=0")
        r.say(head(412) + "The best model has been updated: valid.acc")


@kind(argv=["python", "-m", "espnet2.bin.asr_train", "--config", "conf/train_asr.yaml"], announced=False)
def espnet2(r):
    espnet(r, True)


# ---- a machine that others use

@kind(argv=["python", "train.py"], announced=None)
def disturbed(r):
    """No step is faster than 380 ms; many are slower, for a while at a time, which no sample can foresee."""
    r.wait(8)
    bar = r.bar("train", 9390)
    level = 0.38
    for n in range(9390):
        if n % 12 == 0:
            level = r.random.choice((0.38, 0.38, 0.55, 0.9, 1.7))
        r.wait(level)
        r.made += 1
        bar.update()
    bar.close()
