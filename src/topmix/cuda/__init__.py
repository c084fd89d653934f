"""Topics and mixtures on a GPU: kernels that are compiled at run time, and values that live on the device.

`kernels/` holds CUDA C++. `device.py` is the machine: arrays, launches, and room for more. What shards report, and
learners add and subtract, is in `words.py` and `gaussian.py`; the local steps are in `topics.py` and `mixture.py`. CuPy
is not imported before a GPU is asked for.

Kernels also run without a GPU: tests/cuda/emulate.hpp defines the words of CUDA that they use, for a host compiler. So
the whole engine is tested everywhere, in several orders of the lanes, which shows missing barriers.
"""
