"""What the first screen says and offers."""

from __future__ import annotations

from rich.cells import cell_len
from textual.style import Style

from tests.support.tables import each_row
from tests.support.vendors import ENDPOINTS
from tui_chat.config import endpoints_with_key
from tui_chat.ui.chat.welcome import Welcome, welcome, welcome_rows
from tui_chat.ui.keys import DEFAULT_KEYS, NO_KEY

KEYS = {"ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k"}


def words(shown: Welcome, width: int = 64) -> str:
    return "\n".join(line.text for line in welcome_rows(shown, width))


def test_it_says_what_this_is_and_offers_things_each_with_a_key():
    shown = welcome("mirror", is_offline=True)
    assert "tui-chat shows the exact request before it is sent." in words(shown)
    assert "mirror is a practice model" in words(shown)
    assert [offer.key for offer in shown.offers] == ["/key", "Ctrl+O", "F4", "/ @", "F1"]
    shown = welcome("gpt-6.1-terra", is_offline=False, has_import=True)
    assert "practice model" not in words(shown)
    assert [offer.key for offer in shown.offers] == ["Ctrl+O", "F4", "/import", "/ @", "F1"]


@each_row("environ", [{}, KEYS, {"OPENAI_API_KEY": "k"}])
@each_row("is_offline", [True, False])
@each_row("width", [14, 30, 47, 64, 200])
def test_it_fits_and_everything_in_it_can_be_clicked(
    environ: dict[str, str], is_offline: bool, width: int
) -> None:
    with_key = endpoints_with_key(ENDPOINTS, environ)
    shown = welcome("gpt-6.1-terra", is_offline, with_key)
    lines = welcome_rows(shown, width)
    assert all(cell_len(line.text) <= width for line in lines)
    assert "\x1b" not in words(shown, width)
    spans = (span for line in lines for span in line.content.spans)
    actions = {
        span.style.meta["action"]
        for span in spans
        if isinstance(span.style, Style) and "action" in span.style.meta
    }
    assert {action.key for action in actions} == {offer.action for offer in shown.offers}
    ready = {f"/model {name}" for name in ("anthropic", "google", "openai")}
    names = {f"/model {endpoint.name}" for endpoint in with_key} if is_offline else set[str]()
    assert {offer.key for offer in shown.offers} & ready == names


def test_an_action_without_a_key_is_not_offered():
    shown = welcome("m", is_offline=False, keys=DEFAULT_KEYS | {"model": NO_KEY})
    assert [offer.key for offer in shown.offers] == ["F4", "/ @", "F1"]


@each_row(
    ("environ", "names"),
    [
        ({}, []),
        (KEYS, ["anthropic", "google"]),
        ({"OPENAI_API_KEY": "k"}, ["openai"]),
        ({"OPENAI_API_KEY": ""}, []),
        ({"GROQ_API_KEY": "k", "MISTRAL_API_KEY": "k"}, ["mistral", "groq"]),
    ],
)
def test_keys_are_found_as_the_endpoints_name_them(environ: dict[str, str], names: list[str]):
    assert [each.name for each in endpoints_with_key(ENDPOINTS, environ)] == names
