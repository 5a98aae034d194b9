// Transposing blocks of memory.
#pragma once
#include <cstddef>
#include <cstdint>

namespace relume {

// target[row * target_stride + column] = source[column * source_stride + row], for all of
// `rows` x `columns`; strides in elements of `element_size` (1, 2, 4 or 8) bytes.
void transpose_copy(std::size_t element_size, void* target, int64_t target_stride,
                    const void* source, int64_t source_stride, int64_t rows, int64_t columns);

}  // namespace relume
