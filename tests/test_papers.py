"""Scripts that redraw the papers' tables and figures: their quick form runs, and says what it should."""

import subprocess
import sys
from pathlib import Path

PAPERS = Path(__file__).parents[1] / "papers"


def test_combinatorial_topics(tmp_path):
    command = [sys.executable, str(PAPERS / "combinatorial.py"), "--quick", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for part in ("Table 1", "Table 2", "Table 3", "Table 4", "Figure 1"):
        assert part in done.stdout
    rows = [line.split() for line in done.stdout.split("Table 2")[1].split("Table 3")[0].splitlines() if line]
    error = {
        row[0]: float(row[-1]) for row in rows if row[0] in ("basic", "word", "word+refine")
    }  # of SynthB, the last
    assert error["word+refine"] < error["word"] < error["basic"]
