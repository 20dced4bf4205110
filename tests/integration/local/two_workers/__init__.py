"""Tests on a manager with two workers that start without queues: nodes come to both when they are asked for."""
