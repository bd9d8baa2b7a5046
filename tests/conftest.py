"""Fixtures that the whole suite shares."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from interpreters import Interpreter, interpreters


@pytest.fixture(params=interpreters(), ids=str, scope="session")
def triton_python(request: pytest.FixtureRequest) -> Interpreter:
    """Each interpreter with a Triton that the suite is run on; a test that takes it runs once on each."""
    return request.param


@pytest.fixture(scope="session")
def bench(triton_python: Interpreter, tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """A `checking.Bench`: the real pipeline with one worker for each interpreter."""
    from checking import Bench

    bench = Bench(triton_python, tmp_path_factory.mktemp("cache"))
    yield bench
    bench.close()
