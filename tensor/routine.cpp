#include "tensor/routine.h"

#include <algorithm>

namespace relume {

Routine::Look::Look(const Tensor& tensor) : defined(tensor.defined()) {
  if (!defined) return;
  dtype = tensor.dtype();
  device = tensor.device();
  shape = tensor.shape().vector();
  strides = tensor.strides().vector();
}

bool Routine::Look::is_of(const Tensor& tensor) const {
  if (!defined || !tensor.defined()) return defined == tensor.defined();
  return tensor.dtype() == dtype && tensor.shape() == IntSpan(shape) && tensor.strides() == IntSpan(strides) &&
         tensor.device() == device;
}

Routine::Routine(std::vector<Tensor> inputs) {
  for (const Tensor& input : inputs) {
    looks_.emplace_back(input);
    new_place(input);
  }
}

int Routine::new_place(const Tensor& tensor) {
  seen_.push_back(tensor);
  if (tensor.defined()) {
    places_.emplace(tensor.body(), place_count_);
    elements_ += tensor.numel();
  }
  return place_count_++;
}

int Routine::place_of(const Tensor& tensor) const {
  const auto found = places_.find(tensor.body());
  return found == places_.end() ? -1 : found->second;
}

// Of an argument: where it has no place, the call cannot be made again.
int Routine::known_place(const TensorBody* body) {
  if (!body) return kMissing;
  const auto found = places_.find(body);
  if (found != places_.end()) return found->second;
  complete_ = false;
  return kMissing;
}

void Routine::add(const Call& call) {
  if (!complete_) return;
  complete_ = !call.has_out;  // it changes a tensor that was there before
  const int count = static_cast<int>(call.op.schema.arguments.size());
  Step step{&call.op, {static_cast<int>(arguments_.size()), count}, {}, {}};
  for (int i = 0; i < count; ++i) {
    const Value& value = call.value(i);
    Argument argument{value, {static_cast<int>(tensor_places_.size()), 0}};
    if (value.is_tensor()) {
      tensor_places_.push_back(known_place(value.tensor));
    } else if (value.type == Value::Type::tensors) {
      for (int k = 0; k < value.count; ++k) tensor_places_.push_back(known_place(value.tensors[k]));
      argument.places.count = value.count;
    } else if (value.type == Value::Type::integers) {
      argument.places = {static_cast<int>(integers_.size()), value.count};
      for (int64_t integer : value.as_integers()) integers_.push_back(integer);
    } else if (value.type == Value::Type::text) {
      argument.value.text = intern(value.text);
    } else if (value.is_complex()) {
      complete_ = false;
    }
    arguments_.push_back(argument);
  }
  step.results = {static_cast<int>(tensor_places_.size()), call.outputs.size()};
  for (int i = 0; i < call.outputs.size(); ++i) {
    const int place = place_of(call.outputs[i]);  // an op may give back what it got
    tensor_places_.push_back(place >= 0 ? place : new_place(call.outputs[i]));
  }
  steps_.push_back(step);
}

// Notes what a step needs; the places that no later one does.
Routine::Range Routine::mark_done(const Step& step, std::vector<bool>& needed) {
  std::vector<int> done;
  auto use = [&](int place) {
    if (place == kMissing || needed[place]) return;
    needed[place] = true;
    if (!is_input(place)) done.push_back(place);
  };
  for (int i = 0; i < step.results.count; ++i) use(tensor_places_[step.results.first + i]);
  for (int i = 0; i < step.arguments.count; ++i) {
    const Argument& argument = arguments_[step.arguments.first + i];
    if (argument.value.is_tensor()) use(tensor_places_[argument.places.first]);
    if (argument.value.type != Value::Type::tensors) continue;
    for (int k = 0; k < argument.places.count; ++k) use(tensor_places_[argument.places.first + k]);
  }
  const Range range{static_cast<int>(tensor_places_.size()), static_cast<int>(done.size())};
  tensor_places_.insert(tensor_places_.end(), done.begin(), done.end());
  return range;
}

void Routine::finish(const std::vector<int>& wanted) {
  seen_.clear();
  places_.clear();
  std::vector<bool> needed(place_count_, false);
  for (int place : wanted) needed[place] = true;
  std::vector<Step> kept;
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    bool is_needed = false;
    for (int i = 0; i < step->results.count; ++i) is_needed |= needed[tensor_places_[step->results.first + i]];
    if (!is_needed) continue;
    step->done = mark_done(*step, needed);
    kept.push_back(*step);
  }
  steps_.assign(kept.rbegin(), kept.rend());
}

bool Routine::fits(const std::vector<Tensor>& inputs) const {
  return inputs.size() == looks_.size() &&
         std::equal(inputs.begin(), inputs.end(), looks_.begin(),
                    [](const Tensor& input, const Look& look) { return look.is_of(input); });
}

std::vector<Tensor> Routine::run(std::vector<Tensor> tensors) const {
  tensors.resize(place_count_);
  std::vector<Value> values;
  std::vector<TensorBody*> bodies(tensor_places_.size());  // what lists of tensors point to
  auto body_at = [&](int i) {
    return tensor_places_[i] == kMissing ? nullptr : tensors[tensor_places_[i]].body();
  };
  for (const Step& step : steps_) {
    values.clear();
    for (int i = 0; i < step.arguments.count; ++i) {
      const Argument& argument = arguments_[step.arguments.first + i];
      const auto [first, count] = argument.places;
      if (argument.value.is_tensor()) {
        values.emplace_back(body_at(first));
      } else if (argument.value.type == Value::Type::tensors) {
        for (int k = first; k < first + count; ++k) bodies[k] = body_at(k);
        values.emplace_back(bodies.data() + first, count);
      } else if (argument.value.type == Value::Type::integers) {
        values.emplace_back(IntSpan(integers_.data() + first, count));
      } else {
        values.push_back(argument.value);
      }
    }
    Outputs outputs = invoke(*step.op, values.data(), step.arguments.count);
    check(outputs.size() == step.results.count, step.op->name(), "(): gave ", outputs.size(), " results, not ",
          step.results.count);
    for (int i = 0; i < outputs.size(); ++i) tensors[tensor_places_[step.results.first + i]] = std::move(outputs[i]);
    for (int i = 0; i < step.done.count; ++i) tensors[tensor_places_[step.done.first + i]] = Tensor();
  }
  return tensors;
}

}  // namespace relume
