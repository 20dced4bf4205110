"""The official client is used without loading all of it."""

import subprocess
import sys

PROGRAM = """
import sys
from worker_agent.kube import official_client
first, second = official_client.rest_client(host="https://a"), official_client.rest_client(host="https://b")
assert type(first) is type(second)
print(sum(name.startswith("kubernetes") for name in sys.modules))
import kubernetes.aio.client
print(kubernetes.aio.client.V1Pod.__name__)
assert official_client.rest_client(host="https://c").ssl_context
"""


def test_its_models_are_not_loaded_and_may_be_loaded_later():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["0", "V1Pod"], done.stderr
