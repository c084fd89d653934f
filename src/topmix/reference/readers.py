"""Slow twins of the native parsers (cpp/data) in plain Python, with the same results."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from topmix.data.counts import CountRows

Triple = tuple[int, int, float]


def parse_triples(
    text: bytes, n_docs: int, n_words: int, *, has_value: bool = True, whole: bool = False
) -> list[Triple]:
    """The entries (doc, word, count), with ids from 0, of lines "doc word count", with ids from 1."""
    entries = []
    for line, fields in _lines(text):
        if len(fields) != 2 + has_value:
            raise ValueError(f"line {line}: expected {2 + has_value} numbers")
        doc, word = _integer(fields[0], 1, n_docs, line), _integer(fields[1], 1, n_words, line)
        entries.append((doc - 1, word - 1, _count(fields[2], whole, line) if has_value else 1.0))
    return entries


def parse_pairs(
    text: bytes, *, counted: bool, first_id: int, last_id: int
) -> tuple[list[float], list[list[tuple[int, float]]]]:
    """The labels and the pairs of lines "label word:count ...". If `counted`, lines start with the number of pairs."""
    labels, rows = [], []
    for line, fields in _lines(text):
        if not counted:
            for i, f in enumerate(fields):
                if f.startswith(b"#"):
                    del fields[i:]
                    break
            if not fields:
                continue
        opening, *pairs = fields
        if not counted:
            while pairs and pairs[0].startswith(b"qid:"):
                _number(pairs.pop(0)[4:], line)
        row = []
        for pair in pairs:
            word, colon, count = pair.partition(b":")
            if not colon:
                raise ValueError(f"line {line}: expected word:count")
            row.append((_integer(word, first_id, last_id, line), _count(count, counted, line)))
        if counted and _integer(opening, 0, 2**63 - 1, line) != len(row):
            raise ValueError(f"line {line}: expected {opening.decode()} pairs, found {len(row)}")
        labels.append(0.0 if counted else _number(opening, line))
        rows.append(row)
    return labels, rows


def tidy_rows(rows: CountRows, n_words: int, remap: Mapping[int, int] | None = None) -> CountRows:
    """Renumber columns by `remap` (-1 drops), sort, sum duplicates, drop zeros."""
    indptr, index, value = [0], list[int](), list[float]()
    for begin, end in zip(rows[0][:-1].tolist(), rows[0][1:].tolist()):
        row: dict[int, float] = {}
        for v, x in zip(rows[1][begin:end].tolist(), rows[2][begin:end].tolist()):
            if not (math.isfinite(x) and x >= 0):
                raise ValueError(f"column {v}: {x} is not a count")
            new = v if remap is None else remap[v]
            if new != -1 and x != 0:
                if not 0 <= new < n_words:
                    raise ValueError(f"column {new} is outside")
                row[new] = row.get(new, 0.0) + x
        index += sorted(row)
        value += [row[v] for v in sorted(row)]
        indptr.append(len(index))
    return np.array(indptr, np.int64), np.array(index, np.int32), np.array(value, np.float32)


def _lines(text: bytes) -> list[tuple[int, list[bytes]]]:
    """(line number, fields) of all lines that are not blank."""
    if text and not text.endswith(b"\n"):
        raise ValueError("the text must end with a newline")
    lines = [line.replace(b"\t", b" ").replace(b"\r", b" ").split(b" ") for line in text.split(b"\n")]
    fields = [[f for f in line if f] for line in lines]
    return [(n, f) for n, f in enumerate(fields, 1) if f]


def _integer(text: bytes, low: int, high: int, line: int) -> int:
    if not text.isdigit() or len(text) > 18 or not low <= int(text) <= high:
        raise ValueError(f"line {line}: expected an integer from {low} to {high}")
    return int(text)


def _number(text: bytes, line: int) -> float:
    if set(text) - set(b"0123456789+-.eE") or text[:2] in (b"++", b"+-"):
        raise ValueError(f"line {line}: expected a number")
    try:
        x = float(text)
    except ValueError:
        raise ValueError(f"line {line}: expected a number") from None
    if not math.isfinite(x):
        raise ValueError(f"line {line}: expected a finite number")
    return x


def _count(text: bytes, whole: bool, line: int) -> float:
    x = _number(text, line)
    if not 0 <= x <= float(np.finfo(np.float32).max) or (whole and (x < 1 or x != int(x))):
        raise ValueError(f"line {line}: expected a count")
    return float(np.float32(x))
