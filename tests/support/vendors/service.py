"""The offline provider behind the checks of the vendors."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from typing import Any

from tests.support.vendors.anthropic_provider import ANTHROPIC
from tests.support.vendors.gemini_provider import GEMINI
from tests.support.vendors.json_reader import parse_body
from tests.support.vendors.ollama_provider import OLLAMA
from tests.support.vendors.openai_provider import OPENAI
from tests.support.vendors.provider import Generate, ListModels, Provider, RequestContext
from tests.support.vendors.request_errors import (
    BodyTooLarge,
    InvalidJson,
    RateLimited,
    RequestError,
    RequestRefused,
    UnknownModel,
    UnknownPath,
    WrongMethod,
)
from tui_chat.models.content_encoding import decode_body
from tui_chat.offline.base_protocol import OfflineProtocol, Operation
from tui_chat.offline.http_messages import HttpRequest, HttpResponse, OfflineDependencies, Pause
from tui_chat.offline.prompt import PromptRequest
from tui_chat.offline.reply import Problem
from tui_chat.offline.script import Script
from tui_chat.offline.server import OfflineServer
from tui_chat.offline.service import MAX_BODY, OfflineService
from tui_chat.offline.transport import LoopbackTransport

VENDORS: tuple[Provider, ...] = (OLLAMA, GEMINI, ANTHROPIC, OPENAI)
"""In the order in which they are asked whether a request is theirs. The last one answers for the
rest."""

_BY_PROTOCOL: dict[str, Provider] = {
    "OpenAI Chat Completions": OPENAI,
    "OpenAI Responses": OPENAI,
    "Anthropic Messages": ANTHROPIC,
    "Gemini generateContent": GEMINI,
    "Ollama chat": OLLAMA,
}


def vendor_of(request: HttpRequest) -> Provider:
    """Return the vendor that a request is meant for."""
    for vendor in VENDORS:
        if vendor.generation(request) is not None:
            return vendor
    return next((vendor for vendor in VENDORS if vendor.owns(request)), VENDORS[-1])


class VendorService(OfflineService):
    """Answers what the vendor of a request would accept, and refuses the rest in its words."""

    async def respond(self, request: HttpRequest, pause: Pause) -> HttpResponse:
        vendor = vendor_of(request)
        try:
            response = await super().respond(request, pause)
        except RequestRefused as refused:
            return self._refused(vendor, refused.error)
        names = {name for name, _ in response.headers}
        usual = vendor.headers(vendor.request_id(self.dependencies), self.dependencies)
        more = (header for header in usual if header[0] not in names)
        return replace(response, headers=(*response.headers, *more))

    def refuse(self, protocol: OfflineProtocol, fault: Problem, id: str) -> HttpResponse:
        vendor = _BY_PROTOCOL[protocol.name]
        match fault.kind:
            case "invalid":
                return self._refused(vendor, InvalidJson(fault.message))
            case "too_large":
                return self._refused(vendor, BodyTooLarge(MAX_BODY))
            case "unknown_model":
                return self._refused(vendor, UnknownModel(fault.message.split("“")[1].rstrip("”.")))
            case "rate_limited":
                return self._refused(vendor, RateLimited(fault.seconds))
            case _:
                return super().refuse(protocol, fault, id)

    async def _answer(
        self, protocol: OfflineProtocol, request: HttpRequest, id: str, pause: Pause
    ) -> HttpResponse:
        _operation(request)
        return await super()._answer(protocol, request, id, pause)

    def _read(
        self, protocol: OfflineProtocol, operation: Operation, request: HttpRequest
    ) -> PromptRequest:
        asked = _operation(request)
        assert isinstance(asked, Generate)
        body = decode_body(request.body, request.header("content-encoding") or "", MAX_BODY)
        context = RequestContext(
            len(body), asked.model, asked.stream, asked.counting, self._responses.get
        )
        strict = asked.parse_request(parse_body(body), context)
        lenient = super()._read(protocol, operation, request)
        assert strict == lenient, "two readings of one request"
        return strict

    def _refused(self, vendor: Provider, error: RequestError) -> HttpResponse:
        id = vendor.request_id(self.dependencies)
        status, description = vendor.describe_error(error)
        body = vendor.error_body(description, id)
        special = vendor.error_headers(error, self.dependencies)
        headers: dict[str, Any] = {
            "content-type": vendor.json_type,
            "content-length": str(len(body)),
            **dict(vendor.headers(id, self.dependencies)),
            **dict(special),
        }

        async def send() -> AsyncGenerator[bytes, None]:
            yield body

        return HttpResponse(status, tuple(headers.items()), send())


def _operation(request: HttpRequest) -> Generate | ListModels:
    """Return what a request asks for. Raises RequestRefused for a wrong path, method or header."""
    vendor = vendor_of(request)
    operation = vendor.operation(request)
    if operation is None:
        raise RequestRefused(UnknownPath(request.method, request.path))
    methods = ("GET", "HEAD") if isinstance(operation, ListModels) else ("POST",)
    if request.method not in methods:
        raise RequestRefused(WrongMethod(request.method, request.path))
    if isinstance(operation, Generate):
        vendor.check_headers(request)
    return operation


class VendorTransport(LoopbackTransport):
    """The vendors inside the process; the arguments are those of `OfflineService`."""

    def __init__(
        self,
        *,
        dependencies: OfflineDependencies | None = None,
        on_request: Callable[[HttpRequest], None] | None = None,
        alias: str = "",
        script: Script | None = None,
    ) -> None:
        super().__init__(VendorService(dependencies, on_request, alias, script))


def serve(
    port: int = 0,
    host: str = "127.0.0.1",
    *,
    on_request: Callable[[HttpRequest], None] | None = None,
    dependencies: OfflineDependencies | None = None,
    alias: str = "",
    script: Script | None = None,
) -> OfflineServer:
    """Return a server of the vendors on a loopback socket; the arguments are those of the offline
    provider's.
    """
    return OfflineServer(VendorService(dependencies, on_request, alias, script), port, host)
