"""Tests against real control planes: the embedded API server held against them, and every suite run on both.

``clusters`` starts API servers of either sort on a loop of its own; ``differential/`` sends the same requests to both;
``test_kubectl`` types the same commands; ``test_suites`` runs the integration suites on each sort and prints the table;
``test_installation`` has a row for each file that starts clusters of its own, and is a tier by itself.
"""
