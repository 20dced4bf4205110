"""Service accounts of the programs on a real control plane, each with the rights of its role and no other.

A local federation of real clusters runs with what an installation grants, so that a right that is missing is missed
here, before it is missed there.
"""

from typing import Final

import msgspec

from hub.app import roles
from hub.local.apiserver import kubeconfig_files
from hub.local.apiserver.kubeconfig_files import Login
from worker_agent.aggregated import front_proxy
from worker_agent.api.document import Document
from worker_agent.api.need import Place
from worker_agent.api.resource_type import NAMESPACES, ResourceType
from worker_agent.kube.client import Client

RBAC_GROUP: Final = "rbac.authorization.k8s.io"
SERVICE_ACCOUNTS: Final = ResourceType("", "v1", "ServiceAccount", "serviceaccounts")
ROLES: Final = ResourceType(RBAC_GROUP, "v1", "Role", "roles")
ROLE_BINDINGS: Final = ResourceType(RBAC_GROUP, "v1", "RoleBinding", "rolebindings")
CLUSTER_ROLES: Final = ResourceType(RBAC_GROUP, "v1", "ClusterRole", "clusterroles", namespaced=False)
CLUSTER_ROLE_BINDINGS: Final = ResourceType(
    RBAC_GROUP, "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False
)
KINDS: Final = {found.kind: found for found in (ROLES, ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS)}

MEMBER: Final = "fedhub-member"
"""The agent of a cluster whose hub it dials: it asks in the hub's place too."""

ACCOUNTS: Final = {
    roles.AGENT: (roles.AGENT,),
    roles.HUB: (roles.HUB,),
    roles.DISPATCH: (roles.DISPATCH,),
    MEMBER: (roles.AGENT, roles.DISPATCH),
}
"""Whose rights each account has."""

TOKEN_SECONDS: Final = 24 * 3600
FIELD_MANAGER: Final = "fedhub-up"


def group(namespace: str) -> str:
    """The group of all accounts of a namespace."""
    return f"system:serviceaccounts:{namespace}"


async def install(client: Client, namespace: str, *, seeded: bool = False) -> None:
    """Accounts, roles and bindings; doing it twice is fine. The namespace is made where it is not there.

    On a cluster that began with a seed (``seed.make``) nothing but the namespace is missing: that spares it eighty
    writes, and this process the loading of all programs, which is how their roles are known.
    """
    await _apply(client, NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    if seeded:
        return
    for account, granted in ACCOUNTS.items():
        metadata = {"name": account, "namespace": namespace}
        await _apply(
            client, SERVICE_ACCOUNTS, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}, namespace
        )
        for program in granted:
            await _grant(client, namespace, account, program)


async def _grant(client: Client, namespace: str, account: str, program: str) -> None:
    granted = [*roles.documents(program, namespace), *roles.outside_documents(program, namespace)]
    for document in granted:
        await _apply(client, KINDS[document["kind"]], document, namespace)
    named = [(document["kind"], document["metadata"]["name"], namespace) for document in granted]
    if any(found.place is Place.FRONT_PROXY for found in roles.PROGRAMS[program]()):
        named.append(("Role", front_proxy.ROLE, front_proxy.NAMESPACE))
    for kind, name, where in named:
        await _apply(client, KINDS[f"{kind}Binding"], _binding(kind, name, account, (namespace, where)), where)


def _binding(kind: str, role: str, account: str, place: tuple[str, str]) -> Document:
    namespace, where = place
    metadata = {"name": f"{account}-{role}"}
    return {
        "apiVersion": f"{RBAC_GROUP}/v1",
        "kind": f"{kind}Binding",
        "metadata": metadata if kind == CLUSTER_ROLES.kind else {**metadata, "namespace": where},
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
    }


async def kubeconfig(client: Client, administrator: Document, namespace: str, account: str) -> Document:
    """As the administrator's, with a token of the account."""
    spec = {"expirationSeconds": TOKEN_SECONDS}
    asked: Document = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    made = await client.create(SERVICE_ACCOUNTS, asked, namespace, name=account, subresource="token")
    token = str(msgspec.json.decode(made)["status"]["token"])
    named = administrator["clusters"][0]
    found = kubeconfig_files.document(named["name"], named["cluster"]["server"], b"", Login(account, token=token))
    found["clusters"] = administrator["clusters"]
    return found


async def _apply(client: Client, resource: ResourceType, document: Document, namespace: str = "") -> None:
    where = namespace if resource.namespaced else ""
    await client.apply(resource, document["metadata"]["name"], where, document, field_manager=FIELD_MANAGER)
