"""``fedhub-agent explain``: why a workload of a live cluster has no room, and what would change that."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.cli import structured
from worker_agent.cli.program_options import Config, FeatureGates
from worker_agent.cli.run_command import Context
from worker_agent.cli.structured import Output

if TYPE_CHECKING:
    from worker_agent.api.meta import Key
    from worker_agent.engine.policy import Policy
    from worker_agent.engine.story_explanation import Explanation
    from worker_agent.kube.client import Client
    from worker_agent.kube.transport import Transport

Workload = Annotated[str, typer.Argument(help="The workload as NAMESPACE/NAME, or its job.")]
Kubeconfig = Annotated[
    Path | None,
    typer.Option(help="Kubeconfig of the cluster; without it KUBECONFIG or ~/.kube/config, in a pod its account."),
]
Format = Annotated[Output, typer.Option("--output", "-o", help="How the answer is printed.")]

SIMILAR_SHOWN = 5


class UnknownWorkload(Exception):
    """No workload and no job of this name; the text lists similar ones."""


def explain(
    workload: Workload,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    config: Config = None,
    feature_gates: FeatureGates = "",
    output: Format = Output.TEXT,
) -> None:
    """Say where a workload stands in its queue, what is short in each flavor, who uses it, and what would let it in.

    Reads the cluster, writes nothing. Pass the --config and --feature-gates of the agent where it has any. Exits with
    1 where there is no answer (no such workload, no access, no server), with 2 for wrong use.

    Examples:

    fedhub-agent explain team-a/job-train-7-1f2e3 --context oregon

    fedhub-agent explain team-a/train-7 -o wide, the workload of a job, with everybody ahead of it

    fedhub-agent explain team-a/train-7 -o json | jq '.remedies[].text'
    """
    import asyncio  # noqa: PLC0415 - imports that take long wait until they are needed

    from worker_agent.api.meta import Key  # noqa: PLC0415
    from worker_agent.app import configuration  # noqa: PLC0415
    from worker_agent.cli import live_state, process  # noqa: PLC0415
    from worker_agent.engine.feature_gates import FeatureGateError  # noqa: PLC0415
    from worker_agent.kube.errors import ApiError  # noqa: PLC0415
    from worker_agent.kube.kubeconfig import KubeconfigError  # noqa: PLC0415
    from worker_agent.settings import AgentSettings  # noqa: PLC0415
    from worker_agent.settings_source import SettingsError, load  # noqa: PLC0415

    key = Key.parse(workload)
    if not key.namespace or not key.name or "/" in key.namespace:
        _fail(f"{workload!r}: must be NAMESPACE/NAME", 2)
    try:
        policy = configuration.resolve(load(AgentSettings, config, feature_gates)).policy
        transport = process.connect(kubeconfig, context)
        told = asyncio.run(_ask(transport, policy, key))
    except (SettingsError, configuration.ConfigurationError, FeatureGateError, KubeconfigError) as error:
        _fail(error, 2)
    except ConnectionError as error:
        _fail(f"the API server cannot be reached: {error}", 1)
    except ApiError as error:
        _fail(error.message, 1)
    except (UnknownWorkload, live_state.LiveStateError) as error:
        _fail(error, 1)
    if not output.for_people:
        structured.write(told, output)
        return
    from worker_agent.cli import explanation_text  # noqa: PLC0415

    for line in explanation_text.lines(told, full=output is Output.WIDE):
        print(line)


async def _ask(transport: "Transport", policy: "Policy", key: "Key") -> "Explanation":
    from worker_agent.kube.client import Client  # noqa: PLC0415
    from worker_agent.kube.clock import SystemClock  # noqa: PLC0415

    client = Client(transport, SystemClock(), user_agent="fedhub-agent explain")
    try:
        return await ask(client, policy, key)
    finally:
        await transport.close()


async def ask(client: "Client", policy: "Policy", key: "Key") -> "Explanation":
    """The explanation of the workload (or of the job) of this name.

    Raises UnknownWorkload, LiveStateError, ApiError, ConnectionError.
    """
    import msgspec  # noqa: PLC0415

    from worker_agent.api.resource_type import WORKLOADS  # noqa: PLC0415
    from worker_agent.api.workload import Workload  # noqa: PLC0415
    from worker_agent.cli import live_state  # noqa: PLC0415
    from worker_agent.engine import story_explanation  # noqa: PLC0415

    now = client.clock.now()
    state, problems = await live_state.read(client, policy, now)
    documents = [msgspec.json.decode(raw) for raw in (await client.list(WORKLOADS, key.namespace)).items]
    found = named(documents, key)
    view = msgspec.json.decode(msgspec.json.encode(found), type=Workload, strict=False)
    # Read again after the rest: the newest version decides, and the state must know the same.
    state.put_workload(view, now)
    for problem in problems:
        print(f"note: {problem}", file=sys.stderr)
    if not await live_state.decides_alike(client, policy):
        print("note: the agent runs with other settings: pass its --config and --feature-gates", file=sys.stderr)
    told = story_explanation.explain(state, view, now)
    if not story_explanation.open_checks(view):
        return told
    return msgspec.structs.replace(told, checks=await live_state.checks_of(client, found))


def named(documents: Iterable[Document], key: "Key") -> Document:
    """The Workload of this name, else the newest of the job of this name, also where only a hub's copy of it is.

    Raises UnknownWorkload.
    """
    known = list(documents)
    by_name = {str(document["metadata"]["name"]): document for document in known}
    if key.name in by_name:
        return by_name[key.name]
    owned = [document for document in known if _owner(document) == key.name] or [
        document for document in known if _is_copy_for(document, key.name)
    ]
    if owned:
        return max(owned, key=lambda document: str(document["metadata"].get("creationTimestamp")))
    similar = [name for name in sorted(by_name) if key.name in name or name in key.name][:SIMILAR_SHOWN]
    hint = f"; similar: {', '.join(similar)}" if similar else f"; the namespace has {len(known)} workload(s)"
    raise UnknownWorkload(f"no workload and no job {key.name} in namespace {key.namespace}{hint}")


def _is_copy_for(document: Document, job: str) -> bool:
    """Copies have no owner on a worker before their job is made there; their names are <kind>-<job>-<hash>."""
    kind, _, rest = str(document["metadata"]["name"]).partition("-")
    is_copy = names.MULTIKUEUE_ORIGIN_LABEL in (document["metadata"].get("labels") or {})
    return is_copy and _owner(document) is None and bool(kind) and rest.rpartition("-")[0] == job


def _owner(document: Document) -> Any:
    owners = document["metadata"].get("ownerReferences") or ()
    return next((owner.get("name") for owner in owners if owner.get("controller")), None)


def _fail(problem: object, code: int) -> NoReturn:
    print(f"error: {problem}", file=sys.stderr)
    raise typer.Exit(code)
