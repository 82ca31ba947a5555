"""Settings for all tests: property tests are bounded so that the whole suite stays quick."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "suite", max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("deep", max_examples=2000, deadline=None)
settings.load_profile("suite")
