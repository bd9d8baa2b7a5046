from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio
from unit.session.fakes import Bench


@pytest_asyncio.fixture
async def bench() -> AsyncIterator[Bench]:
    made = Bench()
    yield made
    for engine in made.made:
        engine.gate.set()
    await made.session.close()
