import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from hub.local.apiserver.webhooks import WebhookAnswer, WebhookCall
from tests.unit.apiserver.world import CONFIG_MAPS, World, config_map

GROUP = "/apis/admissionregistration.k8s.io/v1"
RULE = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}


def hook(name: str = "check.example.com", **settings: Any) -> dict[str, Any]:
    return {
        "name": name,
        "clientConfig": {"url": "https://hook"},
        "rules": [RULE],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **settings,
    }


def install(world: World, kind: str, *hooks: dict[str, Any], name: str = "hooks") -> None:
    configuration = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": list(hooks),
    }
    assert world.post(f"{GROUP}/{kind.lower()}webhookconfigurations", configuration).status == 201


def answering(**response: Any) -> Callable[[WebhookCall], WebhookAnswer]:
    def answer(call: WebhookCall) -> WebhookAnswer:
        content = {"uid": call.review["request"]["uid"], "allowed": True, **response}
        return WebhookAnswer({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": content})

    return answer


def patching(*operations: dict[str, Any]) -> Callable[[WebhookCall], WebhookAnswer]:
    patch = base64.b64encode(json.dumps(operations).encode()).decode()
    return answering(patch=patch, patchType="JSONPatch")


def test_refusal_in_the_real_words(world: World) -> None:
    install(world, "Validating", hook())
    world.webhook = answering(allowed=False, status={"message": "no maps today", "code": 403, "reason": "Forbidden"})
    reply = world.post(CONFIG_MAPS, config_map("a"))
    assert reply.status == 403
    assert reply.message == 'admission webhook "check.example.com" denied the request: no maps today'


def test_refusal_without_a_word(world: World) -> None:
    install(world, "Validating", hook())
    world.webhook = answering(allowed=False)
    reply = world.post(CONFIG_MAPS, config_map("a"))
    assert reply.status == 400
    assert reply.message == 'admission webhook "check.example.com" denied the request without explanation'


def test_review_of_a_creation(world: World) -> None:
    install(world, "Validating", hook())
    world.webhook = answering()
    world.post(CONFIG_MAPS, config_map("a"))
    request = world.calls[0].review["request"]
    assert request["operation"] == "CREATE"
    assert request["resource"] == {"group": "", "version": "v1", "resource": "configmaps"}
    assert request["kind"] == {"group": "", "version": "v1", "kind": "ConfigMap"}
    assert (request["namespace"], request["name"]) == ("default", "a")
    assert request["object"]["metadata"]["uid"]
    assert request["oldObject"] is None
    assert request["userInfo"]["username"] == "kubernetes-admin"


def test_patch_of_a_mutating_hook_is_applied(world: World) -> None:
    install(world, "Mutating", hook())
    world.webhook = patching({"op": "add", "path": "/data/added", "value": "yes"})
    assert world.post(CONFIG_MAPS, config_map("a")).document["data"] == {"added": "yes"}


def test_update_and_deletion_are_reviewed(world: World) -> None:
    world.post(CONFIG_MAPS, config_map("a", {"k": "1"}))
    install(world, "Validating", hook())
    world.webhook = answering()
    world.patch(f"{CONFIG_MAPS}/a", {"data": {"k": "2"}})
    world.delete(f"{CONFIG_MAPS}/a")
    update, deletion = (call.review["request"] for call in world.calls)
    assert (update["operation"], update["oldObject"]["data"], update["object"]["data"]) == (
        "UPDATE",
        {"k": "1"},
        {"k": "2"},
    )
    assert (deletion["operation"], deletion["object"]) == ("DELETE", None)


def test_unreachable_hook_fails_the_write(world: World) -> None:
    install(world, "Validating", hook())
    reply = world.post(CONFIG_MAPS, config_map("a"))
    assert reply.status == 500
    assert reply.message == (
        'Internal error occurred: failed calling webhook "check.example.com": failed to call webhook: nobody listens'
    )


def test_unreachable_hook_may_be_ignored(world: World) -> None:
    install(world, "Validating", hook(failurePolicy="Ignore"))
    assert world.post(CONFIG_MAPS, config_map("a")).status == 201


@pytest.mark.parametrize(
    "settings",
    [
        {"rules": [{**RULE, "operations": ["UPDATE"]}]},
        {"rules": [{**RULE, "apiGroups": ["apps"]}]},
        {"rules": [{**RULE, "resources": ["configmaps/status"]}]},
        {"rules": [{**RULE, "scope": "Cluster"}]},
        {"namespaceSelector": {"matchLabels": {"team": "a"}}},
        {"objectSelector": {"matchExpressions": [{"key": "x", "operator": "Exists"}]}},
        {"matchConditions": [{"name": "c", "expression": "object.metadata.name != 'a'"}]},
    ],
)
def test_unconcerned_hook_is_not_called(world: World, settings: dict[str, Any]) -> None:
    install(world, "Validating", hook(**settings))
    assert world.post(CONFIG_MAPS, config_map("a")).status == 201
    assert world.calls == []


def test_warnings_reach_the_client(world: World) -> None:
    install(world, "Validating", hook())
    world.webhook = answering(warnings=["be careful"])
    assert ("warning", '299 - "be careful"') in world.post(CONFIG_MAPS, config_map("a")).headers


def test_earlier_hook_is_asked_again_when_a_later_one_changed_the_object(world: World) -> None:
    first, second = hook("first.example.com", reinvocationPolicy="IfNeeded"), hook("second.example.com")
    install(world, "Mutating", first, second)

    def answer(call: WebhookCall) -> WebhookAnswer:
        if call.webhook == "second.example.com":
            return patching({"op": "add", "path": "/data/second", "value": "yes"})(call)
        return answering()(call)

    world.webhook = answer
    world.post(CONFIG_MAPS, config_map("a"))
    assert [call.webhook for call in world.calls] == ["first.example.com", "second.example.com", "first.example.com"]


def test_hook_with_side_effects_refuses_a_dry_run(world: World) -> None:
    install(world, "Validating", hook(sideEffects="Some"))
    reply = world.post(f"{CONFIG_MAPS}?dryRun=All", config_map("a"))
    assert (reply.status, reply.message) == (
        400,
        'admission webhook "check.example.com" does not support dry run',
    )


def test_answer_to_another_question_is_a_failure(world: World) -> None:
    install(world, "Validating", hook())
    world.webhook = answering(uid="wrong")
    reply = world.post(CONFIG_MAPS, config_map("a"))
    assert reply.status == 500
    assert "received invalid webhook response: expected response.uid=" in reply.message


def test_service_reference_and_timeout_are_handed_on(world: World) -> None:
    service = {"namespace": "system", "name": "svc", "path": "/check"}
    install(world, "Validating", hook(clientConfig={"service": service, "caBundle": "Y2E="}, timeoutSeconds=3))
    world.webhook = answering()
    world.post(CONFIG_MAPS, config_map("a"))
    call = world.calls[0]
    assert (call.service, call.timeout, call.ca_bundle) == (("system", "svc", 443, "/check"), 3.0, b"ca")


def test_configurations_themselves_are_exempt(world: World) -> None:
    everything = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}
    install(world, "Validating", hook(rules=[everything]))
    install(world, "Validating", hook(), name="second")
    assert world.calls == []
