#include "tensor/kernels/gemm_tile.h"
#include "tensor/kernels/winograd_loops.h"

namespace relume {
namespace RELUME_ISA {
namespace {

using Lanes = Vector<float>::type;
constexpr int kWidth = Vector<float>::width;
constexpr int kGroup = kTileColumns<float>;  // tiles side by side
constexpr int kPanelLanes = (kTileRows + kWidth - 1) / kWidth;  // vectors that hold a panel's kernels
constexpr int kSide = 6;
constexpr int kOutput = 4;

// The interpolation points 0, +-p, +-q and infinity, with p = sqrt(1/2) and q = sqrt(2).
constexpr float kP = 0.70710678118654752f, kQ = 1.41421356237309505f;
constexpr float kP2 = 0.5f, kQ2 = 2.0f, kP3 = kP * kP2, kQ3 = kQ * kQ2;
constexpr float kWeightP = -2.0f / 3, kWeightQ = 1.0f / 6;

typedef float Quad __attribute__((vector_size(16), aligned(4)));
typedef int QuadIndex __attribute__((vector_size(16)));

inline Lanes load(const float* source) { return *reinterpret_cast<const Lanes*>(source); }
inline void store(float* target, Lanes value) { *reinterpret_cast<Lanes*>(target) = value; }
inline Quad load_quad(const float* source) { return *reinterpret_cast<const Quad*>(source); }
inline void store_quad(float* target, Quad value) { *reinterpret_cast<Quad*>(target) = value; }

inline void transpose(Quad& a, Quad& b, Quad& c, Quad& d) {
  const Quad ac_low = __builtin_shuffle(a, c, QuadIndex{0, 4, 1, 5});
  const Quad ac_high = __builtin_shuffle(a, c, QuadIndex{2, 6, 3, 7});
  const Quad bd_low = __builtin_shuffle(b, d, QuadIndex{0, 4, 1, 5});
  const Quad bd_high = __builtin_shuffle(b, d, QuadIndex{2, 6, 3, 7});
  a = __builtin_shuffle(ac_low, bd_low, QuadIndex{0, 4, 1, 5});
  b = __builtin_shuffle(ac_low, bd_low, QuadIndex{2, 6, 3, 7});
  c = __builtin_shuffle(ac_high, bd_high, QuadIndex{0, 4, 1, 5});
  d = __builtin_shuffle(ac_high, bd_high, QuadIndex{2, 6, 3, 7});
}

// One direction of each transform; `in` and `out` elements lie `stride` apart.
struct Input {
  static constexpr int from = 6, to = 6;
  static void apply(const Lanes* in, Lanes* out, int stride) {
    const Lanes d0 = in[0], d1 = in[stride], d2 = in[2 * stride], d3 = in[3 * stride],
                d4 = in[4 * stride], d5 = in[5 * stride];
    const Lanes even_p = d4 - kQ2 * d2, odd_p = kP * (d3 - kQ2 * d1);
    const Lanes even_q = d4 - kP2 * d2, odd_q = kQ * (d3 - kP2 * d1);
    out[0] = d0 - (kP2 + kQ2) * d2 + d4;
    out[stride] = even_p + odd_p;
    out[2 * stride] = even_p - odd_p;
    out[3 * stride] = even_q + odd_q;
    out[4 * stride] = even_q - odd_q;
    out[5 * stride] = d1 - (kP2 + kQ2) * d3 + d5;
  }
};

struct Weight {
  static constexpr int from = 3, to = 6;
  static void apply(const Lanes* in, Lanes* out, int stride) {
    const Lanes g0 = in[0], g1 = in[stride], g2 = in[2 * stride];
    const Lanes even_p = kWeightP * (g0 + kP2 * g2), odd_p = (kWeightP * kP) * g1;
    const Lanes even_q = kWeightQ * (g0 + kQ2 * g2), odd_q = (kWeightQ * kQ) * g1;
    out[0] = g0;
    out[stride] = even_p + odd_p;
    out[2 * stride] = even_p - odd_p;
    out[3 * stride] = even_q + odd_q;
    out[4 * stride] = even_q - odd_q;
    out[5 * stride] = g2;
  }
};

struct Output {
  static constexpr int from = 6, to = 4;
  static void apply(const Lanes* in, Lanes* out, int stride) {
    const Lanes m1 = in[stride], m2 = in[2 * stride], m3 = in[3 * stride], m4 = in[4 * stride];
    const Lanes even_p = m1 + m2, odd_p = m1 - m2, even_q = m3 + m4, odd_q = m3 - m4;
    out[0] = in[0] + even_p + even_q;
    out[stride] = kP * odd_p + kQ * odd_q;
    out[2 * stride] = kP2 * even_p + kQ2 * even_q;
    out[3 * stride] = kP3 * odd_p + kQ3 * odd_q + in[5 * stride];
  }
};

// The transposes of Output and Weight.
struct OutputGradient {
  static constexpr int from = 4, to = 6;
  static void apply(const Lanes* in, Lanes* out, int stride) {
    const Lanes y0 = in[0], y1 = in[stride], y2 = in[2 * stride], y3 = in[3 * stride];
    const Lanes even_p = y0 + kP2 * y2, odd_p = kP * y1 + kP3 * y3;
    const Lanes even_q = y0 + kQ2 * y2, odd_q = kQ * y1 + kQ3 * y3;
    out[0] = y0;
    out[stride] = even_p + odd_p;
    out[2 * stride] = even_p - odd_p;
    out[3 * stride] = even_q + odd_q;
    out[4 * stride] = even_q - odd_q;
    out[5 * stride] = y3;
  }
};

struct WeightGradient {
  static constexpr int from = 6, to = 3;
  static void apply(const Lanes* in, Lanes* out, int stride) {
    const Lanes r1 = in[stride], r2 = in[2 * stride], r3 = in[3 * stride], r4 = in[4 * stride];
    const Lanes even_p = kWeightP * (r1 + r2), odd_p = (kWeightP * kP) * (r1 - r2);
    const Lanes even_q = kWeightQ * (r3 + r4), odd_q = (kWeightQ * kQ) * (r3 - r4);
    out[0] = in[0] + even_p + even_q;
    out[stride] = odd_p + odd_q;
    out[2 * stride] = kP2 * even_p + kQ2 * even_q + in[5 * stride];
  }
};

// Both directions. Matrices have rows of kSide elements.
template <class Transform>
inline void transform(const Lanes* in, Lanes* out) {
  Lanes half[kSide * kSide];
#pragma GCC unroll 6
  for (int i = 0; i < Transform::from; i++) Transform::apply(in + i, half + i, kSide);
#pragma GCC unroll 6
  for (int i = 0; i < Transform::to; i++) Transform::apply(half + i * kSide, out + i * kSide, 1);
}

// Tiles of `Transform::from` squared pixels; lane i of the vectors is tile i.
template <class Transform>
void transform_tiles(const float* pixels, const int64_t* offsets, int64_t pitch, float* target,
                     int64_t element_stride) {
  alignas(64) float gathered[kSide * kSide][kGroup];
  for (int tile = 0; tile < kGroup; tile += 4) {
    for (int row = 0; row < Transform::from; row++) {
      const float* line = pixels + row * pitch;
      for (int column = 0; column < Transform::from; column += 4) {
        Quad a = load_quad(line + offsets[tile] + column), b = load_quad(line + offsets[tile + 1] + column),
             c = load_quad(line + offsets[tile + 2] + column), d = load_quad(line + offsets[tile + 3] + column);
        transpose(a, b, c, d);
        float(*place)[kGroup] = gathered + row * kSide + column;
        store_quad(place[0] + tile, a);
        store_quad(place[1] + tile, b);
        if (column == 4) break;
        store_quad(place[2] + tile, c);
        store_quad(place[3] + tile, d);
      }
    }
  }
  for (int first = 0; first < kGroup; first += kWidth) {
    Lanes in[kSide * kSide], out[kSide * kSide];
    for (int row = 0; row < Transform::from; row++) {
      for (int column = 0; column < Transform::from; column++)
        in[row * kSide + column] = load(gathered[row * kSide + column] + first);
    }
    transform<Transform>(in, out);
    for (int i = 0; i < kSide * kSide; i++) store(target + i * element_stride + first, out[i]);
  }
}

void transform_weight(const float* kernels, int64_t stride, int count, bool turned, float* target,
                      int64_t element_stride) {
  constexpr int kTaps = 9;
  alignas(64) float gathered[kTaps][kPanelLanes * kWidth] = {};
  for (int i = 0; i < count; i++) {
    const float* kernel = kernels + i * stride;
    for (int tap = 0; tap < kTaps; tap++) gathered[tap][i] = kernel[turned ? kTaps - 1 - tap : tap];
  }
  alignas(64) float results[kSide * kSide][kPanelLanes * kWidth];
  for (int first = 0; first < kTileRows; first += kWidth) {
    Lanes in[kSide * kSide], out[kSide * kSide];
    for (int tap = 0; tap < kTaps; tap++) in[tap / 3 * kSide + tap % 3] = load(gathered[tap] + first);
    transform<Weight>(in, out);
    for (int i = 0; i < kSide * kSide; i++) store(results[i] + first, out[i]);
  }
  for (int i = 0; i < kSide * kSide; i++)
    __builtin_memcpy(target + i * element_stride, results[i], kTileRows * sizeof(float));
}

void multiply(const float* panel, const float* tiles, int64_t groups, int64_t depth, int row_count,
              float* target, int64_t row_stride) {
  for (int64_t group = 0; group < groups; group++) {
    const float* inputs = tiles + group * depth * kGroup;
    Tile<float> tile;
    multiply_tile<float>(depth, panel, [=](int64_t k) { return inputs + k * kGroup; }, tile);
    for (int i = 0; i < row_count; i++) {
      for (int j = 0; j < kTileVectors; j++)
        store(target + i * row_stride + group * kGroup + j * kWidth, tile.sum[i][j]);
    }
  }
}

void transform_output(const float* products, int64_t element_stride, float bias, float* tiles) {
  alignas(64) float results[kOutput * kOutput][kGroup];
  for (int first = 0; first < kGroup; first += kWidth) {
    Lanes in[kSide * kSide], out[kSide * kSide];
    for (int i = 0; i < kSide * kSide; i++) in[i] = load(products + i * element_stride + first);
    transform<Output>(in, out);
    for (int row = 0; row < kOutput; row++) {
      for (int column = 0; column < kOutput; column++)
        store(results[row * kOutput + column] + first, out[row * kSide + column] + bias);
    }
  }
  for (int tile = 0; tile < kGroup; tile += 4) {
    for (int row = 0; row < kOutput; row++) {
      const float(*line)[kGroup] = results + row * kOutput;
      Quad a = load_quad(line[0] + tile), b = load_quad(line[1] + tile), c = load_quad(line[2] + tile),
           d = load_quad(line[3] + tile);
      transpose(a, b, c, d);
      float* place = tiles + tile * kOutput * kOutput + row * kOutput;
      store_quad(place, a);
      store_quad(place + 16, b);
      store_quad(place + 32, c);
      store_quad(place + 48, d);
    }
  }
}

void transform_weight_gradient(const float* products, int64_t element_stride, int64_t count,
                               float* kernels) {
  constexpr int kTaps = 9;
  for (int64_t first = 0; first < count; first += kWidth) {
    Lanes in[kSide * kSide], out[kSide * kSide];
    for (int i = 0; i < kSide * kSide; i++) in[i] = load(products + i * element_stride + first);
    transform<WeightGradient>(in, out);
    alignas(64) float taps[kTaps][kWidth];
    for (int tap = 0; tap < kTaps; tap++) store(taps[tap], out[tap / 3 * kSide + tap % 3]);
    const int64_t lanes = smaller(kWidth, count - first);
    for (int64_t i = 0; i < lanes; i++) {
      for (int tap = 0; tap < kTaps; tap++) kernels[(first + i) * kTaps + tap] = taps[tap][i];
    }
  }
}

}  // namespace

extern const WinogradLoops winograd_loops;
const WinogradLoops winograd_loops{kTileRows,
                                   kGroup,
                                   transform_weight,
                                   transform_tiles<Input>,
                                   transform_tiles<OutputGradient>,
                                   multiply,
                                   transform_output,
                                   transform_weight_gradient};

}  // namespace RELUME_ISA
}  // namespace relume
