"""`tui-chat config`, `keys` and `endpoints`."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.command_line import Run
from tests.support.config_home import COMMENTED, KEY, SCREEN_FAULTS, SECRET, home
from tests.support.tables import each_row
from tests.support.terminal_app import TerminalApp
from tui_chat.config.file import TEMPLATE

__all__ = ["home"]


class Keyring(ModuleType):
    """A stand-in for the keyring package, which needs a desktop session."""

    def __init__(self) -> None:
        super().__init__("keyring")
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, name: str) -> str | None:
        return self.kept.get((service, name))

    def set_password(self, service: str, name: str, key: str) -> None:
        self.kept[service, name] = key

    def delete_password(self, service: str, name: str) -> None:
        del self.kept[service, name]


@pytest.fixture
def keyring(monkeypatch: pytest.MonkeyPatch) -> Keyring:
    found = Keyring()
    monkeypatch.setitem(sys.modules, "keyring", found)
    return found


# --- config ------------------------------------------------------------------------------


def test_path_show_and_check_without_a_file(home: Run, tmp_path: Path):
    path = tmp_path / "config.toml"
    assert home("config", "path").out == f"{path}\n"
    assert home("config", "check").out == f"{path} does not exist; the defaults hold.\n"
    assert "endpoint       = loopback   (default)" in home("config", "show").out
    assert [*tmp_path.iterdir()] == []


def test_show_says_what_set_each_setting(home: Run, tmp_path: Path, monkeypatch):
    (tmp_path / "config.toml").write_text(COMMENTED)
    monkeypatch.setenv("TUI_CHAT_MODEL", "m-1")
    shown = json.loads(home("--endpoint", "work", "config", "show", "--json").out)
    assert (shown["endpoint"], shown["model"], shown["theme"]) == ("work", "m-1", "tui-chat-light")
    assert shown["sources"] == {
        "endpoint": "--endpoint",
        "model": "TUI_CHAT_MODEL",
        "theme": str(tmp_path / "config.toml"),
        "notify": "default",
        "title_model": "default",
        "editing_mode": "default",
        "daily_backups": "default",
    }


def test_a_value_that_equals_the_default_has_its_source(home: Run, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    shown = home("config", "show").out
    assert "endpoint       = openai   (the first with a key: env:OPENAI_API_KEY)" in shown
    path = tmp_path / "config.toml"
    path.write_text('endpoint = "loopback"\nmodel = ""\nnotify = "osc9"\n')
    monkeypatch.setenv("TUI_CHAT_THEME", "tui-chat-dark")
    shown = json.loads(home("config", "show", "--json").out)["sources"]
    assert shown == {
        **dict.fromkeys(("endpoint", "model", "notify"), str(path)),
        "theme": "TUI_CHAT_THEME",
        **dict.fromkeys(("title_model", "editing_mode", "daily_backups"), "default"),
    }


def test_a_fault_behind_a_long_text_has_its_line(home: Run, tmp_path: Path):
    long = 'description = """\n' + 'line = "1" [x] # it\\n\n' * 5000 + '"""'
    path = tmp_path / "config.toml"
    path.write_text(f"[tools.a]\n{long}\nbad = 1\n[tools.b]\nconsent = 5 # no [\n")
    done = home("config", "check")
    assert done.code == 2
    assert "line 5004, column 1" in done.err
    assert "line 5006, column 1" in done.err


def test_faults_have_line_and_column(home: Run, tmp_path: Path):
    path = tmp_path / "config.toml"
    path.write_text(COMMENTED)
    assert home("config", "check").out == f"{path} has no faults.\n"
    for line, place, words in [
        ('keey = "x"', "line 8, column 1", "did you mean “key”?"),
        ("timeouts = { connect = -1 }", "line 8, column 14", "timeouts.connect"),
        ("models = [\n  1,\n]", "line 8, column 1", "models.0"),
        ("[endpoints.new]", "line 8, column 12", "endpoints.new.protocol is missing"),
        ("nonsense", "line 8, column 9", "is not TOML"),
    ]:
        text = f"{COMMENTED}{line}\n"
        path.write_text(text)
        done = home("config", "check")
        assert done.code == 2
        assert place in done.err, done.err
        assert words in done.err, done.err
        done = home("config", "check", "-", stdin=text)
        assert done.code == 2
        assert place in done.err
    other = tmp_path / "other.toml"
    other.write_text('endpoint = "none"')
    done = home("config", "check", other)
    assert done.code == 2
    assert "There is no endpoint “none”." in done.err


@pytest.mark.parametrize(("line", "words"), SCREEN_FAULTS)
def test_keys_and_themes_that_the_app_would_not_use_are_faults(
    line: str, words: str, home: Run, tmp_path: Path
):
    (tmp_path / "config.toml").write_text(f"{line}\n")
    for check in (("config", "check"), ("config", "check", "-")):
        done = home(*check, stdin=f"{line}\n")
        assert done.code == 2
        assert words in done.err, done.err


def test_the_template_changes_nothing():
    assert tomllib.loads(TEMPLATE) == {}


# --- keys --------------------------------------------------------------------------------


def test_a_key_is_set_listed_and_deleted_and_never_printed(home, tmp_path, keyring: Keyring):
    path = tmp_path / "config.toml"
    path.write_text("# mine\n")
    said = ""
    done = home("keys", "set", "openai", stdin=f"{SECRET}\nmore\n")
    assert done.code == 0, done.err
    assert keyring.kept == {("tui-chat", "openai"): SECRET}
    assert path.read_text() == '# mine\n\n[endpoints.openai]\nkey = "keyring:tui-chat/openai"\n'
    said += done.out + done.err
    listed = {each["endpoint"]: each for each in json.loads(home("keys", "list", "--json").out)}
    assert listed["openai"] == {
        "endpoint": "openai", "key": "keyring:tui-chat/openai", "state": "found",
    }  # fmt: skip
    assert "is not set" in listed["openai-responses"]["state"]
    assert "loopback" not in listed
    done = home("keys", "list")
    said += done.out + done.err
    assert home("keys", "set", "openai", stdin="sk-other").code == 0
    assert path.read_text().count("[endpoints.openai]") == 1
    assert home("keys", "delete", "openai").code == 0
    assert keyring.kept == {}
    done = home("keys", "delete", "openai")
    assert done.code == 3
    assert "tui-chat/openai" in done.err
    assert SECRET not in said
    assert SECRET not in path.read_text()


def test_a_table_of_the_endpoint_gets_the_reference_and_keeps_the_rest(home, tmp_path, keyring):
    (tmp_path / "config.toml").write_text(COMMENTED)
    done = home("keys", "set", "work", stdin=SECRET)
    assert done.code == 0
    text = (tmp_path / "config.toml").read_text()
    assert 'key = "keyring:tui-chat/work"' in text
    kept = [line for line in text.splitlines() if not line.startswith("key = ")]
    assert kept == [line for line in COMMENTED.splitlines() if not line.startswith("key = ")]
    assert SECRET not in text


def test_a_key_can_be_in_a_private_file(home: Run, tmp_path: Path):
    done = home("keys", "set", "openai", "--file", stdin=SECRET)
    assert done.code == 0
    assert SECRET not in done.out
    (file,) = (tmp_path / "data" / "keys").iterdir()
    assert file.read_text() == f"{SECRET}\n"
    assert file.stat().st_mode & 0o777 == 0o600
    text = (tmp_path / "config.toml").read_text()
    assert "file:" in text
    assert SECRET not in text
    states = json.loads(home("keys", "list", "--json").out)
    assert next(each for each in states if each["endpoint"] == "openai")["state"] == "found"
    assert home("keys", "delete", "openai").code == 0
    assert not file.exists()


@each_row(
    ("words", "stdin", "code", "said"),
    [
        (("set", "openai"), "two words", 3, "No key was given"),
        (("set", "openai"), "", 3, "No key was given"),
        (("set", "opnai"), SECRET, 2, "openai"),
        (("set", "loopback"), SECRET, 2, "needs no key"),
        (("delete", "none"), "", 2, "no endpoint"),
    ],
)
def test_bad_keys_and_names(
    words: tuple[str, ...], stdin: str, code: int, said: str, home: Run, keyring: Keyring
):
    done = home("keys", *words, stdin=stdin)
    assert done.code == code
    assert said in done.err
    assert SECRET not in done.err
    assert keyring.kept == {}


def test_without_the_keyring_a_sentence_says_how_to_get_it(home: Run, monkeypatch):
    monkeypatch.setitem(sys.modules, "keyring", None)
    done = home("keys", "set", "openai", stdin=SECRET)
    assert done.code == 3
    assert "the package keyring, which is not installed" in done.err
    done = home("keys", "delete", "openai")
    assert done.code == 2
    assert "env:OPENAI_API_KEY, which is not in the keyring" in done.err


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs a pty")
def test_a_typed_key_is_not_shown(tmp_path: Path):
    fake = tmp_path / "modules"
    fake.mkdir()
    (fake / "keyring.py").write_text(
        f"def set_password(*given): open({str(tmp_path / 'kept')!r}, 'w').write(given[-1])\n"
    )
    environ = {"PYTHONPATH": str(fake)}
    with TerminalApp(tmp_path, ("keys", "set", "openai"), environ=environ) as app:
        app.until(lambda: app.shows("Key of openai"))
        app.type(f"{SECRET}\r")
        assert app.wait() == 0
    assert (tmp_path / "kept").read_text() == SECRET
    assert SECRET not in app.text()


def test_a_value_is_set_and_the_rest_stays(home, tmp_path: Path):
    file = tmp_path / "config.toml"
    before = file.read_text() if file.exists() else ""
    file.write_text(f"# Mine.\n{before}")
    rows = (("theme", "dark", "dark"), ("title_model", "loopback/echo", "loopback/echo"))
    for key, value, found in rows:
        assert home("config", "set", key, value).code == 0
        assert tomllib.loads(file.read_text())[key] == found
    assert home("config", "set", "endpoints.openai.models", '["a", "b"]').code == 0
    assert tomllib.loads(file.read_text())["endpoints"]["openai"]["models"] == ["a", "b"]
    assert file.read_text().startswith("# Mine.\n")
    kept = file.read_text()
    for key, value in (
        ("endpoint", "nowhere"),
        ("no_such_key", "1"),
        ("a..b", "1"),
        ("theme", "3"),
    ):
        assert home("config", "set", key, value).code == 2, key
    assert file.read_text() == kept


# --- `tui-chat endpoints` -----------------------------------------------------------------


def test_an_unknown_name_and_a_broken_file_exit_with_2(tmp_path: Path, endpoints: Run):
    (tmp_path / "config.toml").write_text(f'[endpoints.openai]\nkey = "{KEY}"')
    done = endpoints("list")
    assert done.code == 2
    assert "endpoints.openai.key" in done.err
    assert KEY not in done.err


def test_the_list_describes_keys_without_showing_them(tmp_path, endpoints, monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    (tmp_path / "config.toml").write_text(
        '[endpoints.openai]\nkey = "env:MY_KEY"\n'
        f'[endpoints.google]\nkey = "command:/bin/echo {KEY}"\n'
        '[endpoints.groq]\nkey = "keyring:chat/groq"\n'
    )
    for arguments in (("list",), ("list", "--json")):
        done = endpoints(*arguments)
        assert done.code == 0, done.err
        assert KEY not in done.out + done.err
        for expected in ("env:MY_KEY", "command:echo …", "keyring:chat/groq", "none needed"):
            assert expected in done.out
        assert "env:ANTHROPIC_API_KEY (not set)" in done.out
    rows = {row["name"]: row for row in json.loads(done.out)}
    assert rows["anthropic"]["facts"]["claude-opus-5-5"]["reasons"] is True
