// Resampling and its adjoint: rows are resampled along the width first, each only once and only
// if needed, then weighted and added.
#include "tensor/kernels/resampling.h"

#include <cstring>
#include <string_view>

#include "tensor/copy.h"
#include "tensor/kernels/best_isa.h"
#include "tensor/kernels/resampling_loops.h"
#include "tensor/ops.h"
#include "tensor/public_names.h"

namespace relume {

RELUME_PER_ISA(ResamplingLoops, resampling_loops)

namespace {

const OpFunction index_select{"index_select"};

const ResamplingLoopsOf<float>& loops_for(float) { return best_resampling_loops().float32; }
const ResamplingLoopsOf<double>& loops_for(double) { return best_resampling_loops().float64; }

struct Resampler {
  ResamplingAxis depth, height, width;

  int64_t input_elements() const { return depth.input * height.input * width.input; }
  int64_t output_elements() const { return depth.output * height.output * width.output; }
  int64_t work() const {
    return depth.output * height.output * width.output * depth.taps * height.taps +
           depth.input * height.input * width.output * width.taps;
  }
  Resampler transposed() const { return {depth.transposed(), height.transposed(), width.transposed()}; }
};

template <class T>
class PlaneResampler {
 public:
  explicit PlaneResampler(const Resampler& along)
      : along_(along),
        keeps_width_(along.width.is_identity()),
        weights_(along.width.weights.begin(), along.width.weights.end()) {}

  // Resampled rows, then a mark for each that is there.
  int64_t scratch_size() const {
    return keeps_width_ ? 0 : rows() * (along_.width.output + 1);
  }

  void run(const T* input, T* scratch, T* output) const {
    const ResamplingAxis &depth = along_.depth, &height = along_.height;
    T* marks = scratch + rows() * along_.width.output;
    if (!keeps_width_) std::fill_n(marks, rows(), T(0));
    for (int64_t z = 0; z < depth.output; z++) {
      for (int64_t y = 0; y < height.output; y++, output += along_.width.output) {
        bool is_first = true;
        for (int64_t d = 0; d < depth.taps; d++) {
          for (int64_t h = 0; h < height.taps; h++) {
            const T weight = static_cast<T>(depth.weight(d, z) * height.weight(h, y));
            if (weight == T(0)) continue;
            const int64_t number = depth.place(d, z) * height.input + height.place(h, y);
            join(row(number, input, scratch, marks), weight, is_first, output);
            is_first = false;
          }
        }
        if (is_first) std::fill_n(output, along_.width.output, T(0));
      }
    }
  }

 private:
  int64_t rows() const { return along_.depth.input * along_.height.input; }

  const T* row(int64_t number, const T* input, T* scratch, T* marks) const {
    const T* source = input + number * along_.width.input;
    if (keeps_width_) return source;
    T* made = scratch + number * along_.width.output;
    if (marks[number] == T(0)) {
      loops_for(T{}).gather(source, along_.width.places.data(), weights_.data(), along_.width.taps,
                            along_.width.output, made);
      marks[number] = T(1);
    }
    return made;
  }

  void join(const T* source, T weight, bool is_first, T* output) const {
    const int64_t count = along_.width.output;
    if (!is_first) {
      loops_for(T{}).add_scaled(source, count, weight, output);
    } else if (weight == T(1)) {
      std::copy_n(source, count, output);
    } else {
      loops_for(T{}).set_scaled(source, count, weight, output);
    }
  }

  const Resampler& along_;
  bool keeps_width_;
  std::vector<T> weights_;
};

void resample_planes(Call& call, const Resampler& along, int64_t planes, IntSpan shape) {
  compute_floating(call, shape, [&](const Tensor& input, const Tensor& out, auto zero) {
    using T = decltype(zero);
    const PlaneResampler<T> plane_resampler(along);
    for_planes_with_scratch<T>(planes, along.work(), plane_resampler.scratch_size(),
                               [&](int64_t plane, T* scratch) {
                                 plane_resampler.run(input.data_as<const T>() + plane * along.input_elements(), scratch,
                                                     out.data_as<T>() + plane * along.output_elements());
                               });
  });
}

// mode, align_corners, antialias, three factors, float_positions from argument `at` on.
ResamplingRule rule_arguments(const Call& call, int at) {
  static constexpr struct {
    std::string_view name;
    Resampling mode;
  } kModes[] = {{"nearest", Resampling::nearest},     {"nearest-exact", Resampling::nearest_exact},
                {"linear", Resampling::linear},       {"bilinear", Resampling::linear},
                {"trilinear", Resampling::linear},    {"bicubic", Resampling::cubic}};
  const std::string_view text = call.text(at);
  for (const auto& row : kModes) {
    if (row.name == text) return {row.mode, call.boolean(at + 1), call.boolean(at + 2), call.boolean(at + 6)};
  }
  throw ValueError(message(public_name(call.op), ": mode must be 'nearest', 'nearest-exact', 'linear', 'bilinear', "
                           "'trilinear' or 'bicubic', not '", text, "'"));
}

// Factors of depth, height and width stand from argument `at` on.
Resampler resampler_of(const Call& call, const Triple& input, const Triple& output,
                       const ResamplingRule& rule, int at) {
  for (int i = 0; i < 3; i++) {
    check(input[i] >= 1 && output[i] >= 1 && input[i] <= kLargestSetting && output[i] <= kLargestSetting,
          public_name(call.op), ": sizes must be between 1 and ", kLargestSetting, ", not ", input[i], " and ", output[i]);
  }
  const auto axis = [&](int i) {
    const double scale = call.has(at + i) ? call.real(at + i) : 0;
    check(scale >= 0, public_name(call.op), ": factors must be positive, not ", scale);
    return resampling_axis(input[i], output[i], scale, rule);
  };
  return {axis(0), axis(1), axis(2)};
}

int spatial_dims(const Call& call, int argument) {
  const int dims = call.integers(argument).count;
  check(dims >= 1 && dims <= 3, public_name(call.op), ": ", call.op.schema.arguments[argument].name,
        " must hold 1 to 3 sizes, not ", call.integers(argument));
  return dims;
}

// Nearest neighbours of any type.
Tensor select_nearest(const Tensor& input, const Resampler& along, int dims) {
  const ResamplingAxis* axes[] = {&along.depth, &along.height, &along.width};
  Tensor result = input;
  for (int i = 3 - dims; i < 3; i++) {
    Tensor places = empty(IntSpan({axes[i]->output}), DType::int64);
    std::copy(axes[i]->places.begin(), axes[i]->places.end(), places.data_as<int64_t>());
    result = index_select(result, int64_t{i - 3}, places);
  }
  return result;
}

// resample(input, size, mode, align_corners, antialias, factors)
void resample_cpu(Call& call) {
  const int dims = spatial_dims(call, 1);
  const Volumes volumes(call, 0, dims);
  const Triple size = triple_argument(call, 1, dims, 1, 1);
  const ResamplingRule rule = rule_arguments(call, 2);
  const Dims shape = volumes.shape(size);
  dense_output(call, 0, shape, call.tensor(0).dtype());  // finds memory before tables do
  const Resampler along = resampler_of(call, volumes.size, size, rule, 5);
  if (along.width.taps == 1 && !is_floating(call.tensor(0).dtype())) {
    return call.set_output(0, select_nearest(call.tensor(0), along, dims));
  }
  resample_planes(call, along, volumes.planes(), shape);
}

// resample_backward(grad_output, input_shape, size, mode, align_corners, antialias, factors)
void resample_backward_cpu(Call& call) {
  const int dims = spatial_dims(call, 2);
  const Volumes volumes = Volumes::of_shape_argument(call, 1, dims);
  const Triple size = triple_argument(call, 2, dims, 1, 1);
  const ResamplingRule rule = rule_arguments(call, 3);
  const Dims expected = volumes.shape(size);
  check(call.tensor(0).shape() == IntSpan(expected), "resample_backward: grad_output has shape ",
        call.tensor(0).shape(), ", but the resampled input has ", IntSpan(expected));
  dense_output(call, 0, volumes.shape(volumes.size), call.tensor(0).dtype());
  resample_planes(call, resampler_of(call, volumes.size, size, rule, 6).transposed(), volumes.planes(),
                  volumes.shape(volumes.size));
}

void upsample_nearest2d_cpu(Call& call) {
  const Volumes images(call, 0, 2);
  const int64_t scale = call.integer(1);
  check_setting(call, 1, scale, 1);
  const Tensor input = contiguous_copy_if_needed(call.tensor(0));
  const Triple size{{1, images.size[1] * scale, images.size[2] * scale}};
  const Tensor out = dense_output(call, 0, images.shape(size), input.dtype());
  if (out.numel() == 0) return;
  const int64_t rows = images.planes() * images.size[1], width = images.size[2];
  visit(input.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_planes(rows, size[2] * scale, [&](int64_t row) {
      const T* source = input.data_as<const T>() + row * width;
      T* target = out.data_as<T>() + row * scale * size[2];
      for (int64_t i = 0; i < width; i++) std::fill_n(target + i * scale, scale, source[i]);
      for (int64_t copy = 1; copy < scale; copy++)
        std::memcpy(static_cast<void*>(target + copy * size[2]), target, size[2] * sizeof(T));
    });
  });
}

const Register register_resample{
    "resample(Tensor input, int[] size, str mode, bool align_corners=False, bool antialias=False, float? "
    "depth_factor=None, float? height_factor=None, float? width_factor=None, bool float_positions=False) -> "
    "Tensor",
    "Planes or volumes resampled to a size; see interpolate. A factor replaces that of the sizes. With "
    "float_positions, positions between aligned corners are rounded to float, as Torch7 does.",
    {Trait::internal}, resample_cpu};
const Register register_resample_backward{
    "resample_backward(Tensor grad_output, int[] input_shape, int[] size, str mode, bool align_corners, "
    "bool antialias, float? depth_factor=None, float? height_factor=None, float? width_factor=None, bool "
    "float_positions=False) -> Tensor",
    "Gradient of resample: every element spread over those that it was made of.",
    {Trait::internal}, resample_backward_cpu};
const Register register_upsample_nearest2d{"upsample_nearest2d(Tensor input, int scale) -> Tensor",
                                           "Every pixel repeated scale times in both directions.",
                                           {Trait::no_method}, upsample_nearest2d_cpu};

}  // namespace
}  // namespace relume
