"""``fedhub kueue version``."""

from typing import TYPE_CHECKING, Final

import msgspec

from hub.cli import flag_groups
from hub.cli.kueue.connection import Connection

if TYPE_CHECKING:
    from worker_agent.kube.client import Client

_DEPLOYMENTS: Final = (
    ("Kueue Controller Manager", "kueue-system", "kueue-controller-manager", "manager"),
    ("fedhub Hub", "fedhub-system", "fedhub-hub", "hub"),
    ("fedhub Agent", "fedhub-system", "fedhub-agent", "agent"),
)
"""What may run on a cluster: what it is called, and the namespace, Deployment and container it runs in."""


@flag_groups.expanded
def version(connection: Connection) -> None:
    """Print the version of this program and the images of what runs on the cluster.

    Example: fedhub kueue version --context manager
    """
    from worker_agent.api.program_version import VERSION  # noqa: PLC0415 - slow imports wait
    from worker_agent.api.resource_type import DEPLOYMENTS  # noqa: PLC0415
    from worker_agent.kube.errors import NotFound  # noqa: PLC0415

    print(f"Client Version: v{VERSION}")

    async def work(client: "Client", _: str) -> None:
        for told, namespace, name, container in _DEPLOYMENTS:
            try:
                deployment = msgspec.json.decode(await client.get(DEPLOYMENTS, name, namespace))
            except NotFound:
                continue
            containers = deployment["spec"]["template"]["spec"]["containers"]
            image = next((each["image"] for each in containers if each["name"] == container), containers[0]["image"])
            print(f"{told} Image: {image}")

    connection.run(work)
