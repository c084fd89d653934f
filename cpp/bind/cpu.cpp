// A module of its own, _cpu, for any processor: it is asked before one that this processor may not run is opened.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/isas.hpp"

NB_MODULE(_cpu, m) {
    m.def("supported_isas", &topmix::supported_isas, "Instruction sets that this processor runs, best first.");
}
