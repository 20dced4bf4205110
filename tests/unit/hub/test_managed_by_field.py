"""The manager's API server is asked once whether it keeps managedBy, without effect on it."""

import logging

import msgspec
import pytest

from hub.controllers.managed_by_field import ManagedByField
from tests.unit.hub.groups import BATCH_JOB, job
from worker_agent.kube.errors import Forbidden


class Asked:
    """A client of which only ``raw`` is used; answers with what it is sent, changed by ``keep``."""

    def __init__(self, keep):
        self.keep = keep
        self.requests = []

    async def raw(self, request):
        self.requests.append(request)
        return msgspec.json.encode(self.keep(msgspec.json.decode(request.body)))


def without_field(document):
    del document["spec"]["managedBy"]
    return document


def refused(document):
    raise Forbidden(403, "Forbidden", "no")


def running_job():
    found = job(managed_by="")
    found["spec"]["template"]["metadata"] = {"labels": {"batch.kubernetes.io/job-name": "job", "app": "a"}}
    found["spec"]["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": "1"}}
    return found


async def test_the_question_has_no_effect_and_asks_for_a_job_like_this_one():
    client = Asked(without_field)
    assert await ManagedByField(client).is_dropped(BATCH_JOB, running_job())
    (request,) = client.requests
    assert (request.method, ("dryRun", "All") in request.query) == ("POST", True)
    body = msgspec.json.decode(request.body)
    assert body["metadata"] == {"labels": {"app": "train"}, "generateName": "job-"}
    assert body["spec"]["template"]["metadata"] == {"labels": {"app": "a"}}
    assert "selector" not in body["spec"]


@pytest.mark.parametrize(("keep", "dropped"), [(without_field, True), (lambda document: document, False)])
async def test_it_is_asked_once(keep, dropped):
    client = Asked(keep)
    field = ManagedByField(client)
    assert [await field.is_dropped(BATCH_JOB, running_job()) for _ in range(3)] == [dropped] * 3
    assert len(client.requests) == 1


async def test_a_refusal_teaches_nothing():
    client = Asked(refused)
    field = ManagedByField(client)
    for _ in range(2):
        with pytest.raises(Forbidden):
            await field.is_dropped(BATCH_JOB, running_job())
    assert len(client.requests) == 2


async def test_an_operator_is_told_what_an_older_server_means(caplog):
    caplog.set_level(logging.WARNING)
    await ManagedByField(Asked(without_field)).is_dropped(BATCH_JOB, running_job())
    assert "does not keep spec.managedBy of Job objects" in caplog.text
