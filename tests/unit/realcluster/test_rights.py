"""Rights judged by what an audit log says of the programs."""

import json

import pytest

from hub.app import roles
from hub.local.real import accounts
from tests.realcluster import rights, rights_log
from worker_agent.aggregated.registration import KEPT


def line(account="fedhub-agent", verb="patch", code=200, message="", agent="fedhub-agent", **what):
    reference = {"resource": "jobs", "apiGroup": "batch", "namespace": "ns", "name": "j", **what}
    event = {
        "stage": "ResponseComplete",
        "verb": verb,
        "user": {"username": f"{rights_log.USER_PREFIX}{account}"},
        "userAgent": agent,
        "objectRef": reference,
        "responseStatus": {"code": code, "message": message},
    }
    return json.dumps(event).encode()


def asked(*lines):
    return list(rights_log.parsed(lines))


FORBIDDEN = 'jobs "j" is forbidden: User "system:serviceaccount:..." cannot patch resource'


def test_others_and_half_written_lines_do_not_count():
    other = line().replace(rights_log.USER_PREFIX.encode(), b"")
    assert asked(other, line()[:40]) == []


def test_what_roles_do_not_allow_is_a_refusal():
    assert [one.message for one in rights.refused(asked(line(code=403, message=FORBIDDEN), line()))] == [FORBIDDEN]


def test_what_a_webhook_or_quota_refuses_is_none():
    assert rights.refused(asked(line(code=403, message="admission webhook denied the request"))) == []


def test_what_the_hub_only_looks_for_on_a_worker_may_be_refused():
    look = {"account": roles.DISPATCH, "code": 403, "message": FORBIDDEN, "apiGroup": "", "resource": "secrets"}
    assert rights.refused(asked(line(verb="get", **look))) == []
    assert rights.refused(asked(line(verb="patch", **look))) != []


def test_an_apply_that_made_the_object_needed_the_right_to_create():
    assert [one.verb for one in asked(line(code=201))] == ["create"]


@pytest.mark.parametrize(("agent", "role"), [("fedhub-agent", roles.AGENT), ("x (for its hub)", roles.DISPATCH)])
def test_an_agent_that_dials_uses_one_role_for_itself_and_one_for_its_hub(agent, role):
    idle = rights.unused(asked(line(account=accounts.MEMBER, agent=agent)))
    places = {(one.role, one.resource, one.verb) for one in idle}
    assert (role, "jobs.batch", "patch") not in places
    assert len({r for r in (roles.AGENT, roles.DISPATCH) if (r, "jobs.batch", "patch") in places}) == 1


def test_what_agents_used_the_hub_may_keep():
    (one,) = [
        u for u in rights.unused(asked(line())) if (u.role, u.resource, u.verb) == (roles.HUB, "jobs.batch", "patch")
    ]
    assert one.reason == rights.AN_AGENT


def test_the_reason_is_the_one_beside_the_code():
    idle = rights.unused([])
    assert KEPT in {one.reason for one in idle if one.resource == "apiservices.apiregistration.k8s.io"}
    assert "" in {one.reason for one in idle if one.resource == "jobs.batch"}
