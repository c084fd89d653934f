"""The file formats of a corpus. To add a format, define a `Format` in a file here and add it to the list."""

from topmix.data.formats.arrow import ARROW
from topmix.data.formats.binary import H5AD, NPZ, SAVED
from topmix.data.formats.format import Format, Options
from topmix.data.formats.pairs import LDAC, SVMLIGHT
from topmix.data.formats.triples import MATRIX_MARKET, UCI

# The first bytes of a file are tried in this order: formats with a signature first, LDA-C before the laxer svmlight.
FORMATS: dict[str, Format] = {f.name: f for f in (SAVED, ARROW, NPZ, H5AD, MATRIX_MARKET, UCI, LDAC, SVMLIGHT)}

__all__ = ["FORMATS", "Format", "Options"]
