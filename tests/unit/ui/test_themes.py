"""Themes, and which one is chosen."""

from __future__ import annotations

from itertools import product
from pathlib import Path

from textual.color import Color
from textual.theme import Theme

from tests.support.contrast import contrast
from tests.support.tables import each_row
from tui_chat.errors import InputError
from tui_chat.models.text import OriginKind
from tui_chat.paths import bundled
from tui_chat.ui.themes import (
    DARK,
    LIGHT,
    chosen_theme,
    color_defaults,
    load_theme,
    load_themes,
    save_choice,
)

THEMES = {theme.name: theme for theme in load_themes([bundled("themes")])[0]}


GROUNDS = ("background", "surface", "panel")


TEXTS = ("foreground", "primary", "secondary", "accent", "success", "warning", "error")


KINDS = [str(kind) for kind in OriginKind]


# Machado, Oliveira and Fernandes 2009, severity 1.0, on linear RGB.
def value(theme: Theme, name: str) -> str:
    color = getattr(theme, name)
    assert isinstance(color, str)
    return color


MONO = "tui-chat-mono"


def test_the_shipped_themes() -> None:
    assert {name: theme.dark for name, theme in THEMES.items()} == {
        DARK: True,
        LIGHT: False,
        "tui-chat-contrast": True,
        "tui-chat-colourblind-dark": True,
        "tui-chat-colourblind-light": False,
        MONO: True,
    }
    assert load_themes([bundled("themes")])[1] == []


def test_mono_has_no_color() -> None:
    theme = THEMES[MONO]
    colors = [value(theme, name) for name in (*TEXTS, *GROUNDS)] + list(theme.variables.values())
    assert all(len(set(Color.parse(color).rgb)) == 1 for color in colors)


@each_row(("kind", "ground"), list(product([*TEXTS, *KINDS], GROUNDS)))
def test_high_contrast_has_high_contrast(kind: str, ground: str) -> None:
    theme = THEMES["tui-chat-contrast"]
    ink = value(theme, kind) if kind in TEXTS else theme.variables[f"origin-{kind}"]
    assert contrast(ink, value(theme, ground)) >= 7


@each_row(("name", "ground"), list(product((DARK, LIGHT), GROUNDS)))
def test_labels_and_origins_are_read_on_every_ground(name: str, ground: str) -> None:
    theme = THEMES[name]
    for ink in ("label", *(f"origin-{kind}" for kind in KINDS)):
        assert contrast(theme.variables[ink], value(theme, ground)) >= 4.7, ink


@each_row(
    ("text", "fault"),
    [
        ("name = ", "is not TOML"),
        ('dark = true\n[colors]\nprimary = "#fff"', "name must be"),
        ('name = "x"\n[colors]\nprimary = "#ggg"', "colors.primary: '#ggg' is not a color"),
        (
            'name = "x"\n[colors]\nprimary = 7',
            "colors.primary must be a color in quotes, not 7",
        ),
        ('name = "x"\n[colors]\nprimary = "#fff8"', "colors.primary: '#fff8' must be written as"),
        ('name = "x"\n[colors]\nprimary = "ansi_red"', "colors.primary: 'ansi_red' must be"),
        ('name = "x"', "colors.primary is missing"),
        ('name = "x"\ncolors = 3', "colors must be a table"),
        ('name = "x"\ndark = "no"\n[colors]\nprimary = "#fff"', "dark must be true or false"),
        ('name = "x"\n[color]\nprimary = "#fff"', "color is unknown"),
        ('name = "x"\n[colours]\nprimary = 7', "colours.primary must be a color in quotes, not 7"),
        (
            'name = "x"\n[colors]\nprimary = "#fff"\n[colours]\nprimary = "#000"',
            "colours is unknown",
        ),
        ('name = "x"\n[colors]\nprimary = "#fff"\n[origins]\nsytem = "#fff"', "origins.sytem is"),
    ],
)
def test_a_faulty_theme_is_reported_and_the_others_load(
    tmp_path: Path, text: str, fault: str
) -> None:
    (tmp_path / "bad.toml").write_text(text)
    (tmp_path / "good.toml").write_text('name = "mine"\n[colors]\nprimary = "#123456"\n')
    themes, faults = load_themes([bundled("themes"), tmp_path])
    assert {theme.name for theme in themes} == {*THEMES, "mine"}
    [error] = faults
    assert isinstance(error, InputError)
    assert str(error).startswith(str(tmp_path / "bad.toml"))
    assert fault in str(error)


def test_a_theme_file_with_the_former_spelling_of_its_key_loads(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    table = 'primary = "#123456"\nbackground = "#fffff0"\n'
    path.write_text(f'name = "mine"\n[colors]\n{table}')
    theme = load_theme(path)
    path.write_text(f'name = "mine"\n[colours]\n{table}')
    assert load_theme(path) == theme


def test_a_binary_theme_file_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "bytes.toml").write_bytes(b"name = '\xff'")
    (tmp_path / "folder.toml").mkdir()
    themes, faults = load_themes([tmp_path, tmp_path / "missing"])
    assert themes == []
    assert len(faults) == 2


def test_a_user_theme_replaces_a_shipped_one(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text(
        f'name = "{DARK}"\n[colors]\nprimary = "#123456"\n[origins]\ndraft = "#abcdef"\n'
    )
    themes, _ = load_themes([bundled("themes"), tmp_path])
    [theme] = [theme for theme in themes if theme.name == DARK]
    assert theme.variables["origin-draft"] == "#ABCDEF"
    assert theme.variables["origin-system"] == color_defaults(True)["origin-system"]
    assert load_theme(mine) == theme


# --- The theme that was chosen ------------------------------------------------------------


def test_a_chosen_theme_holds_until_the_configuration_changes(tmp_path: Path):
    choice_file = tmp_path / "data" / "theme"
    assert chosen_theme(choice_file, "a") == "a"
    save_choice(choice_file, "mine", "a")
    assert chosen_theme(choice_file, "a") == "mine"
    assert chosen_theme(choice_file, "b") == "b"


@each_row("junk", [b"", b"\xff\xfe", b"one\n", b"1\n2\n3\n", b"\na\n"])
def test_a_broken_theme_choice_file_is_ignored(junk: bytes, tmp_path: Path):
    (tmp_path / "theme").write_bytes(junk)
    assert chosen_theme(tmp_path / "theme", "a") == "a"
