# SPDX-License-Identifier: Apache-2.0
"""On-policy reinforcement learning of language models: each step generates answers, and takes longer as these lengthen. Kinds
for corpus.py."""
from corpus import aside, kind

RAY = "(TaskRunner pid=87031) "


def grown(r, n, steps, by):
    """The factor of a step's time and of its answers' length: rising over the training, as published runs do."""
    return 1 + (by - 1) * n / steps


def rollout(r, n, steps, seconds, by):
    r.step(seconds * grown(r, n, steps, by), 0.06)
    return 300 * grown(r, n, steps, by) * r.random.gauss(1, 0.03)


@kind(argv=["python3", "-m", "verl.trainer.main_ppo", "algorithm.adv_estimator=grpo", "trainer.total_epochs=15"], announced=False)
def verl(r):
    r.wait(60)
    steps = 105
    bar = r.bar("Training Progress", steps)
    for n in range(1, steps + 1):
        length = rollout(r, n, steps, 18, 2.2)
        bar.update()
        r.say()
        r.say(RAY + f"step:{n} - global_seqlen/min:484245.000 - actor/entropy:0.323 - actor/kl_loss:0.001 - actor/pg_loss:{r.loss(.1, .01):.3f} - "
              f"actor/grad_norm:0.020 - perf/mfu/actor:0.343 - actor/lr:0.000 - training/global_step:{n}.000 - training/epoch:{n // 7}.000 - "
              f"critic/rewards/mean:0.558 - response_length/mean:{length:.3f} - response_length/max:963.000 - prompt_length/mean:104.000 - "
              "timing_s/gen:29.316 - timing_s/step:42.011")
    bar.close()


def openrlhf(r, by, train_first=False):
    r.wait(50)
    r.epochs = 2
    steps, n = 2 * 30, 0
    r.counted = steps
    for episode in range(2):
        outer = r.bar(f"Episode [{episode + 1}/2]", 30)
        for _ in range(30):
            n += 1
            factor = grown(r, n, steps, by)
            aside(r, "Processed prompts", 16, 0.5 * factor)
            inner = r.bar("Train epoch [1/1]", 8, postfix=lambda r: "pg=0.0012, rm=0.51, ret=0.2, glen=231, tlen=512, kl=0.001, act_lr=5e-7")
            for _ in range(8):
                r.wait(0.35 * factor, 0.05)
                inner.update()
            inner.close()
            r.made += 1
            outer.update()
        outer.close()


@kind(argv=["python3", "-m", "openrlhf.cli.train_ppo_ray", "--max_epochs", "1", "--num_episodes", "2"], announced=False)
def openrlhf_flat(r):
    openrlhf(r, 1.0)


@kind(argv=["python3", "-m", "openrlhf.cli.train_ppo_ray", "--max_epochs", "1", "--num_episodes", "2"], announced=False)
def openrlhf_grows(r):
    openrlhf(r, 2.0)


@kind(argv=["uv", "run", "examples/run_grpo_math.py", "--config", "grpo.yaml"], announced=False)
def nemo_rl(r):
    r.wait(70)
    steps = 90
    r.say("========================= Epoch 1/1 =========================")
    for n in range(1, steps + 1):
        r.say(f"\n========================= Step {n}/{steps} =========================")
        r.say("▶ Preparing batch...")
        r.say("▶ Generating responses for batch of size 512...")
        length = rollout(r, n, steps, 17, 1.8)
        r.say("▶ Processing rewards...\n▶ Computing advantages...\n▶ Training policy...")
        r.say(f"\n📊 Training Results:\n  • Loss: {r.loss(.1, .01):.4f}\n  • Generation KL Error: 0.0011\n  • Avg Reward: 0.4512\n  • Mean Generation Length: "
              f"{length:.4f}\n\n⏱️  Timing:\n  • Total step time: 17.31s\n  • generation: 9.51s (55.0%)\n  • policy_training: 6.02s (34.8%)")


@kind(argv=["accelerate", "launch", "grpo.py", "--max_steps", "150"], announced=False)
def trl_grpo(r):
    r.wait(40)
    steps = 150
    bar = r.bar("", steps)
    for n in range(1, steps + 1):
        length = rollout(r, n, steps, 9, 2.5)
        bar.update()
        r.say("\r" + f"{{'loss': {r.loss(.1, .01):.4f}, 'grad_norm': 0.1235, 'learning_rate': 9.6875e-06, 'num_tokens': {n * 10222}.0, 'completions/mean_length': "
              f"{length:.2f}, 'completions/max_length': 738.0, 'rewards/accuracy/mean': 0.5, 'reward': 0.5, 'reward_std': 0.32, 'kl': 0.0004, 'entropy': 0.4, "
              f"'epoch': {n / steps:.2f}}}")
    bar.close()
