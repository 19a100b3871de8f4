# SPDX-License-Identifier: Apache-2.0
"""gpt2 with the model of the transformers library, trained by the loop of ../pytorch/gpt2.py."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "pytorch"))
import training  # noqa: E402, F401  (says what is missing)

try:
    import transformers
except ImportError:
    sys.exit(f"fare: {sys.executable} has no transformers: 'pip install transformers' installs it; "
             "FARE_PYTHON names another Python")

import importlib.util  # noqa: E402

spec = importlib.util.spec_from_file_location("loop", Path(__file__).resolve().parent.parent / "pytorch" / "gpt2.py")
loop = importlib.util.module_from_spec(spec)
spec.loader.exec_module(loop)


def build(size, start):
    layers, heads, width = loop.SIZES[size]
    config = transformers.GPT2Config(
        n_layer=layers, n_head=heads, n_embd=width, vocab_size=len(start["transformer.wte.weight"]),
        n_positions=len(start["transformer.wpe.weight"]), activation_function="gelu_new", resid_pdrop=0.0,
        embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False)
    net = transformers.GPT2LMHeadModel(config)
    missing, unexpected = net.load_state_dict(start, strict=False)
    assert not unexpected and all(name == "lm_head.weight" or ".attn." in name for name in missing)
    return net


loop.main(build, {"name": "transformers", "version": transformers.__version__})
