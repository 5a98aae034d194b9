#include "tensor/default_dtype.h"

#include <atomic>

#include "tensor/error.h"

namespace relume {
namespace {

std::atomic<DType> chosen{kDefaultFloat};

}  // namespace

DType default_float() { return chosen.load(std::memory_order_relaxed); }

DType default_complex() { return default_float() == DType::float64 ? DType::complex128 : kDefaultComplex; }

void set_default_float(DType dtype) {
  check<TypeError>(dtype == DType::float32 || dtype == DType::float64,
                   "the default dtype must be float32 or float64, not ", name(dtype));
  chosen.store(dtype, std::memory_order_relaxed);
}

}  // namespace relume
