"""``fedhub kueue`` against an API server of the sort that ``--cluster`` names."""
