"""The formats that a corpus is read from and written to. One more is one file here and one line in the list."""

from topmix.data.formats.arrow import ARROW
from topmix.data.formats.format import Format, Options
from topmix.data.formats.ldac import LDAC
from topmix.data.formats.matrix_market import MATRIX_MARKET
from topmix.data.formats.npz import NPZ
from topmix.data.formats.saved import SAVED
from topmix.data.formats.svmlight import SVMLIGHT
from topmix.data.formats.uci import UCI

# Asked in this order: those that open with a signature first, LDA-C before svmlight, which is the looser of the two.
FORMATS: dict[str, Format] = {f.name: f for f in (SAVED, ARROW, NPZ, MATRIX_MARKET, UCI, LDAC, SVMLIGHT)}

__all__ = ["FORMATS", "Format", "Options"]
