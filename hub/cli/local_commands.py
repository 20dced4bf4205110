"""``fedhub up``, ``down`` and ``status``: a federation on this machine, without Docker or Kubernetes."""

from pathlib import Path
from typing import Annotated, Any

import typer

from hub.cli import output
from hub.cli.output import Format

StateFolder = Annotated[
    Path, typer.Option("--state", help="Folder for the federation's files.", envvar="FEDHUB_STATE", show_default=True)
]
ManifestFolder = Annotated[
    Path | None,
    typer.Option("--manifests", help="Folder with federation.yaml, manager/, workers/ (default: the demo's)."),
]
Real = Annotated[
    bool,
    typer.Option("--real", help="Real control planes (etcd, kube-apiserver, ...) from the folder KUBEBUILDER_ASSETS."),
]
DEFAULT_STATE = Path(".fedhub")


def up(
    state: StateFolder = DEFAULT_STATE,
    manifests: ManifestFolder = None,
    persistent: Annotated[bool, typer.Option(help="Keep objects on disk, so that the next start finds them.")] = False,
    real: Real = False,
) -> None:
    """Start one manager and its workers on this machine and leave them running.

    Example: fedhub up && export KUBECONFIG=$PWD/.fedhub/kubeconfig && kubectl get clusterqueues
    """
    import asyncio  # noqa: PLC0415 - imports that take long wait until they are needed

    from hub.local import spec  # noqa: PLC0415
    from hub.local.federation import Federation, FederationError  # noqa: PLC0415
    from hub.local.layout import Layout  # noqa: PLC0415

    folder = manifests or spec.shipped()
    try:
        federation = Federation(spec.load(folder), folder, Layout(state.resolve()), persistent=persistent, real=real)
    except spec.SpecError as error:
        output.fail(error, 2)
    try:
        asyncio.run(federation.up(output.say))
    except (FederationError, KeyboardInterrupt) as error:
        federation.down()
        output.fail(error if str(error) else "interrupted", 130 if isinstance(error, KeyboardInterrupt) else 1)
    tell_access(federation.layout, [cluster.name for cluster in federation.spec.clusters])


def down(state: StateFolder = DEFAULT_STATE) -> None:
    """Stop the federation that `fedhub up` or `fedhub demo --keep` left running.

    Example: fedhub down
    """
    from hub.local import federation, processes  # noqa: PLC0415
    from hub.local.layout import Layout  # noqa: PLC0415

    layout = Layout(state.resolve())
    alive = [process for process in processes.saved(layout.processes) if process.alive]
    federation.stop(alive)
    layout.processes.unlink(missing_ok=True)
    output.say(f"stopped {len(alive)} processes" if alive else f"nothing runs in {layout.root}")


def status(
    state: StateFolder = DEFAULT_STATE,
    output_format: Annotated[Format, typer.Option("--output", "-o", help="Output format.")] = Format.TABLE,
) -> None:
    """Show the processes of the federation on this machine. Exits with 1 when one of them is down, or none is there.

    Example: fedhub status -o wide
    """
    from hub.local import processes  # noqa: PLC0415
    from hub.local.layout import Layout  # noqa: PLC0415

    records = processes.saved(Layout(state.resolve()).processes)
    if not records:
        output.fail(f"no federation runs in {state.resolve()}; start one with: {output.hint('up', state.resolve())}")
    rows = [_row(process) for process in records]
    if output_format in (Format.JSON, Format.YAML):
        output.structured(rows, output_format)
    else:
        columns = ["name", "state", "pid", "cpu", "memory"] + (["log"] if output_format is Format.WIDE else [])
        output.table(columns, [[str(row[column]) for column in columns] for row in rows])
    if any(row["state"] != "Running" for row in rows):
        raise typer.Exit(1)


def _row(process: Any) -> dict[str, str | int]:
    handle = process.handle()
    if handle is None:
        return {"name": process.name, "state": "Ended", "pid": process.pid, "cpu": "", "memory": "", "log": process.log}
    with handle.oneshot():
        times, memory = handle.cpu_times(), handle.memory_info().rss
    return {
        "name": process.name,
        "state": "Running",
        "pid": process.pid,
        "cpu": f"{times.user + times.system:.1f}s",
        "memory": f"{memory / 2**20:.0f}Mi",
        "log": process.log,
    }


def tell_access(layout: Any, contexts: list[str]) -> None:
    """How to reach the clusters with kubectl, on standard output so that it can be copied."""
    print(f"export KUBECONFIG={layout.kubeconfig}")
    for context in contexts:
        print(f"kubectl --context {context} get clusterqueues,workloads -A")
    output.say(f"stop it with: {output.hint('down', layout.root)}")
