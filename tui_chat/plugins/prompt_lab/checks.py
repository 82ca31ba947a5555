"""Checks of replies: which there are, and what they decide.

1. Names and meanings are those of promptfoo, so that its lists can be used as they are. Ours are
   `tokens`, `first-token`, `cache-hit` and `no-notes`.
2. Each can be negated by `not-`.
3. What cannot be decided (a price that is not known, a judge that failed) is neither passed nor
   failed, also when negated: its cell has an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Annotated, Any, Literal, TypeAlias

from tui_chat.context.patterns import BadPattern, Pattern
from tui_chat.errors import InputError, install_advice
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import CallBlock
from tui_chat.models.boundary import Accepts, Check, Forms, Range, read
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.json_text import JsonError, as_array, decode_json
from tui_chat.plugins.prompt_lab.values import Cell, CellReply, ReplyCheck, Verdict


class Undecidable(Exception):
    """A check cannot be decided; the message is the reason."""


Decision: TypeAlias = tuple[bool, str]
"""Whether a check passed, before it is negated, and why."""


# What files may write


def listed(value: Any) -> Any:
    """Return the texts of a list, which may be written as a text with commas."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return [_text_of(part) for part in as_array(value)] or value


def plain_text(value: Any) -> str:
    """Return a value of JSON as JavaScript writes it as text."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _text_of(value: Any) -> Any:
    return plain_text(value) if isinstance(value, int | float) else value


def _pattern(source: str) -> str:
    try:
        _compiled(source)
    except BadPattern as error:
        raise ValueError(f"must be a regular expression of JavaScript; it {error}") from None
    return source


@lru_cache(maxsize=256)
def _compiled(source: str) -> Pattern:
    return Pattern(source)


@dataclass(frozen=True, slots=True)
class _WordRange:
    min: Annotated[int | None, Range(0)] = None
    max: Annotated[int | None, Range(0)] = None


def _word_range(value: Any) -> Any:
    if isinstance(value, str) and (match := re.fullmatch(r"(\d*)\s*(?:[-,]\s*(\d*))?", value)):
        low, high = match[1], match[1] if match[2] is None else match[2]
        value = {"min": int(low) if low else None, "max": int(high) if high else None}
    elif type(value) is int:
        value = {"min": value, "max": value}
    return value


def _schema(value: Any) -> Any:
    """Return a schema that is written as a text, as in a column of a table."""
    if isinstance(value, str):
        try:
            return decode_json(value)
        except JsonError as error:
            raise ValueError(f"must be a JSON Schema; it {error.sentence}") from None
    return value


_Text = Annotated[str, Forms(_text_of, also="a number")]
TextList = Annotated[tuple[str, ...], Forms(listed, also="a text with commas")]
_Words = Annotated[_WordRange, Forms(_word_range, also="a number of words, or two with a hyphen")]
_Schema = Annotated[dict[str, Any], Forms(_schema), Accepts("a JSON Schema")]


# What is decided


def _quoted(text: str) -> str:
    return f"“{text[:80]}{'…' if len(text) > 80 else ''}”"


def _equals(check: ReplyCheck, cell: Cell) -> Decision:
    text, value = _text(cell), check.value
    if isinstance(value, dict | list):
        parsed = _json(text)
        if parsed is None:
            return False, "The reply is not JSON."
        is_equal = parsed[0] == value
        return is_equal, f"The reply is {'equal' if is_equal else 'other'} JSON."
    value = plain_text(value)
    if text == value:
        return True, "The reply is equal."
    return False, f"The reply is {_quoted(text)}, not {_quoted(value)}."


def _contains(check: ReplyCheck, cell: Cell, *, fold: bool, all_of: bool) -> Decision:
    text = _text(cell).lower() if fold else _text(cell)
    parts = [plain_text(part) for part in as_array(check.value) or [check.value]]
    missing = [part for part in parts if (part.lower() if fold else part) not in text]
    if all_of:
        named = ", ".join(map(_quoted, missing or parts))
        return not missing, f"{named} {'is missing' if missing else 'occurs'}."
    present = [part for part in parts if part not in missing]
    named = ", ".join(map(_quoted, present or parts))
    return bool(present), f"{named} {'occurs' if present else 'does not occur'}."


def _starts_with(check: ReplyCheck, cell: Cell) -> Decision:
    text, start = _text(cell), plain_text(check.value)
    passed = text.startswith(start)
    return passed, f"The reply begins with {_quoted(text[: max(len(start), 20)])}."


def _regex(check: ReplyCheck, cell: Cell) -> Decision:
    pattern, text = _compiled(check.value), _text(cell)
    passed = pattern.occurs_in(text)
    return passed, f"{_quoted(check.value)} {'matches' if passed else 'does not match'}."


def _word_count(check: ReplyCheck, cell: Cell) -> Decision:
    words = len(_text(cell).split())
    limits: _WordRange = read(_Words, check.value)
    low, high = limits.min or 0, limits.max
    passed = low <= words and (high is None or words <= high)
    return passed, f"The reply has {words:,} word{'s' * (words != 1)}."


def _is_json(check: ReplyCheck, cell: Cell) -> Decision:
    value = _json(_text(cell))
    if value is None:
        return False, "The reply is not JSON."
    fault = _schema_fault(check.value, value[0])
    return not fault, fault or "The reply is JSON."


def _contains_json(check: ReplyCheck, cell: Cell) -> Decision:
    faults = [_schema_fault(check.value, value) for value in json_in(_text(cell))]
    if not faults:
        return False, "No JSON object or list occurs."
    passed = "" in faults
    return passed, "JSON occurs." if passed else faults[0]


def _json(text: str) -> tuple[Any] | None:
    """Return the value that a text is, as the only item; None if it is not JSON."""
    try:
        return (decode_json(text.strip()),)
    except JsonError:
        return None


def json_in(text: str) -> Iterator[Any]:
    """Yield the objects and lists that occur in a text."""
    import json

    decoder, place = json.JSONDecoder(), 0
    while match := re.compile(r"[{\[]").search(text, place):
        try:
            value, place = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            place = match.end()
            continue
        yield value


def _schema_fault(schema: Any, value: Any) -> str:
    """Return what of a value a schema does not allow, as a sentence; empty without a schema."""
    if schema is None:
        return ""
    validator = schema_validator(_schema(schema))
    fault = next(iter(validator.iter_errors(value)), None)
    return "" if fault is None else f"{fault.json_path}: {fault.message}."


def schema_validator(schema: Any) -> Any:
    """Return the validator of a JSON Schema. Raises InputError if it is none, or without the extra
    `eval`.
    """
    try:
        from jsonschema import SchemaError
        from jsonschema.validators import validator_for
    except ImportError:
        raise InputError(
            "A JSON Schema needs the package jsonschema.", advice=install_advice("tui-chat[eval]")
        ) from None
    kind: Any = validator_for(schema)
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        raise InputError(f"The JSON Schema is wrong: {error.json_path}: {error.message}") from None
    return kind(schema)


def _at_most(
    check: ReplyCheck, cell: Cell, *, of: Callable[[CellReply], float | None], unit: str
) -> Decision:
    value = of(_reply(cell))
    if value is None:
        raise Undecidable(f"The {check.type} of this reply is unknown.")
    passed = value <= (check.threshold or 0)
    number = f"{value:,.6f}".rstrip("0").rstrip(".")
    return passed, f"{number} {unit}, {'at most' if passed else 'more than'} {check.threshold:g}."


def _tokens(check: ReplyCheck, cell: Cell) -> Decision:
    count: int | None = getattr(_reply(cell).usage, check.value)
    if count is None:
        raise Undecidable(f"The provider reported no {check.value} tokens.")
    passed = count <= (check.threshold or 0)
    return passed, f"{count:,} {check.value} tokens."


def _cache_hit(check: ReplyCheck, cell: Cell) -> Decision:
    usage = _reply(cell).usage
    if usage.cached is None or not usage.input:
        raise Undecidable("The provider reported no cached tokens.")
    share = usage.cached / usage.input
    return share >= (check.threshold or 0), f"{share:.0%} of the input was cached."


def _finish_reason(check: ReplyCheck, cell: Cell) -> Decision:
    reply = _reply(cell)
    passed = check.value.lower() in (reply.reason, reply.finish.lower())
    return passed, f"The reply ended with {_quoted(reply.finish or 'no reason')}."


_REFUSAL = re.compile(
    r"\s*(?:(?:i['’]?m|i am) (?:(?:very|really|truly|so) )?(?:sorry|afraid)\b"
    r"|(?:i['’]?m|i am) (?:not able|unable|not allowed|not permitted)\b"
    r"|(?:sorry|unfortunately|apologies|i apologi[sz]e)\b.{0,40}"
    r"\bi (?:can(?:['’]?t|not)|won['’]?t)\b"
    r"|i (?:can(?:['’]?t|not)|won['’]?t|must decline|have to decline|refuse to)\b"
    r"|as an? (?:ai|artificial intelligence|(?:large )?language model)\b)",
    re.I,
)


def _is_refusal(check: ReplyCheck, cell: Cell) -> Decision:
    del check
    reply = _reply(cell)
    if reply.refusal or reply.reason in ("refusal", "content_filter"):
        return True, "The provider marked a refusal."
    is_empty = not reply.text.strip() and not reply.calls
    passed = is_empty or _REFUSAL.match(reply.text) is not None
    return passed, f"The reply {'reads' if passed else 'does not read'} like a refusal."


def _no_notes(check: ReplyCheck, cell: Cell) -> Decision:
    levels = ("error",) if check.value == "error" else ("error", "warning")
    notes = [sentence for level, sentence in cell.notes if level in levels]
    return not notes, " ".join(notes[:3]) or f"The request has no {check.value}."


def _ask_judge(check: ReplyCheck, cell: Cell) -> Decision:
    del check, cell
    raise Undecidable("No judge was asked.")


def _calls(check: ReplyCheck, cell: Cell, tools: Iterable[ToolDefinition]) -> Decision:
    """Decide whether all tool calls of a reply are valid; there must be one."""
    del check
    calls = _reply(cell).calls
    if not calls:
        return False, "The reply calls no tool."
    faults = [fault for call in calls if (fault := _call_fault(call, tools))]
    names = ", ".join(call.name for call in calls)
    return not faults, " ".join(faults) or f"The calls are valid: {names}."


def _call_fault(call: CallBlock, tools: Iterable[ToolDefinition]) -> str:
    tool = next((each for each in tools if each.name == call.name), None)
    if tool is None:
        return f"The request declares no tool {_quoted(call.name)}."
    arguments = _json(call.arguments or "{}")
    if arguments is None:
        return f"The arguments of {_quoted(call.name)} are not JSON."
    if tool.dialect != "json":
        raise Undecidable(f"The schema of {_quoted(call.name)} is in Gemini's form.")
    fault = _schema_fault(tool.parameters or None, arguments[0])
    return f"{_quoted(call.name)}: {fault}" if fault else ""


def _reply(cell: Cell) -> CellReply:
    assert cell.reply is not None  # checked by `verdict_of`
    return cell.reply


def _text(cell: Cell) -> str:
    return _reply(cell).text


@dataclass(frozen=True, slots=True)
class CheckKind:
    """A kind of check."""

    decide: Callable[..., Decision]
    """Takes the check, the cell, and with `takes_tools` the tools that the request declares."""
    value: Any = None
    """The type of its value; None if it has none."""
    needs_value: bool = True
    threshold: bool = False
    """True if it needs a threshold."""
    takes_tools: bool = False


_Pattern = Annotated[str, Check(_pattern)]
_CALL_NAMES = (
    "is-valid-function-call",
    "is-valid-openai-function-call",
    "is-valid-openai-tools-call",
)
"""Names of one check: what a call looks like is the protocol's."""
_Counts = Literal["input", "output", "reasoning", "cached", "cache_write"]

CHECKS: Mapping[str, CheckKind] = {
    "equals": CheckKind(_equals, Any),
    "contains": CheckKind(partial(_contains, fold=False, all_of=True), _Text),
    "icontains": CheckKind(partial(_contains, fold=True, all_of=True), _Text),
    "contains-any": CheckKind(partial(_contains, fold=False, all_of=False), TextList),
    "contains-all": CheckKind(partial(_contains, fold=False, all_of=True), TextList),
    "icontains-any": CheckKind(partial(_contains, fold=True, all_of=False), TextList),
    "icontains-all": CheckKind(partial(_contains, fold=True, all_of=True), TextList),
    "starts-with": CheckKind(_starts_with, _Text),
    "regex": CheckKind(_regex, _Pattern),
    "word-count": CheckKind(_word_count, _Words),
    "is-json": CheckKind(_is_json, _Schema, needs_value=False),
    "contains-json": CheckKind(_contains_json, _Schema, needs_value=False),
    "cost": CheckKind(
        partial(
            _at_most,
            of=lambda reply: None if reply.cost is None else float(reply.cost),
            unit="dollars",
        ),
        threshold=True,
    ),
    "latency": CheckKind(
        partial(_at_most, of=lambda reply: reply.seconds * 1000, unit="ms"), threshold=True
    ),
    "first-token": CheckKind(
        partial(_at_most, of=lambda reply: reply.first and reply.first * 1000, unit="ms"),
        threshold=True,
    ),
    "tokens": CheckKind(_tokens, _Counts, threshold=True),
    "cache-hit": CheckKind(_cache_hit, threshold=True),
    "finish-reason": CheckKind(_finish_reason, str),
    "is-refusal": CheckKind(_is_refusal),
    **dict.fromkeys(_CALL_NAMES, CheckKind(_calls, takes_tools=True)),
    "no-notes": CheckKind(_no_notes, Literal["error", "warning"]),
    "llm-rubric": CheckKind(_ask_judge, str),
}
"""All kinds of checks by name."""


# Verdicts


def verdict_of(check: ReplyCheck, cell: Cell, tools: Collection[ToolDefinition] = ()) -> Verdict:
    """Return the result of a check of the reply of a cell, whose request declares `tools`."""
    kind = CHECKS[check.type]
    try:
        passed, reason = kind.decide(check, cell, *([tools] if kind.takes_tools else []))
    except (Undecidable, InputError) as error:
        return undecided(check, str(error))
    passed = passed is not check.negated
    return Verdict(check.label, passed, reason, float(passed), check.weight)


def undecided(check: ReplyCheck, reason: str) -> Verdict:
    """Return the verdict of a check that could not be decided."""
    return Verdict(check.label, False, reason, 0.0, check.weight, failed=True)


def total(verdicts: Iterable[Verdict], threshold: float | None) -> tuple[bool, float]:
    """Return whether a reply passed, and its score: the weighted mean of the scores. Without a
    threshold every check must pass that has a weight.
    """
    weighted = [verdict for verdict in verdicts if verdict.weight]
    weight = sum(verdict.weight for verdict in weighted)
    score = sum(verdict.score * verdict.weight for verdict in weighted) / weight if weight else 1.0
    if threshold is not None:
        return score >= threshold, score
    return all(verdict.passed for verdict in weighted), score
