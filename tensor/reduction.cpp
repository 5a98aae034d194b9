#include "tensor/reduction.h"

#include <algorithm>
#include <memory>

#include "tensor/memory.h"
#include "tensor/parallel.h"

namespace relume {
namespace {

// Results whose accumulators are worked on at a time.
constexpr int64_t kBlock = 128;
using Block = char[kBlock * kMaxAccumulatorSize];

// A reduction into few results is split into parts of at least so many elements. The
// parts depend on sizes only, so that the result is the same for any number of threads.
constexpr int64_t kPartSize = 65536;
constexpr int64_t kMaxParts = 64;
constexpr int64_t kFewResults = 256;
// Rows of so few elements cost more to begin than to fold: their columns are folded instead.
constexpr int64_t kShortRow = 6;
// So few columns are too narrow for vectors: neighbouring rows are folded side by side.
constexpr int64_t kNarrow = 16;

// Some dimensions of a tensor, outermost first; strides in bytes.
struct Loops {
  int ndim = 0;
  int64_t shape[kMaxDims];
  int64_t strides[kMaxDims];

  void add(int64_t size, int64_t stride) {
    if (size == 1) return;
    if (ndim > 0 && strides[ndim - 1] == stride * size) {  // joins the one before
      shape[ndim - 1] *= size;
      strides[ndim - 1] = stride;
      return;
    }
    shape[ndim] = size;
    strides[ndim++] = stride;
  }
  // Larger steps outermost: for reductions that do not ask where an element stood.
  void sort() {
    Loops sorted;
    bool done[kMaxDims] = {};
    for (int n = 0; n < ndim; ++n) {
      int largest = -1;
      for (int i = 0; i < ndim; ++i) {
        if (!done[i] && (largest < 0 || std::abs(strides[i]) > std::abs(strides[largest]))) largest = i;
      }
      done[largest] = true;
      sorted.add(shape[largest], strides[largest]);
    }
    *this = sorted;
  }
  int64_t count() const {
    int64_t product = 1;
    for (int i = 0; i < ndim; ++i) product *= shape[i];
    return product;
  }
  // All loops but the innermost, which is taken apart.
  Loops outer() const {
    Loops rest = *this;
    if (rest.ndim > 0) --rest.ndim;
    return rest;
  }
  int64_t inner_size() const { return ndim > 0 ? shape[ndim - 1] : 1; }
  int64_t inner_stride() const { return ndim > 0 ? strides[ndim - 1] : 0; }

  int64_t offset(int64_t index) const {
    int64_t result = 0;
    for (int i = ndim - 1; i >= 0; --i) {
      result += index % shape[i] * strides[i];
      index /= shape[i];
    }
    return result;
  }
};

// Walks through the offsets of some loops, in order.
class Walker {
 public:
  Walker(const Loops& loops, int64_t start) : loops_(loops) {
    for (int i = loops.ndim - 1; i >= 0; --i) {
      index_[i] = start == 0 ? 0 : start % loops.shape[i];
      start = start == 0 ? 0 : start / loops.shape[i];
      offset_ += index_[i] * loops.strides[i];
    }
  }
  int64_t offset() const { return offset_; }
  void step() {
    for (int i = loops_.ndim - 1; i >= 0; --i) {
      offset_ += loops_.strides[i];
      if (++index_[i] < loops_.shape[i]) return;
      offset_ -= loops_.shape[i] * loops_.strides[i];
      index_[i] = 0;
    }
  }

 private:
  const Loops& loops_;
  int64_t index_[kMaxDims];
  int64_t offset_ = 0;
};

struct Plan {
  const ReductionLoops& loops;
  Loops kept, reduced;
  const char* data;
  double divisor;
  bool by_columns;  // results lie closer together than the elements that fold into one
  bool narrow;      // all results are a few columns whose rows follow one another

  Plan(Reduction reduction, const ReductionLoops& loops, const Tensor& input, DimSet dims)
      : loops(loops), data(input.data_as<char>()) {
    const int64_t size = static_cast<int64_t>(item_size(input.dtype()));
    for (int i = 0; i < input.ndim(); ++i) {
      (dims.has(i) ? reduced : kept).add(input.size(i), input.stride(i) * size);
    }
    const bool asks_where = reduction == Reduction::arg_max || reduction == Reduction::arg_min;
    if (!asks_where) reduced.sort();
    divisor = static_cast<double>(reduced.count());
    narrow = !asks_where && kept.ndim == 1 && reduced.ndim > 0 && kept.inner_size() <= kNarrow &&
             kept.inner_size() * kept.inner_stride() == reduced.inner_stride();
    by_columns = narrow || goes_by_columns();
  }

  // Folds, for each of `count` results from `begin` on, the elements whose outermost reduced
  // index is in [first, last).
  void fold(char* accumulators, int64_t begin, int64_t count, int64_t first, int64_t last) const {
    loops.start(accumulators, count);
    Loops part = reduced;
    int64_t position = 0;
    const char* from = data;
    if (part.ndim > 0) {
      part.shape[0] = last - first;
      from += first * part.strides[0];
      for (int i = 1; i < part.ndim; ++i) first *= part.shape[i];
      position = first;
    }
    if (by_columns) {
      fold_columns(accumulators, from, part, begin, count, position);
    } else {
      fold_rows(accumulators, from, part, begin, count, position);
    }
  }
  void fold_all(char* accumulators, int64_t begin, int64_t count) const {
    fold(accumulators, begin, count, 0, reduced.ndim > 0 ? reduced.shape[0] : 1);
  }

 private:
  bool goes_by_columns() const {
    if (kept.ndim == 0 || reduced.ndim == 0 || kept.inner_size() < 4) return false;
    const int64_t between_results = std::abs(kept.inner_stride()), between_elements = std::abs(reduced.inner_stride());
    if (reduced.inner_size() <= kShortRow && kept.inner_size() > kShortRow) return true;
    return between_results < between_elements;
  }

  void fold_rows(char* accumulators, const char* from, const Loops& part, int64_t begin,
                 int64_t count, int64_t position) const {
    const Loops outer = part.outer();
    const int64_t rows = outer.count(), length = part.inner_size(), stride = part.inner_stride();
    if (rows == 1) {
      return by_runs(accumulators, from, begin, count, [&](char* totals, const char* start, int64_t here) {
        loops.rows(totals, start, stride, kept.inner_stride(), length, here, position);
      });
    }
    Walker result(kept, begin);
    for (int64_t i = 0; i < count; ++i, result.step()) {
      char* accumulator = accumulators + i * loops.accumulator_size;
      Walker row(outer, 0);
      for (int64_t r = 0; r < rows; ++r, row.step()) {
        loops.rows(accumulator, from + result.offset() + row.offset(), stride, 0, length, 1,
                   position + r * length);
      }
    }
  }

  void fold_columns(char* accumulators, const char* from, const Loops& part, int64_t begin,
                    int64_t count, int64_t position) const {
    const Loops outer = part.outer();
    const int64_t groups = outer.count(), rows = part.inner_size();
    by_runs(accumulators, from, begin, count, [&](char* totals, const char* start, int64_t here) {
      Walker group(outer, 0);
      for (int64_t g = 0; g < groups; ++g, group.step()) {
        if (narrow) {
          fold_narrow(totals, start + group.offset(), part.inner_stride(), rows);
          continue;
        }
        loops.columns(totals, start + group.offset(), kept.inner_stride(), part.inner_stride(),
                      here, rows, position + g * rows);
      }
    });
  }

  // Many rows of all results as one row of many more, which are merged in the end.
  void fold_narrow(char* totals, const char* from, int64_t row_stride, int64_t rows) const {
    const int64_t width = kept.inner_size(), stride = kept.inner_stride(), together = kBlock / width;
    const int64_t steps = rows / together, rest = rows % together;
    if (steps > 1) {
      alignas(64) Block wide;
      loops.start(wide, together * width);
      loops.columns(wide, from, stride, together * row_stride, together * width, steps, 0);
      for (int64_t i = 0; i < together; ++i) loops.merge(totals, wide + i * width * loops.accumulator_size, width);
      from += steps * together * row_stride;
    }
    loops.columns(totals, from, stride, row_stride, width, steps > 1 ? rest : rows, 0);
  }

  // Results that lie in one row: fold(accumulators, where the first one's elements start, how many).
  template <class Fold>
  void by_runs(char* accumulators, const char* from, int64_t begin, int64_t count, Fold fold) const {
    const int64_t width = kept.inner_size();
    while (count > 0) {
      const int64_t here = std::min(count, width - begin % width);
      fold(accumulators, from + kept.offset(begin), here);
      accumulators += here * loops.accumulator_size;
      begin += here;
      count -= here;
    }
  }
};

struct Target {
  char* results;
  char* values;
  int64_t result_size, value_size;

  void finish(const Plan& plan, const char* accumulators, int64_t begin, int64_t count) const {
    plan.loops.finish(results + begin * result_size, values ? values + begin * value_size : nullptr,
                      accumulators, count, plan.divisor);
  }
};

void reduce_block_by_block(const Plan& plan, const Target& target, int64_t results,
                           int64_t elements) {
  const int64_t elements_each = std::max<int64_t>(1, elements / std::max<int64_t>(1, results));
  // Parts of narrow results would fold in another order.
  const int64_t grain = plan.narrow ? results : std::max<int64_t>(1, kParallelGrain / elements_each);
  parallel_for(0, results, grain, [&](int64_t begin, int64_t end) {
    alignas(64) Block accumulators;
    for (; begin < end; begin += kBlock) {
      const int64_t count = std::min(kBlock, end - begin);
      plan.fold_all(accumulators, begin, count);
      target.finish(plan, accumulators, begin, count);
    }
  });
}

struct FreeMemory {
  std::size_t bytes;
  void operator()(char* pointer) const { free_memory(pointer, bytes); }
};

void reduce_part_by_part(const Plan& plan, const Target& target, int64_t results, int64_t parts) {
  const int64_t part_bytes = results * plan.loops.accumulator_size;
  const std::size_t bytes = static_cast<std::size_t>(parts * part_bytes);
  std::unique_ptr<char, FreeMemory> accumulators(static_cast<char*>(allocate_memory(bytes)), FreeMemory{bytes});
  const int64_t size = plan.reduced.shape[0];
  parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      plan.fold(accumulators.get() + part * part_bytes, 0, results, size * part / parts,
                size * (part + 1) / parts);
    }
  });
  for (int64_t part = 1; part < parts; ++part) {
    plan.loops.merge(accumulators.get(), accumulators.get() + part * part_bytes, results);
  }
  target.finish(plan, accumulators.get(), 0, results);
}

// The frequent case of all elements of a small tensor.
void reduce_one_row(const ReductionLoops& loops, const Tensor& input, char* results, char* values) {
  alignas(16) char accumulator[kMaxAccumulatorSize];
  const int64_t size = static_cast<int64_t>(item_size(input.dtype()));
  loops.start(accumulator, 1);
  loops.rows(accumulator, input.data_as<char>(), size, 0, input.numel(), 1, 0);
  loops.finish(results, values, accumulator, 1, static_cast<double>(input.numel()));
}

}  // namespace

DimSet DimSet::of(IntSpan dims, int ndim) {
  uint32_t bits = 0;
  for (int64_t dim : dims) {
    const uint32_t bit = 1u << wrap_dim(dim, ndim);
    if (bits & bit) {
      throw ValueError(message("dimension ", dim, " appears more than once in ", to_string(dims)));
    }
    bits |= bit;
  }
  return DimSet(bits);
}

Dims reduced_shape(IntSpan shape, DimSet dims, bool keepdim) {
  Dims result;
  for (int i = 0; i < shape.count; ++i) {
    if (!dims.has(i)) {
      result.values[result.count++] = shape[i];
    } else if (keepdim) {
      result.values[result.count++] = 1;
    }
  }
  return result;
}

void reduce(Reduction reduction, const Tensor& input, DimSet dims, char* results, char* values) {
  const ReductionLoops& loops = find_reduction(reduction, input.dtype());
  if (input.is_contiguous() && dims == DimSet::all(input.ndim()) && input.numel() < 2 * kPartSize) {
    return reduce_one_row(loops, input, results, values);
  }
  const Plan plan(reduction, loops, input, dims);
  const Target target{results, values, static_cast<int64_t>(item_size(loops.result)),
                      static_cast<int64_t>(item_size(input.dtype()))};
  const int64_t count = plan.kept.count();
  const int64_t parts = plan.reduced.ndim == 0 ? 1
                        : std::min({kMaxParts, input.numel() / kPartSize, plan.reduced.shape[0]});
  if (parts > 1 && count <= kFewResults) {
    reduce_part_by_part(plan, target, count, parts);
  } else if (count > 0) {
    reduce_block_by_block(plan, target, count, input.numel());
  }
}

}  // namespace relume
