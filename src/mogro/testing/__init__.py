"""Checks that users can run on policies and environments of their own."""

from mogro.testing.environments import check_environment
from mogro.testing.policies import check_policy

__all__ = ["check_environment", "check_policy"]
