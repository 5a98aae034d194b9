// Calls of ops that were listened to once, to be made again for other tensors of the same sizes.
#pragma once
#include <unordered_map>
#include <vector>

#include "tensor/dispatch.h"

namespace relume {

// Tensors have places: first the inputs, then what the calls give. While a routine listens it
// holds on to all of them, so that no two have one address.
class Routine {
 public:
  // An undefined input stands for an argument that is None.
  explicit Routine(std::vector<Tensor> inputs);

  // Adds a call that has just been made.
  void add(const Call& call);
  // -1 for a tensor that is neither an input nor the result of a call.
  int place_of(const Tensor& tensor) const;
  // Ends listening: keeps the calls that the wanted places need, and no tensors.
  void finish(const std::vector<int>& wanted);

  // Could all calls be understood? They take only tensors with a place, and change none.
  bool is_complete() const { return complete_; }
  // Do these look like the first inputs: types, shapes, strides, which are missing?
  bool fits(const std::vector<Tensor>& inputs) const;
  // Makes the calls. The tensors of the places, undefined where no place was wanted.
  std::vector<Tensor> run(std::vector<Tensor> inputs) const;
  // Is this work for which other threads should not have to wait?
  bool is_long() const { return elements_ > kLong; }

 private:
  static constexpr int64_t kLong = 1 << 17;
  static constexpr int kMissing = -1;  // a tensor that is None

  // Part of one of the lists below: all calls lie side by side, which costs least when other work
  // has emptied the cache between two runs.
  struct Range {
    int first = 0;
    int count = 0;
  };
  struct Argument {
    Value value;   // of what is no tensor
    Range places;  // of a tensor, or of those of a list; of integers in `integers_`
  };
  struct Step {
    const Op* op;
    Range arguments;
    Range results;  // places
    Range done;     // places that nothing needs after this step
  };
  struct Look {
    bool defined = false;
    DType dtype = DType::float32;
    Device device;
    std::vector<int64_t> shape, strides;

    explicit Look(const Tensor& tensor);
    bool is_of(const Tensor& tensor) const;
  };

  int known_place(const TensorBody* body);
  int new_place(const Tensor& tensor);
  bool is_input(int place) const { return place < static_cast<int>(looks_.size()); }
  Range mark_done(const Step& step, std::vector<bool>& needed);

  std::vector<Look> looks_;  // of the inputs
  std::vector<Step> steps_;
  std::vector<Argument> arguments_;
  std::vector<int> tensor_places_;
  std::vector<int64_t> integers_;
  std::vector<Tensor> seen_;  // by place
  std::unordered_map<const TensorBody*, int> places_;
  int place_count_ = 0;
  int64_t elements_ = 0;
  bool complete_ = true;
};

}  // namespace relume
