from collections.abc import Iterator

import pytest

from hub.local import spec
from hub.local.federation import Federation
from tests.local_federation import Kubectl, running
from worker_agent.api import names


@pytest.fixture(scope="package")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    """The demo's manager, a worker that dials in and one with a kubeconfig, all as wordy as they can be.

    Every test leaves both in the federation, and no job behind.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FEDHUB_LOG_LEVEL", "debug")
        shipped = spec.load(spec.shipped())
        chosen = [worker for worker in shipped.workers if worker.name in ("berlin", "tokyo")]
        changed = [w.model_copy(update={"source": "agent"}) if w.name == "berlin" else w for w in chosen]
        two = shipped.model_copy(update={"workers": changed})
        with running(two, tmp_path_factory.mktemp("wordy"), spec.shipped()) as found:
            yield found


@pytest.fixture(scope="module")
def berlin_alone(federation: Federation) -> Iterator[None]:
    """The worker that dials in gets every job, for tokyo is cordoned as long."""
    annotate = ("annotate", "multikueuecluster/tokyo", "--overwrite")
    manager = Kubectl(federation, "manager")
    manager(*annotate, f"{names.CORDONED_ANNOTATION}=true")
    yield
    manager(*annotate, f"{names.CORDONED_ANNOTATION}-")
