"""What a learner is asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from topmix.data.corpus import Corpus
from topmix.data.shard import Batches
from topmix.data.table import Table
from topmix.engines import Engine
from topmix.local import LocalStep


@dataclass(frozen=True)
class Task:
    """Data, a first model, and who computes."""

    data: Corpus | Table
    model: Any
    batches: Batches
    step: LocalStep
    engine: Engine
    threads: int
    n_active: int  # L
    max_iter: int
    weight: np.ndarray | None = None  # [rows]
    is_warm: bool = False  # the model is one that was fitted before
