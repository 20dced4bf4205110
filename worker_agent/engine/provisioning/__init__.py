"""The admission check that asks an autoscaler for room: ProvisioningRequests of Workloads that hold quota.

In reading order: ``view`` (what a decision is given), ``request_names``, ``need`` (which pod sets are asked for, and
which count as one), ``check_states`` (what the autoscaler's answer means for the check), ``request_objects`` (the
objects that ask), ``decision`` (one reconcile), ``check_activity`` (whether an AdmissionCheck can work at all).

Source: spec/tas section 19.
"""
