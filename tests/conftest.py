"""Fixtures that the whole suite shares."""

from __future__ import annotations

import pytest
from interpreters import Interpreter, interpreters


@pytest.fixture(params=interpreters(), ids=str, scope="session")
def triton_python(request: pytest.FixtureRequest) -> Interpreter:
    """Each interpreter with a Triton that the suite is run on; a test that takes it runs once on each."""
    return request.param
