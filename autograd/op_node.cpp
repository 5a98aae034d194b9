#include "autograd/op_node.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "autograd/node_extras.h"
#include "tensor/memory.h"
#include "tensor/thread_state.h"

namespace relume {
namespace {

// Hands out consecutive pieces of one block; with a null base it only counts bytes.
class BlockLayout {
 public:
  explicit BlockLayout(std::size_t start) : used_(start) {}
  BlockLayout(char* base, std::size_t start) : base_(base), used_(start) {}

  template <class T>
  T* take(int count) {
    T* piece = base_ ? reinterpret_cast<T*>(base_ + used_) : nullptr;
    used_ += (sizeof(T) * count + 7) / 8 * 8;
    return piece;
  }
  std::size_t used() const { return used_; }

 private:
  char* base_ = nullptr;
  std::size_t used_;
};

void remember_shape(TensorShape& like, const TensorBody* body, BlockLayout& layout) {
  int64_t* sizes = layout.take<int64_t>(body->ndim);
  std::copy_n(body->shape, body->ndim, sizes);
  like.dtype = body->dtype;
  like.device = body->storage ? body->storage->device : Device{};
  like.contiguous = body->contiguous;
  like.ndim = body->ndim;
  like.offset = body->offset;
  like.sizes = sizes;
}

[[noreturn]] void changed_in_place(const std::string& op, const std::string& what) {
  throw Error(message("the gradient of ", op, "() needs ", what,
                      ", which was changed in place after it was used; clone it before the change"));
}

// The gradient of a real function of a complex number z = x + iy is df/dx + i df/dy, so that a
// step against it leads downhill. Through a holomorphic function it comes out of the formula
// of real numbers when all gradients are conjugated on the way in and on the way out.
void conjugate(Tensor* gradients, int count) {
  static const OpFunction conj{"conj"};
  for (int i = 0; i < count; ++i) {
    if (gradients[i].defined() && is_complex(gradients[i].dtype())) gradients[i] = conj(gradients[i]);
  }
}

}  // namespace

Ref<Node> OpNode::record(Call& call, const Derivative& derivative) {
  const std::vector<Argument>& schema = call.op.schema.arguments;
  const int argument_count = static_cast<int>(schema.size());
  const int output_count = call.outputs.size();

  // First pass: which arguments need a gradient, and how large the block is.
  uint32_t needed = 0;
  int slot_count = 0;
  BlockLayout size(sizeof(OpNode));
  size.take<ArgumentRecord>(argument_count);
  for (int i = 0; i < argument_count; ++i) {
    const Value& value = call.arguments[i];
    auto add_tensor = [&](const TensorBody* body) {
      ++slot_count;
      if (!body) return;
      size.take<int64_t>(body->ndim);
      if (wants_gradient(body)) needed |= 1u << i;
    };
    if (value.type == Value::Type::tensor) {
      add_tensor(value.tensor);
    } else if (value.type == Value::Type::tensors) {
      for (int k = 0; k < value.count; ++k) add_tensor(value.tensors[k]);
    } else if (value.type == Value::Type::integers) {
      size.take<int64_t>(value.count);
    } else if (value.is_complex()) {
      size.take<Complex128>(1);
    }
  }
  size.take<Edge>(slot_count);
  size.take<Slot>(slot_count);
  size.take<OutputRecord>(output_count);
  const Saves saves = derivative.saves_for(needed);
  for (int i = 0; i < output_count; ++i) size.take<int64_t>(call.outputs[i].ndim());

  // Second pass: fill it.
  char* block = static_cast<char*>(allocate_memory(size.used()));
  OpNode* node = ::new (block) OpNode;
  Ref<Node> result = Ref<Node>::steal(node);
  node->block_size_ = size.used();
  node->op_ = &call.op;
  node->derivative_ = &derivative;
  BlockLayout layout(block, sizeof(OpNode));
  node->arguments_ = layout.take<ArgumentRecord>(argument_count);
  node->edges = layout.take<Edge>(slot_count);
  node->slots_ = layout.take<Slot>(slot_count);
  node->outputs_ = layout.take<OutputRecord>(output_count);
  std::uninitialized_default_construct_n(node->arguments_, argument_count);
  std::uninitialized_default_construct_n(node->edges, slot_count);
  std::uninitialized_default_construct_n(node->slots_, slot_count);
  std::uninitialized_default_construct_n(node->outputs_, output_count);
  node->output_count = output_count;

  const bool conjugates = !call.op.has(Trait::view) && !call.op.has(Trait::not_holomorphic);
  const Tensor& changed = call.outputs[0];
  for (int i = 0; i < argument_count; ++i) {
    const Value& value = call.arguments[i];
    ArgumentRecord& argument = node->arguments_[i];
    argument.first_slot = node->edge_count;
    auto add_tensor = [&](TensorBody* body) {
      const int index = node->edge_count++;
      ++argument.slot_count;
      if (!body) return;
      Slot& slot = node->slots_[index];
      remember_shape(slot.like, body, layout);
      node->conjugates_ |= conjugates && is_complex(body->dtype);
      if (wants_gradient(body)) node->edges[index] = gradient_edge(body);
      if (!(saves & (Saves{1} << i))) return;
      node->saves_something_ = true;
      // The version must be the one that the op saw: an in-place op has just changed it.
      if (call.in_place && may_overlap(Tensor::borrow(body), changed)) {
        slot.overwritten = true;
        return;
      }
      body->retain();
      slot.saved = body;
      slot.version = body->storage ? body->storage->version.load(std::memory_order_relaxed) : 0;
    };
    if (value.type == Value::Type::tensor) {
      add_tensor(value.tensor);
      argument.value.type = Value::Type::tensor;
      argument.value.tensor = nullptr;
    } else if (value.type == Value::Type::tensors) {
      for (int k = 0; k < value.count; ++k) add_tensor(value.tensors[k]);
      argument.value.type = Value::Type::tensors;
      argument.value.count = value.count;
    } else if (value.type == Value::Type::integers) {
      int64_t* list = layout.take<int64_t>(value.count);
      std::copy_n(value.integers, value.count, list);
      argument.value = Value(IntSpan(list, value.count));
    } else if (value.is_complex()) {
      Complex128* number = layout.take<Complex128>(1);
      *number = *value.complex;
      argument.value = Value(*number);
      node->conjugates_ |= conjugates;
    } else {
      argument.value = value;
      if (value.type == Value::Type::text) {
        // Texts are few and short (modes): keep them for good instead of owning them here.
        argument.value.text = intern(value.text);
      }
    }
  }
  for (int i = 0; i < output_count; ++i) {
    const Tensor& output = call.outputs[i];
    OutputRecord& record = node->outputs_[i];
    remember_shape(record.like, output.body(), layout);
    node->conjugates_ |= conjugates && is_complex(output.dtype());
    if (saves & saves_output(i)) {
      record.saved = alias(output).detach_body();
      record.version = output.version();
      node->saves_something_ = true;
    }
  }
  if (SavedTensorHooks* hooks = thread_state().saved_tensor_hooks) node->pack_saved(*hooks);
  return result;
}

// Leaves stay as they are: somebody else keeps them alive anyway.
void OpNode::pack_saved(SavedTensorHooks& hooks) {
  NodeExtras& packs = extras();
  auto pack = [&hooks](TensorBody*& saved) {
    Unpack unpack = hooks.pack(alias(Tensor::borrow(saved)));
    std::exchange(saved, nullptr)->release();
    return unpack;
  };
  packs.packed_inputs.resize(edge_count);
  for (int i = 0; i < edge_count; ++i) {
    if (slots_[i].saved && !edges[i].leaf) packs.packed_inputs[i] = pack(slots_[i].saved);
  }
  packs.packed_outputs.resize(output_count);
  for (int i = 0; i < output_count; ++i) {
    if (outputs_[i].saved) packs.packed_outputs[i] = pack(outputs_[i].saved);
  }
}

void OpNode::destroy() {
  const std::size_t size = block_size_;
  this->~OpNode();
  free_memory(this, size);
}

void OpNode::release_saved() {
  for (int i = 0; i < edge_count; ++i) {
    if (slots_[i].saved) slots_[i].saved->release();
    slots_[i].saved = nullptr;
  }
  for (int i = 0; i < output_count; ++i) {
    if (outputs_[i].saved) outputs_[i].saved->release();
    outputs_[i].saved = nullptr;
  }
  if (NodeExtras* packs = find_extras()) {
    packs->packed_inputs.clear();
    packs->packed_outputs.clear();
  }
  released_ = saves_something_;
}

namespace {

// What a derivative has unpacked lives until it returns. (Backward within it may get here again.)
class UnpackedScope {
 public:
  explicit UnpackedScope(NodeExtras* extras) : extras_(extras) {
    if (extras_) outer_.swap(extras_->unpacked);
  }
  ~UnpackedScope() {
    if (extras_) outer_.swap(extras_->unpacked);
  }
  UnpackedScope(const UnpackedScope&) = delete;
  UnpackedScope& operator=(const UnpackedScope&) = delete;

 private:
  NodeExtras* extras_;
  std::vector<Tensor> outer_;
};

}  // namespace

void OpNode::apply(const Tensor* output_gradients, const bool* wanted, Tensor* input_gradients) {
  check<Error>(!released_, "backward through ", op_->name(), "() a second time: what it had saved was freed "
               "by the first backward; use retain_graph=True there");
  UnpackedScope unpacked(find_extras());
  if (__builtin_expect(conjugates_, 0)) {
    std::vector<Tensor> conjugated(output_gradients, output_gradients + output_count);
    conjugate(conjugated.data(), output_count);
    run_derivative(conjugated.data(), wanted, input_gradients);
    conjugate(input_gradients, edge_count);
  } else {
    run_derivative(output_gradients, wanted, input_gradients);
  }
  for (int i = 0; i < edge_count; ++i) {
    if (input_gradients[i].defined()) input_gradients[i] = conform(std::move(input_gradients[i]), slots_[i]);
  }
}

void OpNode::run_derivative(const Tensor* output_gradients, const bool* wanted, Tensor* input_gradients) {
  Backward backward(*this, output_gradients, wanted, input_gradients);
  if (derivative_->joint) {
    derivative_->joint(backward);
  } else {
    for (const Gradient& gradient : derivative_->gradients) {
      if (backward.needs(gradient.argument)) backward.set(gradient.argument, gradient.function(backward));
    }
  }
}

// Gives a gradient the type and the shape of the input it belongs to.
Tensor OpNode::conform(Tensor gradient, const Slot& slot) {
  if (gradient.dtype() != slot.like.dtype) gradient = ops::to_dtype(gradient, slot.like.dtype);
  if (gradient.shape() != slot.like.shape()) {
    check<Error>(op_->has(Trait::elementwise) || op_->has(Trait::in_place), "the derivative of ", op_->name(),
                 "() gave shape ", gradient.shape(), " for an input of shape ", slot.like.shape());
    gradient = ops::sum_to(gradient, slot.like.shape());
  }
  return gradient;
}

// What was packed, or an undefined tensor when that was not.
Tensor OpNode::unpack(const std::vector<Unpack>& packed, int index, const TensorShape& like) {
  if (static_cast<int>(packed.size()) <= index || !packed[index]) return Tensor();
  const Unpack unpack = packed[index];  // a hook may lead to this node's end
  Tensor tensor = unpack();
  check<TypeError>(tensor.defined(), "the hooks for saved tensors gave nothing back that ", op_->name(), "() saved");
  check(tensor.shape() == like.shape() && tensor.dtype() == like.dtype, "the hooks for saved tensors gave shape ",
        tensor.shape(), " and type ", relume::name(tensor.dtype()), " back for what ", op_->name(),
        "() saved with shape ", like.shape(), " and type ", relume::name(like.dtype));
  return tensor;
}

Tensor OpNode::saved_input(int index) {
  Slot& slot = slots_[index];
  if (slot.overwritten) changed_in_place(op_->name(), "the value that it replaced");
  if (NodeExtras* packs = find_extras()) {
    Tensor tensor = unpack(packs->packed_inputs, index, slot.like);
    const Edge& edge = edges[index];  // it was packed off the tape; this is where it stood
    if (tensor.defined() && edge.node) tensor = output_of(tensor, edge.node, edge.output_index);
    if (tensor.defined()) {
      packs->unpacked.push_back(tensor);
      return tensor;
    }
  }
  check<Error>(slot.saved != nullptr, "the derivative of ", op_->name(), "() reads an input that it does not save");
  Tensor tensor = Tensor::borrow(slot.saved);
  if (tensor.version() != slot.version) changed_in_place(op_->name(), "an input of shape " + to_string(tensor.shape()));
  return tensor;
}

Tensor OpNode::saved_output(int index) {
  OutputRecord& record = outputs_[index];
  if (NodeExtras* packs = find_extras()) {
    const Tensor tensor = unpack(packs->packed_outputs, index, record.like);
    if (tensor.defined()) return output_of(tensor, this, static_cast<uint32_t>(index));
  }
  check<Error>(record.saved != nullptr, "the derivative of ", op_->name(), "() reads an output that it does not save");
  Tensor saved = Tensor::borrow(record.saved);
  if (saved.version() != record.version) changed_in_place(op_->name(), "its result of shape " + to_string(saved.shape()));
  if (!thread_state().grad_mode) return saved;
  // Put it back where it stands on the tape, for derivatives of the derivative.
  return output_of(saved, this, static_cast<uint32_t>(index));
}

Tensor Backward::grad(int output) {
  if (output_gradients_[output].defined()) return output_gradients_[output];
  const TensorShape& like = node_.outputs_[output].like;
  return full(like.shape(), 0.0, like.dtype, like.device);
}

Tensor Backward::in(int argument) { return in(argument, 0); }
Tensor Backward::in(int argument, int position) {
  return node_.saved_input(node_.arguments_[argument].first_slot + position);
}

Value Backward::operand(int argument) {
  if (!is_tensor(argument)) return value(argument);
  return Value(in(argument));  // the node keeps what it saved alive
}

Tensor Backward::out(int output) { return node_.saved_output(output); }
const Value& Backward::value(int argument) const { return node_.arguments_[argument].value; }
bool Backward::is_tensor(int argument) const { return node_.arguments_[argument].value.type == Value::Type::tensor; }

IntSpan Backward::shape(int argument, int position) const {
  return node_.slots_[node_.arguments_[argument].first_slot + position].like.shape();
}
DType Backward::dtype(int argument, int position) const {
  return node_.slots_[node_.arguments_[argument].first_slot + position].like.dtype;
}
int64_t Backward::offset(int argument) const {
  const TensorShape& like = node_.slots_[node_.arguments_[argument].first_slot].like;
  check<NotImplementedError>(like.contiguous, "the derivative of ", node_.op_->name(),
                             "() for a tensor that is not contiguous; call contiguous() first");
  return like.offset;
}
bool Backward::is_given(int argument, int position) const {
  return node_.slots_[node_.arguments_[argument].first_slot + position].like.sizes != nullptr;
}
int Backward::output_count() const { return node_.output_count; }
int Backward::list_size(int argument) const { return node_.arguments_[argument].slot_count; }

bool Backward::needs(int argument, int position) const {
  const OpNode::ArgumentRecord& record = node_.arguments_[argument];
  return position < record.slot_count && wanted_[record.first_slot + position];
}

void Backward::set(int argument, int position, Tensor gradient) {
  input_gradients_[node_.arguments_[argument].first_slot + position] = std::move(gradient);
}

}  // namespace relume
