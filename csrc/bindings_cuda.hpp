// What the parts of the export table of the CUDA extension share.
#pragma once
#include <pybind11/pybind11.h>

#include "kernels/linear/linear.hpp"

// (first tile, bits, group) of each run of a mixed matrix; empty: it has one width.
hone::cuda::Runs runs_of(const pybind11::tuple& runs, bool has_min);
