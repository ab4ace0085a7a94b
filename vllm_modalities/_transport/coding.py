"""Bodies that come compressed, although nobody asked for that."""

from __future__ import annotations

import zlib

from .http1 import MalformedError, Reader

SMALL = 64 * 2**20  # bytes that a body may have in any case
RATIO = 100  # times its compressed size that it may have beyond that; JSON and text stay far below


def unpacked(reader: Reader) -> bytearray | bytes:
    """An answer's body as it was before it was compressed.

    Raises:
        MalformedError: It is not what its header says, or would be absurdly large.
    """
    body, coding = reader.body, reader.headers.get("content-encoding", "identity").lower()
    if coding == "identity" or not body:
        return body
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise MalformedError(f"a body encoded as {coding!r}, which was not asked for")
    most = max(SMALL, RATIO * len(body))
    unpack = zlib.decompressobj(wbits=47)  # gzip's or zlib's header, whichever there is
    try:
        found = unpack.decompress(body, most)
    except zlib.error as error:
        raise MalformedError(f"a body that is not {coding}: {error}") from None
    if not unpack.eof or unpack.unused_data:
        what = f"more than {most} bytes of it" if unpack.unconsumed_tail else "not all of it"
        raise MalformedError(f"a body in {coding}, and {what}")
    return found
