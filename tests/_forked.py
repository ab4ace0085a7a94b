"""A program that forks with a client in use: both processes embed, and print how many are right."""

import os
import sys
from functools import partial

import anyio
import numpy as np
from _script import BLOCKING

from vllm_modalities import AsyncClient, Client, Embeddings

COUNT = 20


def main(kind: str, url: str) -> None:
    client = Client(url) if kind == BLOCKING else AsyncClient(url)

    def embed(texts: list[str]) -> Embeddings:
        if kind == BLOCKING:
            return client.embed(texts)
        return anyio.run(partial(client.embed, texts), backend=kind)

    embed(["so that connections are open"])
    child = os.fork()
    texts = [
        f"text {number} of {'the parent' if child else 'the child'}" for number in range(COUNT)
    ]
    found = [embed([text]).vectors[0] for text in texts]
    with Client(url) as other:
        expected = other.embed(texts).vectors
    right = np.isclose(found, expected).all(axis=1).sum()
    os.write(sys.stdout.fileno(), b"%d\n" % right)  # in one piece, beside the other's
    if not child:
        os._exit(0)
    os.waitpid(child, 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
