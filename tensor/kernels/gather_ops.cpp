// Ops that read along one dimension at the places that an index tensor names: index_select, gather,
// take; and their gradients.
#include <atomic>
#include <cstring>

#include "tensor/kernels/along_dim.h"
#include "tensor/kernels/dense.h"
#include "tensor/kernels/views.h"
#include "tensor/parallel.h"

namespace relume {
namespace {

constexpr int64_t kBlock = 1024;  // indices that are checked at a time, before they are used

// Reads elements (blocks of bytes) of `source` at `places`, checking every block of indices just before
// it is used: the second look finds it in the cache. False when a place is out of range.
template <class Read>
bool read_checked(const int64_t* places, int64_t count, int64_t size, int64_t grain, Read read) {
  std::atomic<bool> good{true};
  parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t first = begin; first < end; first += kBlock) {
      const int64_t last = std::min(end, first + kBlock);
      const Range range = range_of(places + first, last - first, size);
      if (range == Range::outside) return good.store(false);
      if (range == Range::inside) {
        read(first, last, AsIs{});
      } else {
        read(first, last, Wrapped{});
      }
    }
  });
  return good;
}

int64_t grain_for(std::size_t bytes) { return std::max<int64_t>(1, (1 << 17) / static_cast<int64_t>(bytes + 8)); }

// Calls `function(copy)` where copy(to, from, places, size, first, last, wrap) does to[i] = from[places[i]]
// for elements of `bytes` each.
template <class Function>
void with_element_copy(std::size_t bytes, Function function) {
  const auto of_type = [](auto example) {
    using T = decltype(example);
    return [](char* to, const char* from, const int64_t* places, int64_t size, int64_t first, int64_t last,
              auto wrap) {
      T* target = reinterpret_cast<T*>(to);
      const T* source = reinterpret_cast<const T*>(from);
#pragma GCC unroll 4
      for (int64_t i = first; i < last; ++i) target[i] = source[wrap(places[i], size)];
    };
  };
  switch (bytes) {
    case 1: return function(of_type(uint8_t{}));
    case 2: return function(of_type(uint16_t{}));
    case 4: return function(of_type(uint32_t{}));
    case 8: return function(of_type(uint64_t{}));
    default:
      return function([bytes](char* to, const char* from, const int64_t* places, int64_t size, int64_t first,
                              int64_t last, auto wrap) {
        for (int64_t i = first; i < last; ++i) {
          std::memcpy(to + i * bytes, from + wrap(places[i], size) * bytes, bytes);
        }
      });
  }
}

// to[i] = from[places[i]]. False when a place is out of range.
bool copy_places(char* to, const char* from, const int64_t* places, int64_t count, int64_t size, std::size_t bytes) {
  if (bytes == 0) return range_of(places, count, size) != Range::outside;
  bool good = true;
  with_element_copy(bytes, [&](auto copy) {
    good = read_checked(places, count, size, grain_for(bytes), [=](int64_t first, int64_t last, auto wrap) {
      copy(to, from, places, size, first, last, wrap);
    });
  });
  return good;
}

// The same for each of several outer indices; the places are in range.
template <class Wrap>
void copy_outer_places(char* to, const char* from, const int64_t* places, int64_t count, const Around& around,
                       std::size_t bytes, Wrap wrap) {
  if (bytes == 0 || count == 0) return;
  with_element_copy(bytes, [&](auto copy) {
    const int64_t grain = std::max<int64_t>(1, grain_for(bytes) / count);
    parallel_for(0, around.outer, grain, [=, size = around.size](int64_t begin, int64_t end) {
      for (int64_t outer = begin; outer < end; ++outer) {
        copy(to + outer * count * bytes, from + outer * size * bytes, places, size, 0, count, wrap);
      }
    });
  });
}

void index_select_cpu(Call& call) {
  const Tensor input = contiguous_copy_if_needed(call.tensor(0));
  const int dim = wrap_dim(call.integer(1), input.ndim());
  const Around around(input.shape(), dim);
  const Tensor index = vector_index(call, 2);
  Dims shape(input.shape());
  if (input.ndim() > 0) shape[dim] = index.numel();
  const DenseOutput output(call.output(0, shape, input.dtype()));
  const int64_t count = index.numel();
  const std::size_t bytes = around.inner * item_size(input.dtype());
  const int64_t* places = index.data_as<int64_t>();
  bool good;
  if (around.outer == 1) {
    good = copy_places(output->data_as<char>(), input.data_as<char>(), places, count, around.size, bytes);
  } else {
    const Range range = range_of(places, count, around.size);
    good = range != Range::outside;
    if (range == Range::inside) {
      copy_outer_places(output->data_as<char>(), input.data_as<char>(), places, count, around, bytes, AsIs{});
    } else if (good) {
      copy_outer_places(output->data_as<char>(), input.data_as<char>(), places, count, around, bytes, Wrapped{});
    }
  }
  if (!good) throw_bad_place(index, dim, around.size);
  output.write_back();
}

// to[i] = from[places[i]] along a row, checking every place as it is used. False when one is out of range.
template <class T>
bool gather_row(T* to, const T* from, const IndexRows& rows, int64_t begin, int64_t end) {
  const int64_t* places = rows.index.data_as<int64_t>();
  const uint64_t size = static_cast<uint64_t>(rows.size);
  const int64_t along = rows.along, step = rows.step;
  const auto copy = [&](auto is_last_dim) {
    for (int64_t i = begin; i < end; ++i) {
      uint64_t place = static_cast<uint64_t>(places[i]);
      if (__builtin_expect(place >= size, 0)) {  // counted from the end, or wrong
        place += size;
        if (place >= size) return false;
      }
      if constexpr (decltype(is_last_dim)::value) {
        to[i] = from[place];
      } else {
        to[i] = from[static_cast<int64_t>(place) * along];
        from += step;
      }
    }
    return true;
  };
  return along == 1 ? copy(std::true_type{}) : copy(std::false_type{});
}

void gather_cpu(Call& call) {
  const Tensor input = at_least_1d(contiguous_copy_if_needed(call.tensor(0)));
  const int dim = wrap_dim(call.integer(1), input.ndim());
  const Tensor index = gather_index(call, 2, input.shape(), dim);
  const DenseOutput output(call.output(0, call.tensor(2).shape(), input.dtype()));
  const IndexRows rows(index, input.shape(), dim);
  std::atomic<bool> good{true};
  visit_size(input.dtype(), [&](auto example) {
    using T = decltype(example);
    const T* from = input.data_as<T>();
    T* to = output->data_as<T>();
    parallel_for(0, index.numel(), grain_for(sizeof(T)), [&](int64_t begin, int64_t end) {
      rows.for_each(begin, end, [&](int64_t start, int64_t i, int64_t stop) {
        if (!gather_row(to, from + start, rows, i, stop)) good = false;
      });
    });
  });
  if (!good) throw_bad_place(index, dim, Around(input.shape(), dim).size);
  output.write_back();
}

void take_cpu(Call& call) {
  const Tensor input = contiguous_copy_if_needed(call.tensor(0));
  const Tensor index = integer_index(call.tensor(1));
  const DenseOutput output(call.output(0, index.shape(), input.dtype()));
  if (!copy_places(output->data_as<char>(), input.data_as<char>(), index.data_as<int64_t>(), index.numel(),
                   input.numel(), item_size(input.dtype()))) {
    throw_bad_place(index, 0, input.numel());
  }
  output.write_back();
}

const Register register_index_select{"index_select(Tensor input, int dim, Tensor index) -> Tensor",
                                     "A copy of the given indices of a dimension, in that order.", {Trait::takes_complex},
                                     index_select_cpu};
const Register register_gather{
    "gather(Tensor input, int dim, Tensor index) -> Tensor",
    "For every element of `index`, the element of `input` at that index of the dimension.", {Trait::takes_complex}, gather_cpu};
const Register register_take{"take(Tensor input, Tensor index) -> Tensor",
                             "The elements at positions in row-major order.", {Trait::takes_complex}, take_cpu};

}  // namespace
}  // namespace relume
