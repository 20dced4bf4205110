from collections.abc import Iterator

import pytest

from hub.local import spec
from hub.local.federation import Federation
from tests.local_federation import running


@pytest.fixture(scope="package")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    """The demo's manager and berlin, which dials in; every test leaves berlin in the federation."""
    shipped = spec.load(spec.shipped())
    berlin = next(worker for worker in shipped.workers if worker.name == "berlin")
    dialling = shipped.model_copy(update={"workers": [berlin.model_copy(update={"source": "agent"})]})
    with running(dialling, tmp_path_factory.mktemp("dialling"), spec.shipped()) as found:
        yield found
