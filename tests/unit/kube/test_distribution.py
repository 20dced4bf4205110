"""Values in buckets."""

from worker_agent.kube.distribution import Distribution


def spread(*values):
    made = Distribution((1.0, 2.0))
    for value in values:
        made.observe(value)
    return made


def test_a_bound_belongs_to_its_bucket():
    assert list(spread(0.5, 1.0, 1.5, 9.0).cumulative()) == [("1.0", 2), ("2.0", 3), ("+Inf", 4)]


def test_two_become_one():
    whole = spread(0.5)
    whole.add(spread(1.5, 3.0))
    assert list(whole.cumulative()) == [("1.0", 1), ("2.0", 2), ("+Inf", 3)]
    assert whole.total == 5.0
