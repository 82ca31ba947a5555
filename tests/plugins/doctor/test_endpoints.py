"""`tui-chat endpoints test`."""

from __future__ import annotations

from pathlib import Path

from tests.support.command_line import Run
from tests.support.config_home import KEY, endpoints
from tests.support.tables import each_row
from tests.support.vendors import LOOPBACKS

__all__ = ["endpoints"]


@each_row("name", [endpoint.name for endpoint in LOOPBACKS])
def test_a_working_endpoint_passes_every_check(name: str, endpoints: Run):
    done = endpoints("test", name, "--model", "echo")
    assert done.code == 0, done.out + done.err
    checks = [line.split()[:2] for line in done.out.splitlines() if line.startswith("  ")]
    assert checks == [["ok", "key"], ["ok", "server"], ["ok", "chat"]]
    assert "echo replied" in done.out
    assert "works." in done.out


def test_a_failed_check_has_advice(endpoints: Run):
    done = endpoints("test", "loopback", "--model", "flaky-429")
    assert done.code == 1
    assert "NO  chat" in done.out
    assert "Wait 2 s" in done.out
    assert "does not work: chat" in done.out


def test_a_cut_stream_fails_the_check(endpoints: Run):
    assert "NO  chat" in endpoints("test", "loopback", "--model", "flaky-cut").out


def test_a_missing_key_skips_all_requests(endpoints: Run):
    done = endpoints("test", "openai")
    assert done.code == 1
    assert "Set OPENAI_API_KEY" in done.out
    assert "server" not in done.out


def test_an_unreachable_server_fails_the_check(tmp_path: Path, endpoints: Run):
    (tmp_path / "config.toml").write_text(
        '[endpoints.mine]\nprotocol = "openai_chat"\nbase_url = "http://127.0.0.1:9/v1"\n'
    )
    done = endpoints("test", "mine")
    assert done.code == 1
    assert "No server answers at 127.0.0.1:9" in done.out


def test_the_output_of_a_key_command_is_only_sent_to_its_endpoint(tmp_path: Path, endpoints: Run):
    (tmp_path / "config.toml").write_text(
        f'[endpoints.loopback]\nkey = "command:/bin/echo {KEY}"\nauth = "header:X-My-Key"\n'
    )
    done = endpoints("test", "loopback", "--model", "mirror")
    assert done.code == 0, done.out
    assert "Found: command:echo …" in done.out
    assert KEY not in done.out + done.err


def test_endpoints_test_prints_the_request_url(tmp_path: Path, endpoints: Run):
    (tmp_path / "config.toml").write_text(
        '[endpoints.mine]\nprotocol = "anthropic"\nbase_url = "http://127.0.0.1:9/v1/messages"\n'
    )
    assert "Requests go to http://127.0.0.1:9/v1/messages\n" in endpoints("test", "mine").out


def test_an_unknown_name_exits_with_2(endpoints: Run):
    done = endpoints("test", "nowhere")
    assert done.code == 2
    assert "Available: loopback" in done.err
