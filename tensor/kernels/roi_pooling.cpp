// Max pooling of regions of interest: R. Girshick, "Fast R-CNN", 2015.
#include <cmath>

#include "tensor/copy.h"
#include "tensor/kernels/matmul.h"
#include "tensor/kernels/volume.h"

namespace relume {
namespace {

// A region in whole pixels of the feature map.
struct Region {
  int64_t image, left, top, width, height;

  // (image, left, top, right, bottom), both ends included, on the scale of `scale`.
  Region(const double* row, double scale)
      : image(static_cast<int64_t>(row[0])), left(pixel(row[1], scale)), top(pixel(row[2], scale)) {
    width = std::max<int64_t>(1, pixel(row[3], scale) - left + 1);
    height = std::max<int64_t>(1, pixel(row[4], scale) - top + 1);
  }

 private:
  static int64_t pixel(double coordinate, double scale) {
    const double limit = static_cast<double>(kLargestSetting);
    const double scaled = std::round(coordinate * scale);
    return static_cast<int64_t>(std::max(-limit, std::min(limit, scaled == scaled ? scaled : 0)));
  }
};

// Part `i` of `parts` of a stretch, cut off at the ends of the input.
struct Stretch {
  int64_t first, last;

  Stretch(int64_t start, int64_t length, int64_t i, int64_t parts, int64_t input) {
    const double step = static_cast<double>(length) / static_cast<double>(parts);
    const double from = std::floor(static_cast<double>(i) * step), to = std::ceil(static_cast<double>(i + 1) * step);
    first = std::min(std::max<int64_t>(start + static_cast<int64_t>(from), 0), input);
    last = std::min(std::max<int64_t>(start + static_cast<int64_t>(to), 0), input);
  }
};

template <class T>
void pool_region(const Region& region, const Triple& size, const Triple& output, const T* plane, int64_t offset,
                 T* values, int64_t* indices) {
  for (int64_t y = 0; y < output[1]; y++) {
    const Stretch rows(region.top, region.height, y, output[1], size[1]);
    for (int64_t x = 0; x < output[2]; x++) {
      const Stretch columns(region.left, region.width, x, output[2], size[2]);
      int64_t best = -1;
      for (int64_t row = rows.first; row < rows.last; row++) {
        for (int64_t column = columns.first; column < columns.last; column++) {
          const int64_t place = row * size[2] + column;
          if (best < 0 || plane[place] > plane[best]) best = place;
        }
      }
      *values++ = best < 0 ? T(0) : plane[best];
      *indices++ = best < 0 ? -1 : offset + best;
    }
  }
}

// roi_pool(input, rois, output_size, spatial_scale)
void roi_pool_cpu(Call& call) {
  const Volumes images(call, 0, 2);
  check(images.batched, "roi_pool: input must have shape (batch, channels, height, width), not ",
        call.tensor(0).shape());
  check(call.tensor(1).ndim() == 2 && call.tensor(1).size(1) == 5,
        "roi_pool: rois must have shape (regions, 5), of (image, left, top, right, bottom), not ",
        call.tensor(1).shape());
  const Triple output = triple_argument(call, 2, 2, 1, 1);
  const Tensor rois = contiguous_copy_if_needed(as_type(call.tensor(1), DType::float64));
  const int64_t count = rois.size(0);
  std::vector<Region> regions;
  for (int64_t i = 0; i < count; i++) {
    const double* row = rois.data_as<const double>() + 5 * i;
    check<IndexError>(row[0] >= 0 && row[0] < static_cast<double>(images.batch), "roi_pool: region ", i,
                      " is of image ", row[0], ", but there are ", images.batch);
    regions.emplace_back(row, call.real(3));
  }
  const Dims shape(IntSpan({count, images.channels, output[1], output[2]}));
  const Tensor indices = dense_output(call, 1, shape, DType::int64);
  compute_floating(call, shape, [&](const Tensor& input, const Tensor& out, auto zero) {
    using T = decltype(zero);
    for_planes(count * images.channels, images.elements(), [&](int64_t plane) {
      const Region& region = regions[plane / images.channels];
      const int64_t offset =
          (region.image * images.channels + plane % images.channels) * images.elements();
      pool_region(region, images.size, output, input.data_as<const T>() + offset, offset,
                  out.data_as<T>() + plane * output.product(),
                  indices.data_as<int64_t>() + plane * output.product());
    });
  });
}

const Register register_roi_pool{
    "roi_pool(Tensor input, Tensor rois, int[] output_size, float spatial_scale=1.0) -> (Tensor, Tensor)",
    "Largest elements of the parts of regions of images (batch, channels, height, width), and their flat "
    "indices in the input (-1 for an empty part, whose value is 0). A row of rois is (image, left, top, "
    "right, bottom), 0-based, both ends included; coordinates are multiplied by spatial_scale and rounded.",
    {Trait::no_method}, roi_pool_cpu};

}  // namespace
}  // namespace relume
