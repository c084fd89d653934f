"""Engines to test: the kernels in a host build, and on the GPU where there is one."""

import pytest

from topmix.engines.cuda import Cuda

from .emulated import Emulated


def _has_gpu() -> bool:
    try:
        Cuda().opened().close()
    except (ImportError, RuntimeError):
        return False
    return True


ENGINES = {"emulated": Emulated()} | ({"gpu": Cuda()} if _has_gpu() else {})


@pytest.fixture(params=ENGINES)
def engine(request):
    return ENGINES[request.param]
