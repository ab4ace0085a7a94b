"""The layer under the friendly methods: any request model, sent as it is."""

from __future__ import annotations

from .._context import Context
from .._flow import Flow, Response
from .._wire import RequestModel


def send(context: Context, /, request: RequestModel) -> Flow[Response]:
    """Send one request body, checked by the gates, and give the server's own answer.

    Args:
        request: Such as `EmbeddingRequest(input=["a text"])`. Without a `model`, the one that is
            served is meant.

    Returns:
        The answer: `.status`, `.headers`, `.content`, `.json()`, and `.findings` (what was
        doubtful about the request).

    Raises:
        InvalidRequestError: The server's release or model does not take it. Nothing is sent.
        UnsupportedTaskError: No configured server does this.
        APIStatusError: The server answered 4xx or 5xx.
    """
    target = yield from context.find(type(request), request.model)
    if request.model is None:
        request = request.model_copy(update={"model": target.model})
    return (yield from target.post(request))
