"""Which evaluator the settings ask for."""

from hub.app.configuration import FederationConfiguration
from hub.evaluation.auto import AutoEvaluator, CostModel
from hub.evaluation.evaluator import Evaluator
from hub.evaluation.inline import InlineEvaluator
from hub.evaluation.ray_pool import RayOptions, RayPool
from hub.evaluation.replay import Replay
from worker_agent.engine.policy import Policy
from worker_agent.kube.clock import Clock


def make(configuration: FederationConfiguration, policy: Policy, clock: Clock, replay: Replay) -> Evaluator:
    """``inline``, ``ray``, or ``auto``: inline until Ray pays."""
    options = RayOptions(configuration.ray_actors, configuration.ray_address)
    if configuration.evaluation == "ray":
        return RayPool(policy, clock, replay, options)
    inline = InlineEvaluator(policy, clock, threaded=configuration.threaded)
    if configuration.evaluation == "inline":
        return inline
    model = CostModel(budget=configuration.inline_budget, actors=configuration.ray_actors)
    return AutoEvaluator(inline, lambda assumed: RayPool(policy, clock, replay, options, assumed), clock, model)
