"""The fate of each setting of a request: its source, its place in the body, and the notes that
concern it.

Nothing is known here of protocols: the body's values and the notes have the origins of the settings
that they come from, and are found by them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

from tui_chat.compose import Composed, compose
from tui_chat.context import Inputs, SessionSettings
from tui_chat.context.inputs import context_limit, parameters, reply_reserve
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import Note, Parameters
from tui_chat.models.payload import Arr, Obj, Str, Tree, plain
from tui_chat.models.request_edit import json_pointer
from tui_chat.models.settings import (
    CONTEXT_SETTINGS,
    SETTINGS,
    AuthorNote,
    LoreRules,
    ResponseFormat,
    Settings,
    ToolChoice,
    WebSearch,
    setting_text,
)
from tui_chat.models.text import GLUE, Origin, OriginKind

EXAMPLES = Settings(
    effort="high", reasoning_budget=4096, reasoning_summary="auto", temperature=0.7, top_p=0.9,
    top_k=40, max_tokens=2000, stop=("END",), seed=7, presence_penalty=0.5, frequency_penalty=0.5,
    verbosity="low", response_format=ResponseFormat("schema", {"type": "object"}, name="answer"),
    web_search=WebSearch(), parallel_tool_calls=False, tool_choice=ToolChoice("required"),
    service_tier="default", user_id="kim", logprobs=2, context_limit=8000, reply_reserve=1000,
    author_note=AuthorNote("Keep it short."), user_name="Kim", char_name="Aria",
    lore=LoreRules(names=True, budget_percent=25), global_variables={"mood": "calm"},
)  # fmt: skip
"""A usual value of each setting."""


@dataclass(frozen=True, slots=True)
class SentValue:
    """A value in the body."""

    pointer: str
    """JSON pointer; the path of the URL in angle brackets if it is not in the body."""
    text: str
    """As compact JSON."""


@dataclass(frozen=True, slots=True)
class SettingReport:
    """A setting of a request, and what became of it."""

    name: str
    value: str
    """As a person writes it; as compact JSON if the protocol or the captured request has it."""
    origin: Origin
    sent: tuple[SentValue, ...] = ()
    notes: tuple[Note, ...] = ()
    """The notes that say why it is not sent, or was changed."""
    is_set: bool = True
    """False if nobody set it and the protocol requires it, or the program sends it always."""

    @property
    def by(self) -> str:
        """Its source: `set by the role NAME`, `from the captured request`."""
        return self.origin.name.removeprefix(self.origin.id).lstrip(",: ")

    @property
    def source(self) -> str:
        """Its source in short: `session`, `preset NAME`, `role NAME`, `endpoint NAME`."""
        return self.by.removeprefix("set by the ")

    @property
    def outcome(self) -> str:
        """Its fate: its places in the body with values, `not sent`, or `nothing to send`."""
        if self.name in CONTEXT_SETTINGS:
            return "decides what is sent"
        if not self.sent:
            return "not sent" if self.notes else "nothing to send"
        return ", ".join(f"{value.pointer} {value.text}" for value in self.sent)

    @property
    def sentence(self) -> str:
        """The setting, who set it, and what became of it, in sentences."""
        places = ", ".join(f"{value.text} at {value.pointer}" for value in self.sent)
        outcome = f"sent as {places}" if places else self.outcome
        sentences = (note.sentence for note in self.notes)
        return " ".join((f"{self.name}: {self.value}, {self.by}; {outcome}.", *sentences))


def report_settings(composed: Composed) -> tuple[SettingReport, ...]:
    """Return what became of each setting of a request: first those that somebody set, in the order
    of `Parameters`, then those that the body has besides.
    """
    values_by_origin: dict[Origin, list[SentValue]] = {}
    for pointer, node, origin in _setting_nodes(composed.encoded.tree):
        values_by_origin.setdefault(origin, []).append(SentValue(pointer, _compact(plain(node))))
    reports: list[SettingReport] = []
    for name, setting, origin in set_parameters(composed.envelope.parameters):
        sent = values_by_origin.pop(_setting_of(origin), [])
        value = setting_text(setting)
        if not sent and name == "model" and value and value in composed.encoded.path:
            sent = [SentValue(f"<{composed.encoded.path}>", _compact(value))]
        notes = _notes(composed, origin)
        reports.append(SettingReport(name, value, origin, tuple(sent), notes))
    named = {report.name for report in reports}
    for origin, sent in values_by_origin.items():
        if origin.id not in named:  # else a text that a setting puts in front of the messages
            texts, notes = sent[0].text, _notes(composed, origin)
            report = SettingReport(origin.id, texts, origin, tuple(sent), notes, is_set=False)
            reports.append(report)
    return tuple(reports)


def settings_with_example(settings: SessionSettings, name: str) -> SessionSettings:
    """Return settings with a usual value of one; the summary of reasoning needs an effort."""
    names = (name, "effort") if name == "reasoning_summary" else (name,)
    return replace(settings, **{name: getattr(EXAMPLES, name) for name in names})


def refused_settings(inputs: Inputs) -> dict[str, str]:
    """Return the settings that would not be sent to the model of a request if they were set, by
    name, each with the reason.

    Each is tried alone, so this composes a request for each: without the conversation and the
    preset's messages, which decide nothing here.
    """
    preset = replace(inputs.preset, messages=())
    empty = replace(inputs, history=(), draft="x", draft_parts=(), lorebooks=(), preset=preset)
    reasons: dict[str, str] = {}
    for name in SETTINGS.keys() - CONTEXT_SETTINGS:
        tried = compose(replace(empty, settings=settings_with_example(inputs.settings, name)))
        report = next(report for report in report_settings(tried) if report.name == name)
        if not report.sent and report.notes:
            reasons[name] = report.notes[0].sentence
    return reasons


def inherited_settings(inputs: Inputs) -> dict[str, tuple[str, str]]:
    """Return what holds for a request where its session sets nothing: the values as a person
    writes them, each with where it comes from, by name, `model` included. The reply's reserve
    follows the limits that the session sets.
    """
    below = replace(inputs, settings=SessionSettings())
    resolved = parameters(below)
    limit = context_limit(below, resolved)
    unreserved = replace(inputs, settings=replace(inputs.settings, reply_reserve=None))
    limits = parameters(unreserved)
    reserve = reply_reserve(unreserved, limits, context_limit(unreserved, limits))
    profile, role = below.profile, below.role
    values = {
        "context_limit": ("" if limit is None else str(limit), "known for this model"),
        "reply_reserve": (str(reserve), "max_tokens" if limits.values.max_tokens else "default"),
        "user_name": (below.user_name, f"profile {profile.name}" if profile else "default"),
        "char_name": (below.char_name, f"role {role.name}" if role else "default"),
    }
    for name, value, origin in set_parameters(resolved):
        report = SettingReport(name, setting_text(value), origin)
        values[name] = report.value, report.source
    return {name: value for name, value in values.items() if value[0] or name != "context_limit"}


def set_parameters(parameters: Parameters) -> Iterator[tuple[str, Any, Origin]]:
    """Yield the name, value and origin of each setting that is set; the model is the first."""
    names = sorted((field.name for field in fields(parameters.values)), key="model".__ne__)
    for name in names:
        value = getattr(parameters.values, name)
        if value is not None and name != "stream":
            yield name, value, parameters.origin(name)


def _notes(composed: Composed, origin: Origin) -> tuple[Note, ...]:
    return tuple(note for note in composed.notes if note.origin == origin)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _setting_nodes(
    tree: Tree, pointer: str = "", around: Origin = GLUE
) -> Iterator[tuple[str, Tree, Origin]]:
    """Yield a body's nodes that come from a setting of their own, without messages."""
    origin = _setting_of(_origin_of(tree))
    if origin.kind is OriginKind.SETTING and origin != around:
        yield pointer, tree, origin
        around = origin
    if isinstance(tree, Obj):
        for key, value in tree.items:
            yield from _setting_nodes(value, pointer + json_pointer((key,)), around)
    elif isinstance(tree, Arr) and not (tree.items and _is_message(tree.items[0])):
        for index, value in enumerate(tree.items):
            yield from _setting_nodes(value, f"{pointer}/{index}", around)


def _setting_of(origin: Origin) -> Origin:
    """Return the setting whose value was edited by hand; any other origin as it is."""
    is_edited = origin.kind is OriginKind.EDIT and origin.within is not None
    return origin.within or origin if is_edited else origin


def _is_message(tree: Tree) -> bool:
    """Return True if a node has text of a turn."""
    if isinstance(tree, Obj | Arr):
        inner = [value for _, value in tree.items] if isinstance(tree, Obj) else tree.items
        return any(map(_is_message, inner)) or tree.origin.kind not in _STRUCTURE
    return _origin_of(tree).kind not in _STRUCTURE


_STRUCTURE = frozenset({OriginKind.SETTING, OriginKind.GLUE, OriginKind.TOOL})


def _origin_of(tree: Tree) -> Origin:
    if isinstance(tree, Str):
        return tree.text.spans[0].origin if tree.text.spans else GLUE
    return tree.origin
