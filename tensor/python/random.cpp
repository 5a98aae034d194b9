// Generators of random numbers for Python.
#include <mutex>
#include <optional>

#include <nanobind/stl/optional.h>

#include "tensor/error.h"
#include "tensor/python/bindings.h"
#include "tensor/random.h"

namespace nb = nanobind;

namespace relume {
namespace {

// Lets a member function draw under the generator's lock.
template <class Result, class... Arguments>
auto locked(Result (Generator::*draw)(Arguments...)) {
  return [draw](Generator& generator, Arguments... arguments) {
    std::lock_guard<std::mutex> lock(generator.mutex());
    return (generator.*draw)(arguments...);
  };
}

Tensor get_state(Generator& generator) {
  Tensor state = empty({static_cast<int64_t>(kGeneratorStateBytes)}, DType::uint8);
  std::lock_guard<std::mutex> lock(generator.mutex());
  generator.get_state(state.data_as<uint8_t>());
  return state;
}

void set_state(Generator& generator, const Tensor& state) {
  check<TypeError>(state.dtype() == DType::uint8 && state.is_contiguous(),
                   "expected a contiguous uint8 tensor that get_rng_state() returned, got ",
                   name(state.dtype()), " of shape ", to_string(state.shape()));
  std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_state(state.data_as<uint8_t>(), static_cast<std::size_t>(state.numel()));
}

// Python's integers, negative ones as Torch7 takes them: modulo 2^64.
void manual_seed(Generator& generator, nb::int_ seed) {
  nb::int_ low_bits(seed & nb::int_(~uint64_t{0}));
  std::lock_guard<std::mutex> lock(generator.mutex());
  generator.manual_seed(nb::cast<uint64_t>(low_bits));
}

}  // namespace

void bind_random(nb::module_& module) {
  nb::class_<Generator>(module, "Generator")
      .def("__init__",
           [](Generator* place, std::optional<nb::int_> seed) {
             new (place) Generator();
             if (seed) manual_seed(*place, *seed);
           },
           nb::arg("seed") = nb::none())
      .def("manual_seed", manual_seed, nb::arg("seed"))
      .def("seed", locked(&Generator::seed))
      .def("initial_seed", [](const Generator& generator) { return generator.initial_seed(); })
      .def("get_state", get_state)
      .def("set_state", set_state, nb::arg("state"))
      .def("random", locked(&Generator::random))
      .def("random_below", locked(&Generator::random_below), nb::arg("count"))
      .def("uniform", locked<double, double, double>(&Generator::uniform), nb::arg("low") = 0.0,
           nb::arg("high") = 1.0)
      .def("normal", locked(&Generator::normal), nb::arg("mean") = 0.0, nb::arg("std") = 1.0);
  module.def("use_generator", use_generator, nb::arg("generator").none(),
             nb::rv_policy::reference);
  module.def("default_generator", default_generator, nb::rv_policy::reference);
}

}  // namespace relume
