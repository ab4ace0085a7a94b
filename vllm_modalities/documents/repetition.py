"""Find out whether a text ends in a loop, the commonest failure of OCR models.

vLLM can stop a loop itself (`repetition_detection`, since v0.17.0, vllm/sampling_params.py); this
finds the ones it was not asked to stop. It tells, and leaves the text alone: a page may really end
in fifty rows of zeros.
"""

from __future__ import annotations

# A blank form has a dozen equal rows, a dot leader a hundred dots; loops go on to `max_tokens`.
LONGEST_UNIT = 500  # characters; about four rows of a wide table
FEWEST = 10  # times in a row
SHORTEST = 500  # characters that the whole loop covers


def repeated_tail(
    text: str, *, times: int = FEWEST, length: int = SHORTEST
) -> tuple[str, int] | None:
    """The unit that `text` ends in, again and again, and how often it stands there.

    The loop may break off inside the unit, as `max_tokens` cuts it. A unit has at most 500
    characters. Time is linear in the length of the text.

    Args:
        times: How often the unit stands there at least.
        length: Characters that the whole loop covers at least.

    Returns:
        (unit, count), with the shortest unit there is; None if the text does not end in a loop.
    """
    for period in range(1, LONGEST_UNIT + 1):
        covered = max(times * period, length)
        tail = text[-covered:]
        if len(tail) < covered:
            return None
        if tail[period:] == tail[:-period]:
            start = _first(text, len(text) - covered, period)
            return text[start : start + period], (len(text) - start) // period
    return None


def _first(text: str, start: int, period: int) -> int:
    """Where the run of period `period` begins that is known to hold from `start` on."""
    unit = text[start : start + period]
    while start >= period and text[start - period : start] == unit:
        start -= period
    while start > 0 and text[start - 1] == text[start - 1 + period]:
        start -= 1
    return start
