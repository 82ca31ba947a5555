"""The private members of Textual that the screen uses. Each has its reason, and what to do when a
new version of Textual no longer has it.

A member is used if a module imports it, if a class of ours that inherits from Textual reads or
overrides it, or if it is read of another object and no class of ours has one of this name.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import textual

import tui_chat
from tests.support.tables import each_row

OURS = Path(tui_chat.__file__).parent
THEIRS = Path(textual.__file__).parent
MEMBERS: dict[str, str] = {
    # The terminal driver: Textual waits for the terminal without end; see `ui/terminal/driver.py`.
    "textual.driver.Driver._app": "tells the app of a closed terminal; take it from `__init__`",
    "textual.driver.Driver._auto_restart": "True while a stop may be undone; keep a flag of ours",
    "textual.driver.Driver._debug": "goes to the parser; False does",
    "textual.driver.Driver._loop": "the event loop; take the running one in `__init__`",
    "textual.drivers.linux_driver.LinuxDriver._file": "where it writes; pass a file to `__init__`",
    "textual.drivers.linux_driver.LinuxDriver._must_signal_resume": (
        "makes it post SignalResume; post that event in `_continue_process`"
    ),
    "textual.drivers.linux_driver.LinuxDriver._sigcont_application": (
        "the handler of SIGCONT; install ours in `start_application_mode`"
    ),
    "textual.drivers.linux_driver.LinuxDriver._sigtstp_application": (
        "the handler of SIGTSTP; install ours in `start_application_mode`"
    ),
    "textual.drivers.linux_driver.LinuxDriver._writer_thread": (
        "is asked whether it lives, and given texts with a time limit; write with a thread of ours"
    ),
    "_queue": "of the writer thread; see `_writer_thread`",
    "textual._parser.ParseError": "ends an incomplete sequence; catch what replaces it",
    "textual._xterm_parser.XTermParser": "the base of ours; see `ui/terminal/input_parser.py`",
    "textual._xterm_parser.XTermParser._sequence_to_key_events": (
        "reads Alt+Enter and the keys of xterm's modifyOtherKeys; do without if Textual reads them"
    ),
    "_driver": "of the app: writes a notification and restores the terminal; keep the driver made",
    # The app
    "textual.app.App._action_targets": "namespaces of actions; `app.` in front would do",
    "textual.app.App._exit_renderables": "the sentence printed after a crash; print it in `cli`",
    "textual.app.App._fatal_error": "hides the values of variables; Textual would print them",
    "textual.app.App._handle_exception": (
        "shows our errors of workers; catch them where the workers are, with `exit_on_error` off"
    ),
    "textual._context.active_message_pump": (
        "the widget whose handler raised; let every exception of a plugin end the app"
    ),
    "textual.message_pump.MessagePump._close_messages_no_wait": "ends the app after a crash",
    "_context": "makes the app the active one in a signal handler; no public way",
    "_exception": "of the app: whether it crashed; keep a flag in `_fatal_error`",
    "textual.dom.DOMNode._bindings": "unbinds keys that the user took away; no public way",
    # Layout and drawing once, not twice: `tests/tools/benchmarks/stage.py` has what that buys.
    "textual.dom.DOMNode._layout_required": "ends a requested layout; do without, it is slower",
    "textual.widget.Widget._has_relative_children_height": (
        "lets a dialog be as high as its list; set the list's height in `on_resize`"
    ),
    "textual.widget.Widget._repaint_required": "ends a requested repaint; do without",
    "textual.widget.Widget._size_updated": "asks for no second layout; do without",
    "textual.screen.Screen._compositor": "the visible widgets; do without, they are drawn twice",
    "textual.screen.Screen._screen_resized": "fits the panes first; use `on_resize`",
    "textual.widget.Widget._scroll_update": "sets the scroll bar without a layout; `virtual_size`",
    "textual.widget.Widget._vertical_scrollbar": "a scroll bar class of ours; use Textual's",
    "_start_widget": "starts that scroll bar; use Textual's",
    "textual.widget.Widget._on_mouse_scroll_down": "moves by lines; use `on_mouse_scroll_down`",
    "textual.widget.Widget._on_mouse_scroll_up": "moves by lines; use `on_mouse_scroll_up`",
    # Component styles on first use: most are never seen, and Textual applies all of them.
    "textual.dom.DOMNode._component_styles": "the styles; declare all classes and use Textual's",
    "textual.dom.DOMNode._get_component_classes": "the names; declare all and use Textual's",
    "_attach": "gives a node its parent, for the style sheet; declare all and use Textual's",
    # The composer
    "textual.document._document.DocumentBase": "a type; import it from where it is then",
    "textual.document._document.EditResult": "a type; import it from where it is then",
    "textual.document._document.Location": "a type; it is a pair of ints",
    "textual.document._edit.Edit": "a type; import it from where it is then",
    "textual.widget.Widget._on_key": "comes before the text area's own; use `on_key`",
    "textual.widgets._text_area.TextArea._delete_via_keyboard": "every key that deletes ends there",
    "textual.widgets._text_area.TextArea._on_paste": "cleans what is pasted; use `on_paste`",
    "textual.widgets._text_area.TextArea._replace_via_keyboard": (
        "edits as typing does, with undo; use `replace` and check `read_only`"
    ),
    "textual.widgets._text_area.TextArea._cursor_offset": "draws the cursor's line; refresh all",
    "textual.widgets._text_area.TextArea._pause_blink": "ends blinking; let it blink",
    "textual.widgets._text_area.TextArea._restart_blink": "ends blinking; let it blink",
    "textual.widgets._text_area.TextArea._toggle_cursor_blink_visible": "ends blinking",
}
"""By module, class and name; of other objects than `self` by name alone. What each is for, and what
to do when it is gone.
"""


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(text_of(path))


@cache
def defined_in(node: ast.Module | ast.ClassDef) -> frozenset[str]:
    """Return the private names that a module or a class defines, local variables left out."""
    names: set[str] = set()
    for inner in ast.walk(node):
        match inner:
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
                names.add(name)
            case ast.Attribute(attr=name, ctx=ast.Store()):
                names.add(name)
            case _:
                pass
        if isinstance(inner, ast.Module | ast.ClassDef):
            for statement in inner.body:
                if isinstance(statement, ast.Assign | ast.AnnAssign):
                    assigned = ast.walk(statement)
                    names.update(each.id for each in assigned if isinstance(each, ast.Name))
    return frozenset(filter(is_private, names))


@cache
def modules(root: Path) -> tuple[tuple[str, Path], ...]:
    """Return the modules of a package, with their names."""

    def name(path: Path) -> str:
        parts = path.relative_to(root.parent).with_suffix("").parts
        return ".".join(parts).removesuffix(".__init__")

    return tuple((name(path), path) for path in sorted(root.rglob("*.py")))


@cache
def class_node(cls: type) -> ast.ClassDef | None:
    path = Path(inspect.getsourcefile(cls) or "")
    names = [node for node in ast.walk(tree_of(path)) if isinstance(node, ast.ClassDef)]
    return next((node for node in names if node.name == cls.__name__), None)


@cache
def defines(cls: type, name: str) -> bool:
    node = class_node(cls)
    return name in vars(cls) or (node is not None and name in defined_in(node))


def imported_members(path: Path) -> Iterator[str]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "textual":
            for alias in node.names:
                if any(map(is_private, [*str(node.module).split("."), alias.name])):
                    yield f"{node.module}.{alias.name}"


def inherited_members(module: str, path: Path) -> Iterator[str]:
    """Yield what the classes of a module read or override of those that they inherit from."""
    for node in tree_of(path).body:
        if not isinstance(node, ast.ClassDef):
            continue
        cls: Any = getattr(importlib.import_module(module), node.name)
        theirs = [base for base in cls.__mro__ if base.__module__.split(".")[0] == "textual"]
        if not theirs:
            continue
        names = {
            inner.attr
            for inner in ast.walk(node)
            if isinstance(inner, ast.Attribute) and is_own_attribute(inner)
        }
        for name in sorted(names | defined_in(node)):
            if owner := next((base for base in reversed(theirs) if defines(base, name)), None):
                yield f"{owner.__module__}.{owner.__name__}.{name}"


def is_own_attribute(node: ast.AST) -> bool:
    """True for private members `self.NAME`, `cls.NAME` and `super().NAME`."""
    if not (isinstance(node, ast.Attribute) and is_private(node.attr)):
        return False
    return ast.unparse(node.value) in ("self", "cls", "super()")


@cache
def own_names() -> frozenset[str]:
    return frozenset().union(*(defined_in(tree_of(path)) for _, path in modules(OURS)))


def read_members(path: Path) -> Iterator[str]:
    """Yield what a module reads of other objects, by name alone, as types are not known here."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            is_theirs = node.attr not in own_names() and places(node.attr)
            if is_theirs and not is_own_attribute(node) and ast.unparse(node) != "os._exit":
                yield node.attr


@cache
def places(name: str) -> tuple[str, ...]:
    """Return the modules of Textual that define a private name."""
    return tuple(
        module
        for module, path in modules(THEIRS)
        if name in text_of(path) and name in defined_in(tree_of(path))
    )


def used_members(package: Path, without: str = "") -> set[str]:
    """Return the members that the modules of a package use, without those of a folder in it."""
    members: set[str] = set()
    for module, path in modules(OURS):
        if path.is_relative_to(package) and not (
            without and path.is_relative_to(package / without)
        ):
            members.update(imported_members(path))
            members.update(read_members(path))
            members.update(inherited_members(module, path))
    inherited = {name.rpartition(".")[2] for name in members if "." in name}
    return {name for name in members if "." in name or name not in inherited}


def is_there(member: str) -> bool:
    """True if the installed Textual has a member."""
    owner, _, name = member.rpartition(".")
    if not owner:
        return bool(places(name))
    module, _, class_name = owner.rpartition(".")
    if class_name[0].isupper():
        return defines(getattr(importlib.import_module(module), class_name), name)
    return hasattr(importlib.import_module(owner), name)


@each_row("member", MEMBERS)
def test_textual_has_the_private_member(member: str):
    assert is_there(member), f"Textual no longer has {member}: {MEMBERS[member]}"


@pytest.mark.slow
def test_every_private_member_has_its_reason():
    """A member that is missing here may be an accident: a name that Textual uses itself."""
    assert used_members(OURS, without="plugins") == set(MEMBERS)
