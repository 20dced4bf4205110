"""Where workloads are judged: ``evaluator`` (the seam), ``inline`` (the default), ``ray_pool`` (actors), ``auto`` (by
cost), ``replay`` (telling a newcomer all that is known). All answer alike; ``ray_pool`` alone imports Ray, when asked.
"""
