"""The file formats of a corpus. To add a format, write one file here and add it to the list."""

from topmix.data.formats.arrow import ARROW
from topmix.data.formats.format import Format, Options
from topmix.data.formats.h5ad import H5AD
from topmix.data.formats.ldac import LDAC
from topmix.data.formats.matrix_market import MATRIX_MARKET
from topmix.data.formats.npz import NPZ
from topmix.data.formats.saved import SAVED
from topmix.data.formats.svmlight import SVMLIGHT
from topmix.data.formats.uci import UCI

# The first bytes of a file are tried in this order: formats with a signature first, LDA-C before the laxer svmlight.
FORMATS: dict[str, Format] = {f.name: f for f in (SAVED, ARROW, NPZ, H5AD, MATRIX_MARKET, UCI, LDAC, SVMLIGHT)}

__all__ = ["FORMATS", "Format", "Options"]
