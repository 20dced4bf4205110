"""Reviews that no API server should send, sent to a real webhook server: ``python -m tests.fuzzed_reviews 10000``.

``seeds`` (real reviews of every kind), ``mutation`` (what is done to them), ``attack`` (sent, timed and judged).
"""
