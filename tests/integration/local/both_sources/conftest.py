from collections.abc import Iterator

import pytest

from hub.local import spec
from hub.local.federation import Federation
from tests.local_federation import running


@pytest.fixture(scope="package")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    """The demo's manager, a worker that dials in and one with a kubeconfig, all as wordy as they can be."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FEDHUB_LOG_LEVEL", "debug")
        shipped = spec.load(spec.shipped())
        chosen = [worker for worker in shipped.workers if worker.name in ("berlin", "tokyo")]
        changed = [w.model_copy(update={"source": "agent"}) if w.name == "berlin" else w for w in chosen]
        two = shipped.model_copy(update={"workers": changed})
        with running(two, tmp_path_factory.mktemp("wordy"), spec.shipped()) as found:
            yield found
