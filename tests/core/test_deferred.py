"""Names that are imported at first use: what is found, and what is said of a name that there is not."""

import importlib
import json.decoder

import pytest

from mlsched.core.deferred import imported_at_first_use

PACKAGES = ("mlsched", "mlsched.api", "mlsched.solvers", "mlsched.testing")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_found(package):
    module = importlib.import_module(package)
    missing = [name for name in module.__all__ if getattr(module, name, None) is None]
    assert not missing


@pytest.mark.parametrize("package", PACKAGES)
def test_a_name_that_there_is_not(package):
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'solv'"):
        getattr(importlib.import_module(package), "solv")  # noqa: B009


def test_a_name_or_the_module_itself():
    look_up = imported_at_first_use("json", {"JSONDecoder": "decoder", "reader": "decoder:"})
    assert look_up("JSONDecoder") is json.decoder.JSONDecoder
    assert look_up("reader") is json.decoder
