"""Topics on a GPU: kernels that are compiled at run time, and values that live on the device.

`kernels/` holds CUDA C++. `device.py` is the machine: arrays and launches. What a learner adds and subtracts is in
`word_total.py`; `topics.py` is the local step. Nothing here is imported before a GPU is asked for.
"""
