"""The demo's jobs: as many as asked, all templates in turn, none of the templates changed."""

import copy

import pytest

from hub.local import demo_jobs, spec
from hub.local.demo_jobs import RUN_LABEL


def template(name):
    return {"metadata": {"name": name, "labels": {"a": "b"}}, "spec": {}}


def test_as_many_jobs_as_asked_with_distinct_names():
    made = demo_jobs.make([template("x"), template("y")], 25, "run1")
    assert len({job["metadata"]["name"] for job in made}) == 25
    assert all(job["metadata"]["labels"] == {"a": "b", RUN_LABEL: "run1"} for job in made)


def test_templates_are_left_as_they_are():
    templates = [template("x")]
    before = copy.deepcopy(templates)
    demo_jobs.make(templates, 3, "run1")
    assert templates == before


def test_thirty_jobs_use_every_shipped_template():
    templates = spec.documents(spec.shipped() / "jobs")
    made = demo_jobs.make(templates, 30, "r")
    assert {job["metadata"]["name"].rsplit("-", 2)[0] for job in made} == {t["metadata"]["name"] for t in templates}


def test_no_template_is_an_error():
    with pytest.raises(ValueError, match="no manifest"):
        demo_jobs.make([], 1, "r")


def test_the_job_to_be_looked_at_is_the_wide_one_and_lasts_longer():
    [to_look_at] = [each for each in spec.documents(spec.shipped()) if each.get("kind") == "Job"]
    [wide] = [each for each in spec.documents(spec.shipped() / "jobs") if each["metadata"]["name"] == "wide"]
    annotations = to_look_at["spec"]["template"]["metadata"]["annotations"]
    assert float(annotations["fedhub.dev/run-seconds"]) >= 120
    wide["spec"]["template"]["metadata"]["annotations"] = annotations
    assert to_look_at == wide
