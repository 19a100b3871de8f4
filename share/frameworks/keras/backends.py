# SPDX-License-Identifier: Apache-2.0
"""TensorFlow, JAX and PyTorch below Keras: whether they are installed, threads, precision, versions. Keras is imported
only afterwards: JAX and TensorFlow take their threads when they start."""
import importlib.util
import os
import platform
import sys

import fare

BACKEND = os.environ.setdefault("KERAS_BACKEND", "tensorflow")
PACKAGES = {"tensorflow": "tensorflow-cpu", "jax": "jax", "torch": "torch"}  # for CPUs
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


def check():
    if BACKEND not in PACKAGES:
        sys.exit(f"fare: KERAS_BACKEND is '{BACKEND}': expected {', '.join(PACKAGES)}")
    # The folder of this file is called keras too, and would do as a package without files of its own.
    missing = [name for name in ("keras", BACKEND) if not getattr(importlib.util.find_spec(name), "origin", None)]
    if missing:
        sys.exit(f"fare: {sys.executable} has no {' and no '.join(missing)}: 'pip install keras {PACKAGES[BACKEND]}' "
                 "installs both; FARE_PYTHON names another Python")


# Each returns the version, the kernels and, on a GPU, the versions of the libraries below.

def use_tensorflow(o):
    import tensorflow as tf
    if o.threads:
        tf.config.threading.set_intra_op_parallelism_threads(o.threads)
        tf.config.threading.set_inter_op_parallelism_threads(o.threads)
    tf.config.experimental.enable_tensor_float_32_execution(o.precision == "tf32")
    if not tf.config.list_physical_devices("GPU"):
        return tf.__version__, "cpu", {}
    build = tf.sysconfig.get_build_info()
    return tf.__version__, "cuda", {"CUDA": build.get("cuda_version"), "cuDNN": build.get("cudnn_version")}


def use_jax(o):
    if o.threads:
        os.environ["NPROC"] = os.environ["PJRT_NPROC"] = str(o.threads)  # XLA has no option for it
    import jax
    kernels = jax.default_backend()
    if kernels == "cpu":
        return jax.__version__, kernels, {}
    jax.config.update("jax_default_matmul_precision", {"f32": "highest", "tf32": "tensorfloat32"}.get(o.precision))
    from importlib.metadata import distributions
    names = {"nvidia-cuda-runtime": "CUDA", "nvidia-cudnn": "cuDNN"}
    below = {d.name.rsplit("-cu", 1)[0] if d.name[-1].isdigit() else d.name: d.version for d in distributions()}
    return jax.__version__, kernels, {shown: below.get(name) for name, shown in names.items()}


def use_torch(o):
    import torch
    if int(torch.__version__.split(".")[0]) < 2:
        sys.exit(f"fare: {sys.executable} has PyTorch {torch.__version__}, and Keras 3 needs PyTorch 2: 'pip install --upgrade torch' updates it; "
                 "FARE_PYTHON names another Python")
    if o.threads:
        torch.set_num_threads(o.threads)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = o.precision == "tf32"
    if not torch.cuda.is_available():
        return torch.__version__, "cpu", {}
    kernels = f"ROCm {torch.version.hip}" if torch.version.hip else "cuda"
    return torch.__version__, kernels, {"CUDA": torch.version.cuda, "cuDNN": torch.backends.cudnn.version()}


def prepare(o):
    version, kernels, below = {"tensorflow": use_tensorflow, "jax": use_jax, "torch": use_torch}[BACKEND](o)
    import keras
    if int(keras.__version__.split(".")[0]) < 3:
        sys.exit(f"fare: {sys.executable} has Keras {keras.__version__}: \"pip install 'keras>=3'\" updates it")
    keras.utils.set_random_seed(o.seed)
    if o.precision == "bf16":
        keras.mixed_precision.set_dtype_policy("mixed_bfloat16")
    libraries = [{"name": "keras", "version": keras.__version__}, {"name": BACKEND, "version": version, "kernels": kernels},
                 {"name": "python", "version": platform.python_version()}]
    libraries += [{"name": name, "version": str(v)} for name, v in below.items() if v]
    fare.about(seed=o.seed, threads=o.threads or os.cpu_count(), precision=o.precision, libraries=libraries)
