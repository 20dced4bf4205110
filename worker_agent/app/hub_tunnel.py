"""The tunnel to the hub as part of the agent: what it may do follows from the settings and the kinds this agent serves.

Nothing is dialled before the cluster has joined (``fedhub-agent join``).
"""

from dataclasses import dataclass

from worker_agent.api.meta import Key, ObjectMeta
from worker_agent.api.resource_type import PODS, WORKLOADS, ResourceType
from worker_agent.app.agent import Agent
from worker_agent.app.configuration import Configuration
from worker_agent.engine import fencing
from worker_agent.tunnel import allow_list
from worker_agent.tunnel.allow_list import AllowList, Rule
from worker_agent.tunnel.api_request import ApiRequest
from worker_agent.tunnel.gatekeeper import Gatekeeper
from worker_agent.tunnel.link import LinkMetrics, Surroundings
from worker_agent.tunnel.objects import Head, ObjectRules
from worker_agent.tunnel.service import TunnelService
from worker_agent.tunnel.traces import OurTraces


def attach(agent: Agent) -> TunnelService | None:
    """Adds the tunnel to ``agent``: the leading replica dials. None where the settings switch it off."""
    settings = agent.configuration.settings
    if not settings.hub_tunnel.enable:
        return None
    metrics = agent.metrics.tunnel
    known, list_ = _Known(agent), allowed(agent.configuration)
    gatekeeper = Gatekeeper(
        agent.surroundings.transport,
        ObjectRules(list_, OurTraces(list_.origin, known.of_kind).has),
        agent.clock,
        known=known.head,
        told=metrics.answered,
    )
    surroundings = Surroundings(
        gatekeeper,
        agent.clock,
        cluster_uid="",
        heartbeat=settings.hub_tunnel.heartbeat.total_seconds(),
        metrics=LinkMetrics(metrics.linked, metrics.leads, metrics.dialled, metrics.traffic),
    )
    service = TunnelService(agent.client, settings.namespace, surroundings)
    agent.add_always(service.informer.run)
    agent.add(service.run)
    return service


def allowed(configuration: Configuration) -> AllowList:
    """What the hub may do in the cluster of an agent with these settings."""
    settings = configuration.settings
    stanza, origin = settings.hub_tunnel, settings.multi_kueue.origin
    kinds = [kind.resource for kind in configuration.kinds.values()]
    lease = Key(settings.namespace, fencing.lease_name(origin))
    more = [
        Rule(rule.api_group, rule.resource, frozenset(rule.verbs), namespaced=rule.namespaced)
        for rule in stanza.additional_rules
    ]
    return AllowList(
        origin=origin,
        rules=(*allow_list.default_rules(kinds), allow_list.leases([lease]), *more),
        namespaces=tuple(stanza.namespaces),
        protected=(settings.namespace, *stanza.protected_namespaces),
    )


@dataclass(frozen=True, slots=True)
class _Known:
    """What the agent's own informers hold, so that most writes of the hub cost no extra read."""

    agent: Agent

    def head(self, asked: ApiRequest) -> Head | None:
        resource = self._resource(asked)
        return None if resource is None else self._head(resource, Key(asked.namespace, asked.name))

    def of_kind(self, group: str, kind: str, key: Key) -> Head | None:
        """A Workload, job or pod that the agent follows."""
        for resource in (WORKLOADS, PODS, *(each.resource for each in self.agent.configuration.kinds.values())):
            if (resource.group, resource.kind) == (group, kind):
                return self._head(resource, key)
        return None

    def _head(self, resource: ResourceType, key: Key) -> Head | None:
        if not self.agent.known.follows(resource):
            return None
        found = self.agent.known.informer(resource).get(key)
        if found is None:
            return None
        if not isinstance(found, dict):
            return Head(metadata=found.metadata)
        metadata = found.get("metadata") or {}
        labels, annotations = metadata.get("labels"), metadata.get("annotations")
        uid = metadata.get("uid", "")
        return Head(
            metadata=ObjectMeta(name=key.name, namespace=key.namespace, uid=uid, labels=labels, annotations=annotations)
        )

    def _resource(self, asked: ApiRequest) -> ResourceType | None:
        kinds = self.agent.configuration.kinds.values()
        for resource in (WORKLOADS, *(kind.resource for kind in kinds)):
            if (resource.group, resource.plural) == (asked.group, asked.resource):
                return resource
        return None
