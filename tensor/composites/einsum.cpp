// Einstein's summation: every letter is a dimension, letters that the result lacks are summed over.
//
// Operands are taken from the left, two at a time. For each pair, letters fall into batch (in both, still
// needed), summed (in both, needed no more) and those of one side only; that is one batched matrix product.
#include <algorithm>
#include <cctype>
#include <cstring>

#include "tensor/composites/composites.h"

namespace relume {
namespace {

const OpFunction diagonal{"diagonal"}, bmm{"bmm"};

// Labels of dimensions: letters, and small numbers for the dimensions of an ellipsis.
using Labels = std::vector<int>;

struct Operand {
  Tensor tensor;
  Labels labels;
};

bool has(const Labels& labels, int label) { return std::find(labels.begin(), labels.end(), label) != labels.end(); }
int place_of(const Labels& labels, int label) {
  return static_cast<int>(std::find(labels.begin(), labels.end(), label) - labels.begin());
}

constexpr int kEllipsis = 0;  // labels 0..15: dimensions of an ellipsis, counted from the last

Labels parse_labels(const std::string& text, int ellipsis_dims) {
  Labels labels;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '.') {
      check(text.compare(i, 3, "...") == 0, "einsum(): an ellipsis has three points, got '", text, "'");
      for (int dim = ellipsis_dims - 1; dim >= 0; --dim) labels.push_back(kEllipsis + dim);
      i += 2;
    } else {
      check(std::isalpha(static_cast<unsigned char>(text[i])), "einsum(): '", text[i], "' in '", text,
            "' is no letter");
      labels.push_back(text[i]);
    }
  }
  return labels;
}

int named_dims(const std::string& text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) { return c != '.'; }));
}

struct Equation {
  std::vector<std::string> inputs;
  std::string output;
  bool has_output = false;

  explicit Equation(const char* text) {
    std::string rest;
    for (const char* c = text; *c; ++c) {
      if (*c != ' ') rest += *c;
    }
    if (const std::size_t arrow = rest.find("->"); arrow != std::string::npos) {
      has_output = true;
      output = rest.substr(arrow + 2);
      rest.resize(arrow);
    }
    std::size_t start = 0;
    for (std::size_t comma; (comma = rest.find(',', start)) != std::string::npos; start = comma + 1) {
      inputs.push_back(rest.substr(start, comma - start));
    }
    inputs.push_back(rest.substr(start));
  }
};

// A label that stands twice in one operand means the diagonal of its dimensions.
Operand without_repeats(Operand operand) {
  for (std::size_t i = 0; i < operand.labels.size(); ++i) {
    const int label = operand.labels[i];
    const auto second = std::find(operand.labels.begin() + i + 1, operand.labels.end(), label);
    if (second == operand.labels.end()) continue;
    const auto j = second - operand.labels.begin();
    const int64_t size = operand.tensor.size(static_cast<int>(i)), other = operand.tensor.size(static_cast<int>(j));
    check(size == other, "einsum(): '", static_cast<char>(label), "' stands for sizes ", size, " and ", other);
    operand.tensor = diagonal(operand.tensor, 0, static_cast<int64_t>(i), static_cast<int64_t>(j));
    operand.labels.erase(second);
    operand.labels.erase(operand.labels.begin() + i);
    operand.labels.push_back(label);
    --i;
  }
  return operand;
}

// Sums over labels that nobody needs.
Operand reduced(Operand operand, const Labels& needed) {
  std::vector<int64_t> dims;
  Labels kept;
  for (std::size_t i = 0; i < operand.labels.size(); ++i) {
    if (has(needed, operand.labels[i])) {
      kept.push_back(operand.labels[i]);
    } else {
      dims.push_back(static_cast<int64_t>(i));
    }
  }
  if (dims.empty()) return operand;
  return {ops::sum(operand.tensor, dims), kept};
}

std::vector<int64_t> places(const Labels& labels, const Labels& order) {
  std::vector<int64_t> dims;
  for (int label : order) dims.push_back(place_of(labels, label));
  return dims;
}

Labels chained(Labels first, const Labels& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

class Sizes {
 public:
  void add(const Operand& operand) {
    for (std::size_t i = 0; i < operand.labels.size(); ++i) {
      const int label = operand.labels[i];
      int64_t& known = sizes_[label];
      const int64_t size = operand.tensor.size(static_cast<int>(i));
      if (known == 1 || known < 0) {
        known = size;
      } else {
        check(size == known || size == 1, "einsum(): '", label < 16 ? "..." : std::string(1, static_cast<char>(label)),
              "' stands for sizes ", known, " and ", size);
      }
    }
  }
  int64_t operator[](int label) const { return sizes_[label]; }
  std::vector<int64_t> of(const Labels& labels) const {
    std::vector<int64_t> sizes;
    for (int label : labels) sizes.push_back(sizes_[label]);
    return sizes;
  }

 private:
  std::vector<int64_t> sizes_ = std::vector<int64_t>(128, -1);
};

// The dimensions of `operand` in the order of `labels`, of full size (1 is broadcast).
Tensor arranged(const Operand& operand, const Labels& labels, const Sizes& sizes) {
  return ops::expand(ops::permute(operand.tensor, places(operand.labels, labels)), sizes.of(labels));
}

Operand product_of(const Operand& a, const Operand& b, const Labels& needed, const Sizes& sizes) {
  Labels batch, summed, only_a, only_b;
  for (int label : a.labels) {
    (!has(b.labels, label) ? only_a : has(needed, label) ? batch : summed).push_back(label);
  }
  for (int label : b.labels) {
    if (!has(a.labels, label)) only_b.push_back(label);
  }
  const int64_t batches = product(sizes.of(batch)), inner = product(sizes.of(summed));
  const int64_t rows = product(sizes.of(only_a)), columns = product(sizes.of(only_b));
  const Tensor left = arranged(a, chained(chained(batch, only_a), summed), sizes);
  const Tensor right = arranged(b, chained(chained(batch, summed), only_b), sizes);
  const Labels labels = chained(chained(batch, only_a), only_b);
  const Tensor stack = ops::reshape(left, IntSpan{batches, rows, inner});
  const Tensor other = ops::reshape(right, IntSpan{batches, inner, columns});
  const Tensor result = summed.empty() ? stack * other : bmm(stack, other);  // nothing to sum: broadcast
  return {ops::reshape(result, sizes.of(labels)), labels};
}

// Without an arrow: letters that stand once, in alphabetical order, after the ellipsis.
Labels implied_output(const std::vector<Operand>& operands, int ellipsis_dims) {
  int count[128] = {};
  for (const Operand& operand : operands) {
    for (int label : operand.labels) ++count[label];
  }
  Labels output;
  for (int dim = ellipsis_dims - 1; dim >= 0; --dim) output.push_back(kEllipsis + dim);
  for (int label = 'A'; label <= 'z'; ++label) {
    if (count[label] == 1) output.push_back(label);
  }
  return output;
}

void check_output(const Labels& output, const Sizes& sizes) {
  for (std::size_t i = 0; i < output.size(); ++i) {
    const std::string letter(1, static_cast<char>(output[i]));
    check(sizes[output[i]] >= 0, "einsum(): '", letter, "' of the result is in no operand");
    check(std::count(output.begin(), output.end(), output[i]) == 1, "einsum(): '", letter,
          "' stands twice in the result");
  }
}

void einsum_cpu(Call& call) {
  const Equation equation(call.text(0));
  const std::vector<Tensor> tensors = call.tensors(1);
  check(equation.inputs.size() == tensors.size(), "einsum(): '", call.text(0), "' describes ", equation.inputs.size(),
        " operands, but ", tensors.size(), " were given");
  DType dtype = tensors[0].dtype();
  for (const Tensor& tensor : tensors) dtype = promote(dtype, tensor.dtype());

  std::vector<Operand> operands;
  int ellipsis_dims = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string& text = equation.inputs[i];
    const int extra = tensors[i].ndim() - named_dims(text);
    const bool has_ellipsis = text.find('.') != std::string::npos;
    check(extra == 0 || (has_ellipsis && extra > 0), "einsum(): operand ", i, " has shape ", tensors[i].shape(),
          ", which '", text, "' does not describe");
    ellipsis_dims = std::max(ellipsis_dims, extra);
    operands.push_back({ops::to_dtype(tensors[i], dtype), parse_labels(text, extra)});
  }
  const Labels output =
      equation.has_output ? parse_labels(equation.output, ellipsis_dims) : implied_output(operands, ellipsis_dims);
  Sizes sizes;
  for (Operand& operand : operands) {
    operand = without_repeats(std::move(operand));
    sizes.add(operand);
  }
  check_output(output, sizes);

  Operand result = operands[0];
  for (std::size_t i = 1; i <= operands.size(); ++i) {
    Labels needed = output;
    for (std::size_t k = i; k < operands.size(); ++k) needed = chained(needed, operands[k].labels);
    result = reduced(std::move(result), needed);
    if (i == operands.size()) break;
    Labels later = output;
    for (std::size_t k = i + 1; k < operands.size(); ++k) later = chained(later, operands[k].labels);
    const Operand next = reduced(operands[i], chained(later, result.labels));
    result = product_of(result, next, later, sizes);
  }
  call.set_output(0, arranged(result, output, sizes));
}

const Register register_einsum{
    "einsum(str equation, Tensor[] operands) -> Tensor",
    "Einstein's summation: 'ij,jk->ik' is a matrix product; letters that the result lacks are summed over.",
    {Trait::composite, Trait::no_method}, einsum_cpu};

}  // namespace
}  // namespace relume
