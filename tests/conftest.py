"""Settings for all tests: property tests are bounded so that the whole suite stays quick."""

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "suite", max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("deep", max_examples=2000, deadline=None)
settings.load_profile("suite")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that cannot be read is looked at again at once."""
    monkeypatch.setattr("tui_chat.store.schema._PAUSES", (0.0,))
