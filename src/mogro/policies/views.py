"""Policies in a console and in a notebook."""

import dataclasses
from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

_MAX_NUMBERS = 12  # numbers that an array may have to be shown


def changed_settings(policy: Any) -> dict[str, Any]:
    """Return the hyper-parameters of a policy that differ from their defaults, in words."""
    settings = {}
    for field in dataclasses.fields(policy):
        value = getattr(policy, field.name)
        is_default = field.default is not dataclasses.MISSING and repr(value) == repr(field.default)
        if field.init and not is_default:
            is_large = isinstance(value, np.ndarray) and value.size > _MAX_NUMBERS
            text = " ".join(repr(value).split())  # of an array, without line breaks
            settings[field.name] = f"<array {value.shape}>" if is_large else text
    return settings


def html_table(title: str, rows: Mapping[str, object]) -> str:
    """Return names and values as a table."""
    cells = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td>{escape(str(value))}</td></tr>'
        for name, value in rows.items()
    )
    return f"<table><caption>{title}</caption>{cells}</table>"
