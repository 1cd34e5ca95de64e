"""Configs as dicts, text or files."""

import json
import os
from collections.abc import Iterable, Mapping

from . import _core


def _plain(value):
    """What JSON does not know: numbers and arrays of NumPy, and paths."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"a config has no values of type {type(value).__name__}")


def given(config, overrides: str | Iterable[str] = ()) -> _core.Config:
    if isinstance(overrides, str):
        overrides = [overrides]
    if isinstance(config, Mapping):
        # JSON is YAML.
        return _core.Config("", json.dumps(config, default=_plain, ensure_ascii=False), list(overrides))
    if isinstance(config, os.PathLike) or (
        isinstance(config, str) and "\n" not in config and config.endswith((".yaml", ".yml"))
    ):
        return _core.Config(os.fspath(config), "", list(overrides))
    if isinstance(config, str):
        return _core.Config("", config, list(overrides))
    raise TypeError(f"config is a dict, YAML text or the path of a YAML file, not {type(config).__name__}")
