import numpy as np
from numpy.typing import NDArray

isa: str

def supported_isas() -> list[str]: ...
def parse_triples(
    text: NDArray[np.uint8],
    line: int,
    n_docs: int,
    n_words: int,
    has_value: bool,
    whole: bool,
    doc: NDArray[np.int64],
    word: NDArray[np.int32],
    value: NDArray[np.float32],
) -> tuple[int, int]: ...
def parse_pairs(
    text: NDArray[np.uint8],
    line: int,
    counted: bool,
    first_id: int,
    last_id: int,
    indptr: NDArray[np.int64],
    label: NDArray[np.float64],
    word: NDArray[np.int32],
    value: NDArray[np.float32],
) -> tuple[int, int, int]: ...
def check_rows(
    indptr: NDArray[np.int64], index: NDArray[np.int32], value: NDArray[np.float32], n_words: int
) -> tuple[str, int, float]: ...
def tidy_rows(
    indptr: NDArray[np.int64],
    index: NDArray[np.int32],
    value: NDArray[np.float32],
    remap: NDArray[np.int64] | None,
    n_words: int,
    first_row: int,
    out_indptr: NDArray[np.int64],
    out_index: NDArray[np.int32],
    out_value: NDArray[np.float32],
) -> int: ...
