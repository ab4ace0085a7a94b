"""Small PDFs, written by hand: a box on each page, encrypted if wanted."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

PAD = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")
ID = bytes(range(16))


def pdf(
    pages: int = 1,
    *,
    size: tuple[float, float] = (200, 100),
    boxes: Sequence[tuple[float, float, float, float]] = ((20, 10, 60, 40),),
    rotate: int = 0,
    password: str | None = None,
) -> bytes:
    """Each page is white, with black boxes (x0, y0, x1, y1), of units from the top left.

    The grey of page n's first box is n, so pages can be told apart.
    """
    kids = [4 + 2 * n for n in range(pages)]
    objects = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: b"<< /Type /Pages /Count %d /Kids [%s] >>"
        % (pages, b" ".join(b"%d 0 R" % kid for kid in kids)),
    }
    key, encryption = _encryption(password) if password else (None, b"")
    if encryption:
        objects[3] = encryption
    for place, kid in enumerate(kids):
        words = b"".join(
            b"%.3f g %g %g %g %g re f " % (place / 255, x0, size[1] - y1, x1 - x0, y1 - y0)
            for x0, y0, x1, y1 in boxes
        )
        content = _rc4(_object_key(key, kid + 1), words) if key else words
        objects[kid] = (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %g %g] /Rotate %d /Contents %d 0 R >>"
            % (*size, rotate, kid + 1)
        )
        objects[kid + 1] = b"<< /Length %d >> stream\n%s\nendstream" % (len(content), content)
    return _file(objects, encrypted=bool(encryption))


def _file(objects: dict[int, bytes], *, encrypted: bool) -> bytes:
    written, places = b"%PDF-1.4\n", {}
    for number, content in sorted(objects.items()):
        places[number] = len(written)
        written += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(
        b"%d 1\n%010d 00000 n \n" % (number, place) for number, place in places.items()
    )
    encrypt = b"/Encrypt 3 0 R " if encrypted else b""
    ids = b"/ID [<%s> <%s>]" % ((ID.hex().encode(),) * 2)
    trailer = b"<< /Size %d /Root 1 0 R %s%s >>" % (max(places) + 1, encrypt, ids)
    end = b"trailer\n%s\nstartxref\n%d\n%%%%EOF\n" % (trailer, len(written))
    return written + b"xref\n0 1\n0000000000 65535 f \n" + table + end


def _encryption(password: str) -> tuple[bytes, bytes]:
    """The key, and the dictionary: the standard security handler, revision 2."""
    padded = (password.encode() + PAD)[:32]
    owner = _rc4(hashlib.md5(padded).digest()[:5], padded)
    allowed = (-4).to_bytes(4, "little", signed=True)
    key = hashlib.md5(padded + owner + allowed + ID).digest()[:5]
    user = _rc4(key, PAD)
    words = (owner.hex().encode(), user.hex().encode())
    return key, b"<< /Filter /Standard /V 1 /R 2 /O <%s> /U <%s> /P -4 >>" % words


def _object_key(key: bytes, number: int) -> bytes:
    return hashlib.md5(key + number.to_bytes(3, "little") + b"\0\0").digest()[: len(key) + 5]


def _rc4(key: bytes, data: bytes) -> bytes:
    state, j = list(range(256)), 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    out, i, j = bytearray(), 0, 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)
