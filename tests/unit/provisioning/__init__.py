"""Deciding on ProvisioningRequests, on values alone."""
