"""Workers are given functions. A coroutine whose worker is canceled before it begins, as an
exclusive one is by the next of its group, is never awaited, and Python warns of it much later.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import tui_chat

PACKAGE = Path(tui_chat.__file__).parent


def is_coroutine(work: ast.expr, function: ast.AST) -> bool:
    """True if work is a call, other than of `partial`, also one that a local name stands for."""
    if isinstance(work, ast.Name):
        assigned = [
            node.value
            for node in ast.walk(function)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name) and target.id == work.id
        ]
        return any(is_coroutine(value, function) for value in assigned)
    is_partial = (
        isinstance(work, ast.Call) and isinstance(work.func, ast.Name) and work.func.id == "partial"
    )
    return isinstance(work, ast.Call) and not is_partial


def started(tree: ast.AST) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, ast.Call]]:
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for node in ast.walk(function):
                if (
                    isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Attribute)
                    and node.func.attr == "run_worker"
                ):
                    yield function, node


def test_workers_are_given_functions() -> None:
    seen, wrong = 0, list[str]()
    for file in PACKAGE.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if "run_worker(" in text:
            for function, call in started(ast.parse(text)):
                seen += 1
                if is_coroutine(call.args[0], function):
                    wrong.append(f"{file.relative_to(PACKAGE)}:{call.lineno}")
    assert seen >= 15
    assert wrong == []
