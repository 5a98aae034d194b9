// The node of a recorded op: its arguments (numbers by value, tensors where its derivative
// needs them, otherwise only their shapes), in one block of memory.
#pragma once
#include "autograd/derivative.h"
#include "autograd/node.h"
#include "autograd/saved_tensors.h"

namespace relume {

class OpNode final : public Node {
 public:
  // Makes the node of a call that has just run, with edges to where its inputs came from.
  static Ref<Node> record(Call& call, const Derivative& derivative);

  const char* name() const override { return op_->name().c_str(); }
  void apply(const Tensor* output_gradients, const bool* wanted, Tensor* input_gradients) override;
  void release_saved() override;

 private:
  friend class Backward;

  // A tensor among the arguments; slot i belongs to edge i.
  struct Slot {
    TensorShape like;
    TensorBody* saved = nullptr;  // owned
    uint32_t version = 0;         // of its storage when it was saved
    bool overwritten = false;     // the op itself changed it in place
  };
  struct ArgumentRecord {
    Value value;        // lists point into this node's block; tensors are in the slots
    int first_slot = 0;
    int slot_count = 0;
  };
  // Output tensors point to this node, so the node saves an alias of theirs.
  struct OutputRecord {
    TensorShape like;
    TensorBody* saved = nullptr;  // owned, off the tape
    uint32_t version = 0;
  };

  OpNode() = default;
  ~OpNode() override { release_saved(); }
  void destroy() override;

  void pack_saved(SavedTensorHooks& hooks);
  Tensor unpack(const std::vector<Unpack>& packed, int index, const TensorShape& like);
  void run_derivative(const Tensor* output_gradients, const bool* wanted, Tensor* input_gradients);
  Tensor saved_input(int slot);
  Tensor saved_output(int output);
  Tensor conform(Tensor gradient, const Slot& slot);

  const Op* op_ = nullptr;
  const Derivative* derivative_ = nullptr;
  std::size_t block_size_ = 0;
  ArgumentRecord* arguments_ = nullptr;
  Slot* slots_ = nullptr;
  OutputRecord* outputs_ = nullptr;
  bool saves_something_ = false;
  bool conjugates_ = false;  // the derivative is that of the real formula, the numbers are complex
  bool released_ = false;
};

}  // namespace relume
