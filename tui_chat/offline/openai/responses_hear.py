"""Hearing a Responses request.

Input is a string or items. Held here: known roles; a replayed item's own `id` begins with the
prefix of its type (`fc`, `rs`, `msg`) and is not its `call_id`; every function call has an output
somewhere after it and every output a call, counting the turns of `previous_response_id`;
`max_output_tokens` is at least 16. `previous_response_id` brings the earlier turns but not the
earlier `instructions`. Items of types unknown here are taken and shown by their type.
"""

import re

from tui_chat.offline.asked import (
    Asked,
    Call,
    Choice,
    Other,
    Part,
    Result,
    Thought,
    Tool,
    Turn,
    Words,
)
from tui_chat.offline.house import Addressed
from tui_chat.offline.node import Node, compact
from tui_chat.offline.problems import Missing, NoPrevious, Refused

_ROLES = ("system", "developer", "user", "assistant")
_TEXTS = {
    "input_text": "text",
    "output_text": "text",
    "text": "text",
    "summary_text": "text",
    "reasoning_text": "text",
    "refusal": "refusal",
}
_KINDS = {"input_image": "image", "input_file": "file", "input_audio": "audio"}
_PREFIXES = {"function_call": "fc", "reasoning": "rs", "message": "msg"}
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_OURS = frozenset({"model", "input", "instructions", "tools", "tool_choice", "stream"})


def hear(body: Node, addressed: Addressed) -> Asked:
    """Return the request in neutral words; raises `Refused`."""
    model = body.need("model").text()
    instructions = body.get("instructions")
    earlier = _earlier(body, addressed)
    turns = _input(body)
    _check_answers(body, (*earlier, *turns), len(earlier))
    tools = _tools(body)
    stream = body.get("stream")
    limit = body.get("max_output_tokens")
    _check_settings(body)
    return Asked(
        protocol="openai_responses",
        model=model,
        system=_instructions(instructions),
        turns=(*earlier, *turns),
        tools=tools,
        choice=_choice(body, tools),
        body=body.fields(),
        settings=tuple(
            (name, compact(value)) for name, value in body.fields().items() if name not in _OURS
        ),
        stream=stream.flag() if stream else False,
        limit=limit.count(least=16) if limit else None,
        stops=(),
        size=addressed.size,
    )


def _instructions(node: Node | None) -> tuple[str, ...]:
    if node is None:
        return ()
    return (node.text(),)


def _earlier(body: Node, addressed: Addressed) -> tuple[Turn, ...]:
    previous = body.get("previous_response_id")
    if previous is None:
        return ()
    if body.get("conversation") is not None:
        raise previous.broken(
            "Mutually exclusive parameters: 'previous_response_id' and 'conversation'.",
            "mutually_exclusive_parameters",
        )
    turns = addressed.recall(previous.text())
    if turns is None:
        raise Refused(NoPrevious(previous.text()))
    return turns


def _input(body: Node) -> tuple[Turn, ...]:
    given = body.get("input")
    if given is None:
        if body.get("previous_response_id", "conversation", "prompt") is None:
            raise Refused(Missing(("input",)))
        return ()
    if isinstance(given.value, str):
        return (Turn("user", (Words(given.value),)),)
    if not isinstance(given.value, list):
        given.text()  # complains
    return tuple(_item(item) for item in given.items())


def _item(item: Node) -> Turn:
    kind = item.get("type")
    type_ = kind.text() if kind else "message"
    id = item.get("id")
    prefix = _PREFIXES.get(type_)
    if id is not None and prefix is not None and not id.text().startswith(prefix):
        raise id.broken(
            f"Invalid id: '{id.text()[:64]}'. Expected an ID that begins with '{prefix}'."
        )
    match type_:
        case "message":
            return Turn(item.need("role").one_of(_ROLES), tuple(_content(item.need("content"))))
        case "function_call" | "custom_tool_call":
            arguments = item.need("arguments" if type_ == "function_call" else "input")
            call = Call(item.need("call_id").text(), item.need("name").text(), arguments.text())
            return Turn("assistant", (call,))
        case "function_call_output" | "custom_tool_call_output":
            output = "\n".join(
                part.text if isinstance(part, Words) else f"[{part.kind}]"
                for part in _content(item.need("output"))
            )
            return Turn("tool", (Result(item.need("call_id").text(), "", output),))
        case "reasoning":
            words = [*_texts(item, "summary"), *_texts(item, "content")]
            return Turn("assistant", (Thought("\n\n".join(words)),))
        case _:
            return Turn("item", (Other(type_[:64]),))


def _content(content: Node) -> list[Words | Other]:
    if isinstance(content.value, str):
        return [Words(content.value)]
    if not isinstance(content.value, list):
        content.text()  # complains
    found: list[Words | Other] = []
    for part in content.items():
        kind = part.need("type").one_of((*_TEXTS, *_KINDS))
        found.append(
            Words(part.need(_TEXTS[kind]).text()) if kind in _TEXTS else Other(_KINDS[kind])
        )
    return found


def _texts(item: Node, name: str) -> list[str]:
    found = item.get(name)
    return [part.need("text").text() for part in found.items()] if found else []


def _check_answers(body: Node, turns: tuple[Turn, ...], earlier: int) -> None:
    parts: list[tuple[int, Part]] = [
        (index, part) for index, turn in enumerate(turns) for part in turn.parts
    ]
    called = {part.id: index for index, part in parts if isinstance(part, Call)}
    answered = {part.id: index for index, part in parts if isinstance(part, Result)}
    place = Node(None, (*body.path, "input"))
    for id, index in answered.items():
        if called.get(id, index) >= index:
            if index < earlier:
                continue
            raise place.broken(
                f"No tool call found for function call output with call_id {id[:80]}.", None
            )
    for id in called:
        if id not in answered:
            raise place.broken(f"No tool output found for function call {id[:80]}.", None)


def _tools(body: Node) -> tuple[Tool, ...]:
    declared = body.get("tools")
    found: list[Tool] = []
    for tool in declared.items() if declared else []:
        if tool.need("type").text() not in ("function", "custom"):
            continue  # a tool that the provider runs by itself
        name = tool.need("name")
        if not _NAME.fullmatch(name.text()):
            raise name.broken(
                "Invalid tool name: string does not match pattern. Expected a string that matches "
                "the pattern '^[a-zA-Z0-9_-]{1,64}$'."
            )
        about, schema = tool.get("description"), tool.get("parameters")
        found.append(
            Tool(name.text(), about.text() if about else "", schema.fields() if schema else {})
        )
    return tuple(found)


def _choice(body: Node, tools: tuple[Tool, ...]) -> Choice:
    choice = body.get("tool_choice")
    if choice is None:
        return Choice()
    if isinstance(choice.value, str):
        match choice.one_of(("none", "auto", "required")):
            case "none":
                return Choice("none")
            case "required":
                return Choice("required")
            case _:
                return Choice()
    if choice.need("type").text() not in ("function", "custom"):
        return Choice()
    name = choice.need("name").text()
    if all(tool.name != name for tool in tools):
        raise choice.broken(f"Tool choice '{name[:80]}' not found in 'tools' parameter.", None)
    return Choice("required", name)


def _check_settings(body: Node) -> None:
    for name, least, most in (("temperature", 0, 2), ("top_p", 0, 1)):
        value = body.get(name)
        if value is not None:
            value.number(least=least, most=most)
    for name in ("metadata", "reasoning", "text"):
        value = body.get(name)
        if value is not None:
            value.fields()
    for name in ("store", "parallel_tool_calls", "background"):
        value = body.get(name)
        if value is not None:
            value.flag()
    truncation = body.get("truncation")
    if truncation is not None:
        truncation.one_of(("auto", "disabled"))
    include = body.get("include")
    for item in include.items() if include else []:
        item.text()
