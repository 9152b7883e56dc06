"""Conformance suites for policies and environments that users write themselves."""

from mogro.testing.environments import check_environment

__all__ = ["check_environment"]
