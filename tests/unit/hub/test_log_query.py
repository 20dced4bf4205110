"""What of a log is asked for, as the API server names it."""

import pytest

from hub.app.remote_pods import LogQuery
from worker_agent.kube.errors import BadRequest


def test_parameters_survive_the_way():
    query = LogQuery("c", follow=True, timestamps=True, tail_lines=0, since_seconds=60)
    assert LogQuery.parse(dict(query.pairs())) == query
    assert LogQuery.parse({}) == LogQuery()


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ({"follow": "yes"}, "follow: must be true or false"),
        ({"tailLines": "-1"}, "tailLines: must be a whole number of at least 0"),
        ({"sinceSeconds": "0"}, "sinceSeconds: must be a whole number of at least 1"),
        ({"sinceSeconds": "٣"}, "sinceSeconds: must be a whole number"),
    ],
)
def test_wrong_parameter_is_named(query, problem):
    with pytest.raises(BadRequest, match=problem):
        LogQuery.parse(query)
