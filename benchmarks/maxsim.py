"""MaxSim of one query of 32 tokens with 10,000 documents of 128 tokens, 128 numbers each.

    OPENBLAS_NUM_THREADS=1 RAYON_NUM_THREADS=1 python benchmarks/maxsim.py
    OPENBLAS_NUM_THREADS=2 RAYON_NUM_THREADS=2 python benchmarks/maxsim.py

Each way runs in turn, many times over; what is printed is the quickest of each, and its ratio to
the bare matrix product of the same size. `maxsim-cpu` from PyPI runs too where it is installed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import numpy as np

from vllm_modalities.vectors.maxsim import maxsim
from vllm_modalities.vectors.tokens import TokenEmbeddings

DOCUMENTS, TOKENS, WIDTH, QUERY = 10_000, 128, 128, 32
ROUNDS = 25


def ways() -> dict[str, Callable[[], object]]:
    rng = np.random.default_rng(8)
    vectors = rng.standard_normal((DOCUMENTS * TOKENS, WIDTH), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    query = rng.standard_normal((QUERY, WIDTH), dtype=np.float32)
    packed = TokenEmbeddings(vectors, np.arange(DOCUMENTS + 1) * TOKENS)
    listed = [array.copy() for array in packed]
    halves, eighths = packed.quantize("float16"), packed.quantize("int8")
    found: dict[str, Callable[[], object]] = {
        "bare product": lambda: vectors @ query.T,
        "packed": lambda: maxsim(query, packed),
        "packed, top 10": lambda: maxsim(query, packed, top_k=10),
        "list of arrays": lambda: maxsim(query, listed),
        "float16": lambda: maxsim(query, halves),
        "int8": lambda: maxsim(query, eighths),
    }
    try:
        import maxsim_cpu  # type: ignore[import-not-found]
    except ImportError:
        return found
    cube = vectors.reshape(DOCUMENTS, TOKENS, WIDTH)
    assert np.allclose(maxsim_cpu.maxsim_scores(query, cube), maxsim(query, packed)[0], atol=1e-3)
    found["maxsim-cpu, one array"] = lambda: maxsim_cpu.maxsim_scores(query, cube)
    found["maxsim-cpu, list"] = lambda: maxsim_cpu.maxsim_scores_variable(query, listed)
    return found


def main() -> None:
    runs = ways()
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            time.sleep(0.1)  # threads of the way before may still spin, waiting for more
            began = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - began)
    bare = min(seconds["bare product"])
    print(f"threads: {os.environ.get('OPENBLAS_NUM_THREADS', 'as many as BLAS takes')}")
    for name, took in seconds.items():
        print(f"{name:22} {min(took) * 1e3:7.1f} ms  {min(took) / bare:5.2f}")


if __name__ == "__main__":
    main()
