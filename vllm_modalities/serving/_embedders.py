"""How embedders are served."""

from __future__ import annotations

from ..profiles._shorthand import called
from ._part import DOCS, POOLING, VLLM, Note, Part, Row, overrides, remote_code

MATRYOSHKA = f"{VLLM}config/model.py, `matryoshka_dimensions`"
SPECIFIC = f"{DOCS}specific_models.md"
JINA_V5 = f"{VLLM}model_executor/models/jina.py"

LONG_TEXTS = Note(
    "texts longer than its context: `.long_texts(tokens)` has the server cut and average them;"
    " before 0.31.0 the vectors of such texts are not of unit length",
    f"{VLLM}config/pooler.py, `enable_chunked_processing`",
)


def _flagged(source: str) -> Part:
    """Matryoshka, for a model that was trained so and does not say so in its config."""
    return overrides(
        {"is_matryoshka": True},
        why="its config does not say that its vectors may be cut; without it `dimensions` is a 400",
        source=source,
    )


def _jina_v5(size: str, since: str, source: str) -> Row:
    return Row(
        name=f"jina-embeddings-v5-text-{size}",
        pattern=called(f"jina-embeddings-v5-text-{size}"),
        example=f"jinaai/jina-embeddings-v5-text-{size}",
        task="embed",
        since=since,
        parts=(POOLING, remote_code("vllm-project/recipes Jina")),
        notes=(
            Note(
                'one task a server, retrieval if nothing is said; `--hf-overrides \'{"jina_task":'
                ' "text-matching"}\'`, or classification or clustering, chooses another',
                JINA_V5,
            ),
            Note(f"vLLM {since} is the first that serves it", source),
        ),
    )


def _remote(example: str, *notes: Note, since: str | None = None) -> Row:
    name = example.rpartition("/")[2]
    return Row(
        name=name,
        pattern=called(name),
        example=example,
        task="embed",
        since=since,
        parts=(POOLING, remote_code(f"card: {example}")),
        notes=notes,
    )


def _template(name: str) -> Note:
    place = f"examples/pooling/embed/template/{name}"
    return Note(f"messages with images want --chat-template {place}", f"vllm-project/vllm {place}")


REMOTE: tuple[Row, ...] = (
    _remote("nomic-ai/nomic-embed-text-v1"),
    _remote("nomic-ai/nomic-embed-text-v1.5"),
    _remote("nomic-ai/nomic-embed-text-v2-moe"),
    _remote("Snowflake/snowflake-arctic-embed-m-long"),
    _remote("Snowflake/snowflake-arctic-embed-m-v2.0"),
    _remote("Alibaba-NLP/gte-Qwen2-1.5B-instruct"),
    _remote("Alibaba-NLP/gte-Qwen2-7B-instruct"),
    _remote("NovaSearch/stella_en_1.5B_v5"),
    _remote(
        "nvidia/llama-nemotron-embed-vl-1b-v2", _template("nemotron_embed_vl.jinja"), since="0.17.0"
    ),
    _remote("TIGER-Lab/VLM2Vec-Full", _template("vlm2vec_phi3v.jinja")),
    _remote("MrLight/dse-qwen2-2b-mrl-v1", _template("dse_qwen2_vl.jinja")),
)

EMBEDDERS: tuple[Row, ...] = (
    *REMOTE,
    Row(
        name="voyage-4-nano",
        pattern=called("voyage-4-nano"),
        example="voyageai/voyage-4-nano",
        task="embed",
        parts=(
            POOLING,
            overrides(
                {"architectures": ["VoyageQwen3BidirectionalEmbedModel"], "num_labels": 2048},
                why="its config names a class that looks one way alone, and not its width",
                source="vllm-project/vllm tests/models/language/pooling_mteb_test/test_voyage.py",
                without="the server serves another class, whose vectors are not its own",
            ),
        ),
    ),
    Row(
        name="Qwen3-Embedding",
        pattern=called("qwen3-embedding"),
        example="Qwen/Qwen3-Embedding-0.6B",
        task="embed",
        parts=(POOLING, _flagged("QwenLM/Qwen3-Embedding examples/qwen3_embedding_vllm.py")),
        notes=(
            Note(
                "before 0.26.0 long inputs come back wrong where they are prefilled in chunks"
                " under torch.compile: upgrade, or add --enforce-eager",
                "vLLM PR #48901",
            ),
        ),
    ),
    Row(
        name="Qwen3-VL-Embedding",
        pattern=called("qwen3-vl-embedding"),
        example="Qwen/Qwen3-VL-Embedding-2B",
        task="embed",
        parts=(
            POOLING,
            Part(
                flags=("--convert", "embed"),
                why="it is stored as a generative model",
                source="vllm-project/vllm examples/pooling/embed/vision_embedding_online.py",
            ),
        ),
    ),
    Row(
        name="bge-m3",
        pattern=called("bge-m3"),
        example="BAAI/bge-m3",
        task="embed",
        parts=(POOLING,),
        notes=(
            LONG_TEXTS,
            Note("it was not trained to be cut: `dimensions` is a 400, by design", MATRYOSHKA),
            Note(
                'sparse weights and token vectors: `--hf-overrides \'{"architectures":'
                ' ["BgeM3EmbeddingModel"]}\'` and, from 0.20.0, one of'
                " `--pooler-config.task embed`, token_classify or token_embed a server",
                SPECIFIC,
            ),
        ),
    ),
    Row(
        name="jina-embeddings-v3",
        pattern=called("jina-embeddings-v3"),
        example="jinaai/jina-embeddings-v3",
        task="embed",
        parts=(POOLING, remote_code(SPECIFIC)),
        notes=(
            Note("only its text-matching adapter is merged; retrieval is weaker", SPECIFIC),
            LONG_TEXTS,
        ),
    ),
    Row(
        name="jina-embeddings-v4-vllm",
        pattern=r"jina-embeddings-v4-vllm-(retrieval|text-matching|code)",
        example="jinaai/jina-embeddings-v4-vllm-retrieval",
        task="embed_tokens",
        parts=(
            POOLING,
            Part(
                settings={"--pooler-config": {"pooling_type": "ALL"}},
                without="the server keeps the last token alone",
                fatal=True,
                why="a vector is the mean of all tokens, which the client takes",
                source="card: jinaai/jina-embeddings-v4-vllm-retrieval",
            ),
            Part(
                settings={"--pooler-config": {"task": "token_embed"}},
                since="0.20.0",
                without="the server chooses embed over token_embed",
                fatal=True,
                why="from 0.20.0 a server does one pooling task, and would choose embed",
                source=f"{VLLM}config/model.py, `get_pooling_task`",
            ),
            Part(
                flags=("--dtype", "float16"),
                why="as its makers serve it",
                source="card: jinaai/jina-embeddings-v4-vllm-retrieval",
            ),
        ),
        notes=(
            Note(
                "vectors are made by the client:"
                " `client.embed_tokens(texts, normalize=False).mean()`",
                "vllm-project/vllm examples/pooling/token_embed/jina_embeddings_v4_offline.py",
            ),
        ),
    ),
    _jina_v5("small", "0.20.0", "vLLM PR #39575"),
    _jina_v5("nano", "0.27.0", "vLLM PR #50688"),
    Row(
        name="Qwen2-7B-Instruct-embed-base",
        pattern=called("qwen2-7b-instruct-embed-base"),
        example="ssmits/Qwen2-7B-Instruct-embed-base",
        task="embed",
        parts=(
            POOLING,
            Part(
                settings={"--pooler-config": {"pooling_type": "MEAN"}},
                without="the server pools the last token, for which it was not trained",
                fatal=True,
                why="its Sentence-Transformers config does not say that it pools the mean",
                source=f"{DOCS}embed.md",
            ),
        ),
    ),
    Row(
        name="gte-multilingual-base",
        pattern=called("gte-multilingual-base"),
        example="Alibaba-NLP/gte-multilingual-base",
        task="embed",
        parts=(
            POOLING,
            overrides(
                {"architectures": ["GteNewModel"]},
                why="its config names a class that vLLM has under another name",
                source=SPECIFIC,
                without="the server does not know its class",
            ),
            remote_code(SPECIFIC),
        ),
    ),
    Row(
        name="arctic-embed-m-v1.5",
        pattern=called("snowflake-arctic-embed-m-v1.5"),
        example="Snowflake/snowflake-arctic-embed-m-v1.5",
        task="embed",
        parts=(
            POOLING,
            overrides(
                {"matryoshka_dimensions": [256]},
                why="its config does not say that its vectors may be cut, to 256 numbers",
                source=f"{DOCS}embed.md",
            ),
        ),
    ),
)
