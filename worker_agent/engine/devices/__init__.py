"""Device claims (Dynamic Resource Allocation) as quota resources (spec/engine 3.7).

In reading order: ``mappings`` (which DeviceClass counts as which quota resource), ``inventory`` (what is known of
claims and devices), ``problem`` (why a claim cannot be served), ``selectors`` (CEL on devices), ``claims`` (devices
counted one by one), ``measured`` (devices charged by a counter or a capacity), ``extended`` (container requests that a
DeviceClass serves), ``resolution`` (all of it for one Workload).
"""
