"""From a method and a path to what is asked of whom.

Whose error to send for a path that nobody has is told by the rest of the request: `/v1beta` or a
Google key is Gemini's, an `anthropic-version` header is Anthropic's, anything else is OpenAI's.
`GET /v1/models` is all three providers' and is told apart the same way.
"""

import re
from dataclasses import dataclass
from typing import TypeAlias

from tui_chat.offline.anthropic import house as anthropic_house
from tui_chat.offline.anthropic.hear import hear as hear_messages
from tui_chat.offline.anthropic.say import MessagesVoice
from tui_chat.offline.gemini import house as gemini_house
from tui_chat.offline.gemini.hear import hear as hear_gemini
from tui_chat.offline.gemini.say import ArrayVoice, GeminiVoice
from tui_chat.offline.house import Dialect, House
from tui_chat.offline.openai import house as openai_house
from tui_chat.offline.openai.chat_hear import hear as hear_chat
from tui_chat.offline.openai.chat_say import ChatVoice
from tui_chat.offline.openai.responses_hear import hear as hear_responses
from tui_chat.offline.openai.responses_say import ResponsesVoice
from tui_chat.offline.problems import BadMethod, NoHeader, NoRoute, Refused
from tui_chat.offline.received import Received

CHAT = Dialect(openai_house, hear_chat, ChatVoice)
RESPONSES = Dialect(openai_house, hear_responses, ResponsesVoice)
MESSAGES = Dialect(anthropic_house, hear_messages, MessagesVoice)
GEMINI = Dialect(gemini_house, hear_gemini, GeminiVoice)
GEMINI_ARRAY = Dialect(gemini_house, hear_gemini, ArrayVoice)


@dataclass(frozen=True, slots=True)
class Reply:
    """Answer as a model."""

    dialect: Dialect
    model: str = ""
    """Gemini's model and version come from the path; the others' are in the body."""
    version: str = ""
    stream: bool = False


@dataclass(frozen=True, slots=True)
class Count:
    """Say how many tokens a prompt is."""

    dialect: Dialect
    model: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class List:
    """List the models, or describe one."""

    model: str | None


Route: TypeAlias = Reply | Count | List

_POSTS: dict[str, Reply | Count] = {
    "/v1/chat/completions": Reply(CHAT),
    "/v1/responses": Reply(RESPONSES),
    "/v1/messages": Reply(MESSAGES),
    "/v1/messages/count_tokens": Count(MESSAGES),
}
_LIST = re.compile(r"/(v1|v1beta)/models(?:/([^/]+))?")
_GENERATE = re.compile(
    r"/(v1|v1beta)/models/([^/]+):(generateContent|streamGenerateContent|countTokens)"
)


def house_of(received: Received) -> House:
    """Whose manners a request expects."""
    path = received.path
    if path in _POSTS:
        return _POSTS[path].dialect.house
    if (
        path.startswith("/v1beta/")
        or _GENERATE.fullmatch(path)
        or received.header("x-goog-api-key") is not None
        or "key" in received.query
    ):
        return gemini_house
    if path.startswith("/v1/messages") or received.header("anthropic-version") is not None:
        return anthropic_house
    return openai_house


def route(received: Received) -> Route:
    """Return what a request is for; raises `Refused` for a wrong path, method or header."""
    path = received.path
    if generate := _GENERATE.fullmatch(path):
        _allow(received, "POST")
        version, model, verb = generate.groups()
        if verb == "countTokens":
            return Count(GEMINI, model, version)
        if verb == "generateContent":
            return Reply(GEMINI, model, version)
        sse = received.query.get("alt") == "sse"
        return Reply(GEMINI if sse else GEMINI_ARRAY, model, version, stream=True)
    if path in _POSTS:
        _allow(received, "POST")
        found = _POSTS[path]
        if found.dialect is MESSAGES and received.header("anthropic-version") is None:
            raise Refused(NoHeader("anthropic-version"))
        return found
    listing = _LIST.fullmatch(path)
    verb = received.method == "POST" and ":" in path  # of Gemini's, and none that is known
    if listing and not verb:
        _allow(received, "GET")
        return List(listing.group(2))
    raise Refused(NoRoute(received.method, path))


def _allow(received: Received, method: str) -> None:
    if received.method != method and (method, received.method) != ("GET", "HEAD"):
        raise Refused(BadMethod(received.method, received.path))
