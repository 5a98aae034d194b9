// The C interface to the BLAS library's own functions.
#include "tensor/blas.h"
#include "tensor/c_abi.h"

void* relume_blas_function(const char* name) { return relume::blas_function(name); }
