"""Prompts and documents of servers, which sources of tools may also have.

1. Nothing is asked for before the user names the server: `/SERVER:` or `@SERVER:` in the composer.
2. A prompt becomes messages. Those up to its last reply are added to the conversation; the texts of
   the user after it go into the draft. A document is attached to the draft, as a file is.
3. What a server sends is text of somebody else: it has a ceiling, is cleaned, and keeps its origin.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.message import Message
from tui_chat.models.sanitize import one_line
from tui_chat.workspace.attachments import Attachment, attachment_of, packed_attachment
from tui_chat.workspace.branches import Branches
from tui_chat.workspace.core import WorkspaceCore
from tui_chat.workspace.tool_sources import ToolSources

MAX_PROMPT = 100_000
"""Characters of the messages of a prompt."""
_MAX_INSERTED = 20
"""Texts of prompts that are recognized in drafts."""
_QUOTED = re.compile(r'"([^"]*)"')
_WORD = re.compile(r'(?:"([^"]*)"|(\S+))(?:\s+|\Z)')


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """An argument of a prompt, which the user fills."""

    name: str
    description: str
    required: bool


@dataclass(frozen=True, slots=True)
class SourcePrompt:
    """A prompt that a server offers."""

    source: str
    """The name of the server."""
    name: str
    description: str
    arguments: tuple[PromptArgument, ...]

    @property
    def label(self) -> str:
        """Its name with that of its server."""
        return f"{self.source}:{self.name}"


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """A document that a server offers, or a template of the URIs of some."""

    source: str
    uri: str
    description: str
    is_template: bool = False


@runtime_checkable
class TextSource(Protocol):
    """A source that has prompts and documents. All may raise InputError and ProviderError."""

    async def prompts(self) -> Sequence[SourcePrompt]:
        """Return its prompts."""
        ...

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> Sequence[Message]:
        """Return the messages of a prompt, from `Brought.prompt`."""
        ...

    async def documents(self) -> Sequence[SourceDocument]:
        """Return its documents, then its templates."""
        ...

    async def read(self, uri: str) -> Sequence[bytes]:
        """Return the contents of a document: one, or several."""
        ...


class SourceTexts:
    """Asks servers for prompts and documents."""

    def __init__(self, core: WorkspaceCore, sources: ToolSources, branches: Branches) -> None:
        self.core = core
        self._sources = sources
        self._branches = branches

    async def prompts(self, server: str) -> Sequence[SourcePrompt]:
        """Return the prompts of a server. Raises InputError and ProviderError, as all here."""
        return await (await self._source(server)).prompts()

    async def documents(self, server: str) -> Sequence[SourceDocument]:
        """Return the documents of a server."""
        return await (await self._source(server)).documents()

    async def _source(self, name: str) -> TextSource:
        source = await self._sources.named(name)
        if source is None:
            advice = "To send the text as a message, begin with //."
            raise InputError(f"There is no server “{one_line(name, 40)}”.", advice=advice)
        if not isinstance(source, TextSource):
            words = source.status.sentence or f"“{name}” has neither prompts nor documents."
            raise InputError(words)
        return source

    def _require_session(self, session_id: str, label: str) -> None:
        """Raise InputError if the session was left before the server answered."""
        if self.core.state.session_id != session_id:
            raise InputError(f"{one_line(label, 80)} came after the session was left.")

    async def find_prompt(self, typed: str) -> tuple[SourcePrompt, dict[str, str]]:
        """Return the prompt that is typed as `SERVER:PROMPT ARGUMENTS`, and its arguments so far:
        words, or texts in quotation marks; the last one takes the rest.
        """
        label, _, rest = typed.strip().partition(" ")
        server, _, name = label.partition(":")
        prompts = {prompt.name: prompt for prompt in await self.prompts(server)}
        if name not in prompts:
            names = ", ".join(one_line(name, 40) for name in list(prompts)[:10]) or "none"
            sentence = f"“{server}” has no prompt “{one_line(name, 40)}”."
            raise InputError(sentence, advice=f"Its prompts: {names}.")
        return prompts[name], _typed_arguments(prompts[name], rest.strip())

    async def insert(
        self, prompt: SourcePrompt, arguments: Mapping[str, str]
    ) -> tuple[str, tuple[Attachment, ...]] | None:
        """Return the text of a prompt for the draft, and what is attached to it, after adding the
        messages before it to the conversation. None if they could not be added, which is reported.
        """
        core, session_id = self.core, self.core.state.session_id
        messages = await (await self._source(prompt.source)).prompt(prompt.name, arguments)
        self._require_session(session_id, prompt.label)
        if sum(len(message.content) for message in messages) > MAX_PROMPT:
            raise InputError(f"{prompt.label} is longer than {MAX_PROMPT:,} characters.")
        if not any(message.content.strip() or message.parts for message in messages):
            raise InputError(f"{prompt.label} is empty.")
        count = len(messages)
        while count and messages[count - 1].role == "user":
            count -= 1
        for message in messages[:count]:
            message = replace(message, timestamp=core.now().timestamp())
            if not await self._branches.append(message, session_id, done="Added"):
                return None
        draft = messages[count:]
        text = "\n\n".join(message.content for message in draft if message.content)
        if text and (brought := draft[0].about.brought) is not None:
            new = session_id, text, brought.prompt
            inserted = (new, *core.state.inserted_prompts)[:_MAX_INSERTED]
            core.update(inserted_prompts=inserted)
        parts = (part for message in draft for part in message.parts)
        return text, tuple(map(packed_attachment, parts))

    async def read(self, typed: str) -> tuple[Attachment, ...]:
        """Return a document that is typed as `SERVER:URI`; nothing if there is no such server."""
        server, _, uri = typed.partition(":")
        if not uri or await self._sources.named(server) is None:
            return ()
        session_id = self.core.state.session_id
        contents = await (await self._source(server)).read(uri)
        self._require_session(session_id, typed)
        if not contents:
            raise InputError(f"{one_line(typed)} is empty.")
        names = (
            [typed] if len(contents) == 1 else [f"{typed} {n + 1}" for n in range(len(contents))]
        )
        return tuple(map(attachment_of, names, contents))


def _typed_arguments(prompt: SourcePrompt, text: str) -> dict[str, str]:
    if text and not prompt.arguments:
        raise InputError(f"{prompt.label} takes no arguments.")
    values: dict[str, str] = {}
    for argument in prompt.arguments[:-1]:
        if (match := _WORD.match(text)) is None:
            return values
        values[argument.name] = match[2] or match[1]
        text = text[match.end() :]
    if text:
        quoted = _QUOTED.fullmatch(text)
        values[prompt.arguments[-1].name] = quoted[1] if quoted else text
    return values
