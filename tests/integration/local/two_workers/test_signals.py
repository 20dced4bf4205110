"""Levels of a program's log and its queues, by signal."""

import re
import signal
import time

QUEUE = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: told}
"""


def until(condition, what, seconds=120):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"did not come about: {what}"
        time.sleep(0.1)
    return found


def test_signals_change_the_level_and_write_the_queues(federation, kubectl):
    kubectl("apply", "-f", "-", stdin=QUEUE)
    kubectl.wait("clusterqueue/told", "condition=Active")
    process, log = federation.running["agent-quick"].handle(), federation.layout.log("agent-quick")
    process.send_signal(signal.SIGUSR1)
    until(lambda: "the log's level is debug now" in log.read_text(), "the level is debug")
    process.send_signal(signal.SIGUSR1)
    until(lambda: "the log's level is info now" in log.read_text(), "the level is info again")
    process.send_signal(signal.SIGUSR2)
    until(lambda: re.search(r"ClusterQueue told, cohort .*: Ready, \d+ hold quota", log.read_text()), "queues are told")
