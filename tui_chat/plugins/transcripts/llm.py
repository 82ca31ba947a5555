"""The log of llm (simonw/llm): its SQLite database `logs.db`.

Tables as in `llm/migrations.py` of versions to 0.32.1. A database that was upgraded has both
kinds.

1. To 0.31, `responses` has a row for each exchange. A tool result belongs to the exchange that
   received it, so it precedes that answer. The system prompt, repeated in every row, is shown
   where it changes.
2. From 0.32, `messages` are a tree by content hash, and `threads` share equal openings: threads
   that were forked from each other are one conversation here. Hashes have no order; `turns` have
   times.
3. Fragments precede the prompt that they belong to.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import Any

from tui_chat.interop.formats import FoundConversation, ImportSource
from tui_chat.interop.transcript_builder import TranscriptBuilder, parse_timestamp
from tui_chat.models.blocks import MediaBlock, ReasoningBlock
from tui_chat.models.json_text import JsonObject, as_count, as_object, as_string
from tui_chat.models.usage import Usage
from tui_chat.plugins.transcripts.foreign_database import (
    ForeignDatabase,
    database_format,
    json_column,
)
from tui_chat.plugins.transcripts.json_text import BadLine
from tui_chat.plugins.transcripts.steps import (
    Result,
    Step,
    add_steps,
    chain,
    found_conversation,
    part_of_base64,
    part_of_url,
    result_text,
)

_PROGRAM = "llm"


def _is_database(tables: frozenset[str]) -> bool:
    return {"responses", "conversations"} <= tables or {"threads", "turns", "parts"} <= tables


def _read(database: ForeignDatabase, _: ImportSource) -> Iterator[FoundConversation]:
    log = _Log(database)
    yield from log.old_conversations()
    yield from log.threads()


class _Log:
    """Reads one database."""

    def __init__(self, database: ForeignDatabase) -> None:
        self._database = database

    def _by(self, table: str, *columns: str, order: str = "rowid") -> dict[str, list[Any]]:
        """Return the rows of a table by their first column."""
        rows: dict[str, list[Any]] = {}
        for key, *values in self._database.rows(table, *columns, order=order):
            rows.setdefault(as_string(key), []).append(values)
        return rows

    def _row(self, table: str, key: str, value: object, *columns: str) -> tuple[Any, ...] | None:
        if value is None or key not in self._database.columns.get(table, ()):
            return None
        rows = self._database.rows(table, *columns, where=f'"{key}" = ?', values=(value,), order="")
        return next(rows, None)

    def _fragments(self, ids: list[Any]) -> str:
        fragments = (self._row("fragments", "id", fragment, "content") for (fragment,) in ids)
        return "\n".join(as_string(row[0]) for row in fragments if row)

    def _attachments(self, ids: list[Any], notes: list[str]) -> list[MediaBlock]:
        return [part for key in ids if (part := self._attachment(key, notes)) is not None]

    def _attachment(self, attachment_id: object, notes: list[str]) -> MediaBlock | None:
        row = self._row("attachments", "id", attachment_id, "type", "path", "url", "content")
        if row is None:
            return None
        mime, path, url, content = row
        if isinstance(content, bytes) and content:
            return part_of_base64(b64encode(content).decode(), mime)
        address = as_string(url) or as_string(path)
        return part_of_url(address, notes, mime=as_string(mime)) if address else None

    # To 0.31

    def old_conversations(self) -> Iterator[FoundConversation]:
        """Read the tables of versions to 0.31."""
        groups: dict[str, list[str]] = {}
        alone: list[str] = []
        for response, conversation in self._database.rows(
            "responses", "id", "conversation_id", order='"datetime_utc", "id"'
        ):
            if conversation is None:
                alone.append(as_string(response))
            else:
                groups.setdefault(as_string(conversation), []).append(as_string(response))
        if not groups and not alone:
            return
        attached = {
            table: self._by(table, "response_id", *columns, order=order)
            for table, columns, order in (
                ("prompt_fragments", ("fragment_id",), '"order"'),
                ("system_fragments", ("fragment_id",), '"order"'),
                ("prompt_attachments", ("attachment_id",), '"order"'),
                ("tool_calls", ("name", "arguments", "tool_call_id"), "rowid"),
                ("tool_results", ("name", "output", "tool_call_id", "exception"), "rowid"),
            )
        }
        order = {
            as_string(key): (index, as_string(name))
            for index, (key, name) in enumerate(self._database.rows("conversations", "id", "name"))
        }
        for key in sorted(groups, key=lambda key: order.get(key, (len(order), ""))[0]):
            yield self._old(key, order.get(key, (0, ""))[1], groups[key], attached)
        for response in alone:
            yield self._old(response, "", [response], attached)

    def _old(
        self, key: str, title: str, responses: list[str], attached: dict[str, dict[str, list[Any]]]
    ) -> FoundConversation:
        place = f"conversation {key[:60]}"
        tree = TranscriptBuilder(_PROGRAM, key)
        steps: list[Step] = []
        system = ""
        for response in responses:
            of = {table: rows.get(response, []) for table, rows in attached.items()}
            row = self._row(
                "responses", "id", response, "model", "prompt", "system", "response",
                "datetime_utc", "input_tokens", "output_tokens", "resolved_model", "reasoning",
            )  # fmt: skip
            if row is None:
                continue
            new = _lines(self._fragments(of["system_fragments"]), as_string(row[2]))
            is_new = bool(new) and new != system
            system = new or system
            steps += self._prompt(response, row, of, tree.notes, new if is_new else "")
            steps.append(_answer(response, row, of))
        chain(steps)
        ends = add_steps(tree, steps)
        transcript = tree.transcript(title=title, head_id=ends.get(steps[-1] if steps else None))
        return found_conversation(place, transcript, tree.notes)

    def _prompt(
        self,
        key: str,
        row: tuple[Any, ...],
        of: dict[str, list[Any]],
        notes: list[str],
        system: str,
    ) -> list[Step]:
        """Return the steps before an answer: a new system prompt, tool results, the prompt."""
        sent = parse_timestamp(row[4])
        first = Step(f"{key}/system", "system", texts=[system] if system else [], timestamp=sent)
        results = Step(f"{key}/results", "user")
        for name, output, call_id, exception in of["tool_results"]:
            results.results.append(
                Result(
                    as_string(call_id),
                    result_text(output) or as_string(exception),
                    as_string(name),
                    failed=bool(exception),
                    timestamp=sent,
                )
            )
        prompt = Step(f"{key}/prompt", "user", timestamp=sent)
        prompt.texts = [_lines(self._fragments(of["prompt_fragments"]), as_string(row[1]))]
        prompt.parts = self._attachments([row[0] for row in of["prompt_attachments"]], notes)
        return [first, results, prompt]

    # From 0.32

    def threads(self) -> Iterator[FoundConversation]:
        """Read the tables of versions from 0.32."""
        rows = {
            as_string(row[0]): row
            for row in self._database.rows(
                "threads", "id", "name", "forked_from", "tip_message_hash", order='"id"'
            )
        }
        groups: dict[str, list[str]] = {}
        for key in rows:
            groups.setdefault(_first_thread(key, rows), []).append(key)
        turns = self._by(
            "turns", "thread_id", "tip_message_hash", "datetime_utc", "model", "resolved_model",
            "input_tokens", "output_tokens", order='"datetime_utc", "id"',
        )  # fmt: skip
        for first, keys in groups.items():
            place = f"thread {first[:60]}"
            own = [turn for key in keys for turn in turns.get(key, [])]
            own.sort(key=lambda turn: as_string(turn[1]).replace(" ", "T"))
            tips = [as_string(turn[0]) for turn in own]
            tips += [as_string(rows[key][3]) for key in keys]
            yield from self._thread(first, as_string(rows[first][1]), place, tips, own)

    def _thread(
        self, key: str, title: str, place: str, tips: list[str], turns: list[Any]
    ) -> Iterator[FoundConversation]:
        tree = TranscriptBuilder(_PROGRAM, key)
        last: dict[str, Step] = {}
        """The last step of each message."""
        steps: list[Step] = []
        head: Step | None = None
        of_tip = {as_string(turn[0]): turn for turn in turns}
        for tip in tips:
            path: list[tuple[str, str, str]] = []
            message, seen = tip, set[str]()
            while message and message not in last and message not in seen:
                seen.add(message)
                row = self._row("messages", "hash", message, "parent_hash", "role")
                if row is None:
                    break
                path.append((message, as_string(row[0]), as_string(row[1])))
                message = as_string(row[0])
            for message, parent, role in reversed(path):
                for step in self._message(message, role, place, tree.notes, of_tip.get(message)):
                    if isinstance(step, FoundConversation):
                        yield step
                        continue
                    step.parent = last.get(message) or last.get(parent)
                    last[message] = step
                    steps.append(step)
            if head is None or tip in of_tip:
                head = last.get(tip, head)
        ends = add_steps(tree, steps)
        transcript = tree.transcript(title=title, head_id=ends.get(head))
        if transcript.entries:
            yield FoundConversation(place, transcript, notes=tuple(tree.notes))

    def _message(
        self, key: str, role: str, place: str, notes: list[str], turn: list[Any] | None
    ) -> Iterator[Step | FoundConversation]:
        results, step = Step(f"{key}/results", "user"), Step(key, "user")
        if role == "system" or role == "assistant":
            step.role = role
        if turn is not None:
            _, sent, model, resolved, input_tokens, output_tokens = turn
            step.timestamp = parse_timestamp(sent)
            if role == "assistant":
                step.model = as_string(resolved) or as_string(model)
                step.usage = Usage(as_count(input_tokens), as_count(output_tokens))
        for part_id, kind, name, text, payload in self._database.rows(
            "parts", "id", "type", "tool_name", "text", "payload",
            where='"message_hash" = ?', values=(key,), order='"position"',
        ):  # fmt: skip
            try:
                data = as_object(None) if payload is None else json_column(payload)
            except BadLine as error:
                yield FoundConversation(f"{place}, part {part_id}", fault=str(error))
                continue
            self._part(step, results, part_id, as_string(kind), as_string(name), text, data, notes)
        yield results
        yield step

    def _part(
        self,
        step: Step,
        results: Step,
        part_id: object,
        kind: str,
        name: str,
        text: object,
        data: JsonObject,
        notes: list[str],
    ) -> None:
        where: dict[str, Any] = {"where": '"part_id" = ?', "values": (part_id,), "order": '"order"'}
        name = name or as_string(data.get("name"))
        call_id = as_string(data.get("tool_call_id"))
        match kind:
            case "text":
                ids = [list(row) for row in self._database.rows(
                    "part_fragments", "fragment_id", **where)]  # fmt: skip
                step.texts.append(_lines(self._fragments(ids), as_string(text)))
            case "reasoning":
                if thoughts := as_string(text):
                    step.reasoning.append(ReasoningBlock(thoughts))
            case "tool_call":
                step.call(call_id, name, data.get("arguments"))
            case "tool_result":
                failure = as_string(data.get("exception"))
                output = result_text(data.get("output")) or as_string(text) or failure
                results.results.append(Result(call_id, output, name, failed=bool(failure)))
            case "attachment":
                stored = self._database.rows("part_attachments", "attachment_id", **where)
                ids = [row[0] for row in stored]
                ids = ids or [as_object(data.get("attachment")).get("id")]
                step.parts += self._attachments(ids, notes)
            case _:
                pass


def _answer(key: str, row: tuple[Any, ...], of: dict[str, list[Any]]) -> Step:
    model, _, _, text, sent, input_tokens, output_tokens, resolved, reasoning = row
    step = Step(key, "assistant", texts=[as_string(text)], timestamp=parse_timestamp(sent))
    step.model = as_string(resolved) or as_string(model)
    step.usage = Usage(as_count(input_tokens), as_count(output_tokens))
    if thoughts := as_string(reasoning):
        step.reasoning.append(ReasoningBlock(thoughts))
    for name, arguments, call_id in of["tool_calls"]:
        step.call(as_string(call_id), as_string(name), arguments)
    return step


def _first_thread(key: str, rows: dict[str, tuple[Any, ...]]) -> str:
    """Return the thread that this one was forked from in the first place."""
    seen = {key}
    while (parent := as_string(rows[key][2])) in rows and parent not in seen:
        seen.add(parent)
        key = parent
    return key


def _lines(*texts: str) -> str:
    return "\n".join(filter(None, texts))


FORMATS = (database_format(_is_database, _read),)
