"""Requests as coding agents send them, written by hand: many tools, reminders, files, results."""

from __future__ import annotations

from typing import Any

from tui_chat.models.endpoint import Protocol

SERVERS = ("github", "linear")
BUILT_IN = ("Bash", "Read", "Edit", "Grep", "WebFetch", "Task")
NAMES = (
    *BUILT_IN,
    *(f"mcp__{server}__{verb}_item" for server in SERVERS for verb in ("get", "list", "make")),
    *(f"files__{verb}" for verb in ("open", "close")),
    *(f"Tool{number}" for number in range(8)),
)
"""Names of tools: six built in, three of each of two servers, two of a third, and eight more."""
REMINDER = """<system-reminder>
As you answer, you can use the following context:
# claudeMd
Instructions of the project are shown below.

Contents of /home/ada/shop/CLAUDE.md (project instructions):

# Shop
Prices are in cents. Run the tests with make test.

# currentDate
Today's date is 2026-11-23.
</system-reminder>"""
AGENTS = """# AGENTS.md instructions for /home/ada/shop

<INSTRUCTIONS>
Prices are in cents.
</INSTRUCTIONS>"""
QUESTION = "Where are the prices rounded?"
RESULT = "def rounded(price):\n    return round(price)\n"


def schema(name: str) -> dict[str, Any]:
    """The parameters of a tool."""
    path = {"type": "string", "description": f"The path that {name} works on, absolute."}
    return {"type": "object", "properties": {"path": path}, "required": ["path"]}


def described(name: str) -> str:
    """The description of a tool."""
    return f"{name} does its work on one file and returns what it found there. " * 6


def agent_body(protocol: Protocol) -> dict[str, Any]:
    """A request of an agent in a protocol, with a call and its result."""
    call = {"path": "/home/ada/shop/prices.py"}
    match protocol:
        case Protocol.ANTHROPIC:
            return {
                "model": "claude-opus-4-5",
                "max_tokens": 32000,
                "system": [{"type": "text", "text": "You are a coding agent.\n" * 8}],
                "messages": [
                    {
                        "role": "user",
                        "content": [
                            {"type": "text", "text": REMINDER},
                            {"type": "text", "text": QUESTION},
                        ],
                    },
                    {
                        "role": "assistant",
                        "content": [
                            {"type": "tool_use", "id": "t1", "name": "Read", "input": call}
                        ],
                    },
                    {
                        "role": "user",
                        "content": [
                            {"type": "tool_result", "tool_use_id": "t1", "content": RESULT}
                        ],
                    },
                ],
                "tools": [
                    {"name": name, "description": described(name), "input_schema": schema(name)}
                    for name in NAMES
                ],
            }
        case Protocol.OPENAI_RESPONSES:
            return {
                "model": "gpt-5",
                "instructions": "You are a coding agent.\n" * 8,
                "input": [
                    {
                        "type": "message",
                        "role": "user",
                        "content": [
                            {"type": "input_text", "text": AGENTS},
                            {
                                "type": "input_text",
                                "text": "<environment_context>\n  <cwd>/work</cwd>\n"
                                "</environment_context>",
                            },
                        ],
                    },
                    {
                        "type": "message",
                        "role": "user",
                        "content": [{"type": "input_text", "text": QUESTION}],
                    },
                    {
                        "type": "function_call",
                        "call_id": "t1",
                        "name": "Read",
                        "arguments": '{"path":"/home/ada/shop/prices.py"}',
                    },
                    {"type": "function_call_output", "call_id": "t1", "output": RESULT},
                ],
                "tools": [
                    *(
                        {
                            "type": "function",
                            "name": name,
                            "description": described(name),
                            "parameters": schema(name),
                            "strict": False,
                        }
                        for name in NAMES[1:]
                    ),
                    {"type": "custom", "name": "Bash", "description": described("Bash")},
                ],
            }
        case Protocol.GEMINI:
            return {
                "systemInstruction": {
                    "parts": [
                        {
                            "text": "You are a coding agent.\n"
                            * 8
                            + "--- Context from: GEMINI.md ---\nPrices are in cents.\n"
                            "--- End of Context from: GEMINI.md ---\n"
                        }
                    ]
                },
                "contents": [
                    {"role": "user", "parts": [{"text": QUESTION}]},
                    {"role": "model", "parts": [{"functionCall": {"name": "Read", "args": call}}]},
                    {
                        "role": "user",
                        "parts": [
                            {"functionResponse": {"name": "Read", "response": {"output": RESULT}}}
                        ],
                    },
                ],
                "tools": [
                    {
                        "functionDeclarations": [
                            {
                                "name": name,
                                "description": described(name),
                                "parametersJsonSchema": schema(name),
                            }
                            for name in NAMES
                        ]
                    }
                ],
            }
        case Protocol.OPENAI_CHAT | Protocol.OLLAMA:
            is_chat = protocol is Protocol.OPENAI_CHAT
            arguments = '{"path":"/home/ada/shop/prices.py"}' if is_chat else call
            return {
                "model": "gpt-5" if is_chat else "qwen3",
                "messages": [
                    {
                        "role": "system",
                        "content": "You are a coding agent.\n" * 8
                        + "Instructions from: /home/ada/shop/AGENTS.md\nPrices are in cents.\n",
                    },
                    {"role": "user", "content": f"{REMINDER}\n{QUESTION}"},
                    {
                        "role": "assistant",
                        "content": "",
                        "tool_calls": [
                            {
                                **({"id": "t1", "type": "function"} if is_chat else {}),
                                "function": {"name": "Read", "arguments": arguments},
                            }
                        ],
                    },
                    {
                        "role": "tool",
                        "content": RESULT,
                        **({"tool_call_id": "t1"} if is_chat else {"tool_name": "Read"}),
                    },
                ],
                "tools": [
                    {
                        "type": "function",
                        "function": {
                            "name": name,
                            "description": described(name),
                            "parameters": schema(name),
                        },
                    }
                    for name in NAMES
                ],
            }
