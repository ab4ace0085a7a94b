"""Snowflake's arctic embedding models."""

from __future__ import annotations

from ._profile import EmbedProfile, Profile
from ._shorthand import MTEB, SEARCH_PASSAGES, VLLM_TESTS, called, cite


def _arctic(
    size: str,
    width: int,
    context: int = 512,
    *,
    query: str = SEARCH_PASSAGES,
    matryoshka: tuple[int, ...] = (),
    normalized: bool | None = None,
    notes: tuple[str, ...] = (),
) -> Profile:
    model = f"Snowflake/snowflake-arctic-embed-{size}"
    unit = {f"source: {model} modules.json": "normalized"} if normalized is not None else {}
    return Profile(
        name=f"arctic-embed-{size}",
        pattern=called(f"arctic-embed-{size}"),
        embed=EmbedProfile(
            pooling="CLS",
            normalized=normalized,
            embedding_size=width,
            matryoshka=matryoshka,
            context=context,
            prompts={"query": query, "document": ""},
            sources=cite(
                {
                    f"{VLLM_TESTS}test_snowflake_arctic_embed.py": "pooling",
                    f"{MTEB}{model}": "embedding_size matryoshka context prompts",
                    **unit,
                }
            ),
        ),
        notes=notes,
    )


REMOTE_CODE = "It needs --trust-remote-code."

ARCTIC = (
    _arctic("m-long", 768, 2048, notes=(REMOTE_CODE,)),
    _arctic(
        "m-v1.5",
        768,
        matryoshka=(256,),
        notes=(
            "It takes `dimensions` if served with"
            " `--hf-overrides '{\"matryoshka_dimensions\": [256]}'`.",
        ),
    ),
    _arctic("m-v2.0", 768, 8192, query="query: ", matryoshka=(256,), notes=(REMOTE_CODE,)),
    _arctic("l-v2.0", 1024, 8192, query="query: ", matryoshka=(256,), normalized=True),
    _arctic("xs", 384, normalized=True),
    _arctic("s", 384, normalized=True),
    _arctic("m", 768),
    _arctic("l", 1024),
)
