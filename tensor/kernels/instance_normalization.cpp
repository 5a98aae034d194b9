// Instance normalisation: batch normalisation in which every sample is a batch of its own.
#include "tensor/ops.h"

namespace relume {
namespace {

const OpFunction batch_norm{"batch_norm"}, repeat{"repeat"};

// instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)
void instance_norm_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  check(input.ndim() >= 2, "instance_norm: the input must have shape (N, C, ...), not ", input.shape());
  const bool from_input = call.boolean(5);
  check(from_input || (call.has(1) && call.has(2)),
        "instance_norm: running_mean and running_var are needed when use_input_stats is False");
  const int64_t batch = input.size(0), channels = input.size(1);
  Tensor per_sample[5];  // arguments 1 to 4, once for each sample
  for (int argument = 1; argument <= 4; argument++) {
    if (!call.has(argument)) continue;
    const Tensor given = call.tensor(argument);
    check(given.ndim() == 1 && given.size(0) == channels, "instance_norm: ",
          call.op.schema.arguments[argument].name, " must have shape (", channels, "), not ", given.shape());
    per_sample[argument] = repeat(given, batch);
  }
  // All channels of all samples become the channels of one sample.
  std::vector<int64_t> shape(input->shape, input->shape + input.ndim());
  shape[0] = 1;
  shape[1] = batch * channels;
  const Tensor out = batch_norm(ops::reshape(input, shape), per_sample[3], per_sample[4], per_sample[1],
                                per_sample[2], from_input, call.real(6), call.real(7));
  call.set_output(0, ops::reshape(out, input.shape()));
  if (!from_input) return;
  for (int argument : {1, 2}) {  // what all samples moved the running statistics to, on average
    if (!call.has(argument)) continue;
    ops::copy_(call.tensor(argument), ops::mean(ops::reshape(per_sample[argument], IntSpan({batch, channels})), 0));
  }
}

const Register register_instance_norm{
    "instance_norm(Tensor input, Tensor? running_mean=None, Tensor? running_var=None, Tensor? weight=None, Tensor? "
    "bias=None, bool use_input_stats=True, float momentum=0.1, float eps=1e-5) -> Tensor",
    "Every channel of every sample brought to mean 0 and variance 1, then scaled and shifted (Ulyanov et al., 2016).",
    {Trait::composite, Trait::no_method}, instance_norm_cpu};

}  // namespace
}  // namespace relume
