#include "converters/binding/encoder_module.h"

#include <nanobind/stl/vector.h>

#include <vector>

#include "converters/t7/encoder.h"
#include "tensor/python/bindings.h"

namespace relume {
namespace {

// Bytes for the `write` of a Python stream, which may take them in parts.
class StreamSink final : public t7::Sink {
 public:
  explicit StreamSink(nb::object write) : write_(std::move(write)) {}

 protected:
  void put(const char* data, size_t count) override {
    constexpr size_t kMostAtOnce = size_t{1} << 30;
    while (count > 0) {
      const auto size = static_cast<Py_ssize_t>(std::min(count, kMostAtOnce));
      nb::object view = checked(PyMemoryView_FromMemory(const_cast<char*>(data), size, PyBUF_READ));
      nb::object taken = write_(view);
      view.attr("release")();  // nobody may look at it later
      const auto step = taken.is_none() ? static_cast<size_t>(size) : nb::cast<size_t>(taken);
      check<Error>(step > 0 && step <= static_cast<size_t>(size), "the stream took ", step, " of ", size, " bytes");
      data += step;
      count -= step;
    }
  }

 private:
  nb::object write_;
};

std::string_view bytes_of(PyObject* bytes) {
  return {PyBytes_AS_STRING(bytes), static_cast<size_t>(PyBytes_GET_SIZE(bytes))};
}

class PythonEncoder {
 public:
  PythonEncoder(nb::object write, bool is_ascii, int long_size, bool big_endian)
      : sink_(std::move(write)),
        encoder_(sink_, {is_ascii ? t7::Encoding::ascii : t7::Encoding::binary, long_size, big_endian}) {}

  // Writes nil, booleans, numbers and strings up to the first value that is none of them,
  // or that would not come back as it is; that one is returned. None at the end.
  nb::object plain(nb::handle iterator) {
    while (PyObject* next = PyIter_Next(iterator.ptr())) {
      nb::object value = nb::steal(next);
      if (!write_plain(value.ptr())) return value;
    }
    if (PyErr_Occurred()) throw_python_error();
    return nb::none();
  }
  void integers(const std::vector<int32_t>& values) {
    for (const int32_t value : values) encoder_.write_int(value);
  }
  void longs(const std::vector<int64_t>& values) {
    encoder_.write_longs(values.data(), static_cast<int64_t>(values.size()));
  }
  void chars(nb::bytes bytes) { encoder_.write_counted_chars(bytes_of(bytes.ptr())); }
  void payload(nb::bytes bytes) { encoder_.sink().write(bytes.c_str(), bytes.size()); }

  // The count of elements and the elements themselves, from `first` on.
  void elements(Ref<Storage> storage, int64_t first, int64_t count) {
    const auto size = static_cast<int64_t>(storage->size());
    check<IndexError>(first >= 0 && count >= 0 && first <= size - count, "elements ", first, " to ", first + count,
                      " of a storage of ", size);
    check<ValueError>(storage->device.type == DeviceType::cpu, "the storage is not in the memory of the CPU");
    encoder_.write_long(count);
    const char* start = static_cast<const char*>(storage->data) + static_cast<size_t>(first) * item_size(storage->dtype);
    encoder_.write_elements(start, storage->dtype, count);
  }

  // The arguments that make an encoder of the same form.
  nb::tuple form() const {
    const t7::Form& form = encoder_.form();
    return nb::make_tuple(form.encoding == t7::Encoding::ascii, form.long_size, form.big_endian);
  }
  void flush() { sink_.flush(); }
  int64_t written() const { return sink_.written(); }

 private:
  bool write_plain(PyObject* value) {
    if (PyUnicode_Check(value)) return write_text(value);
    if (PyBool_Check(value)) {
      encoder_.write_int(t7::kBoolean);
      encoder_.write_int(value == Py_True);
      return true;
    }
    if (PyLong_Check(value)) return write_integer(value);
    if (PyFloat_Check(value)) {
      write_number(PyFloat_AS_DOUBLE(value));
      return true;
    }
    if (value == Py_None) {
      encoder_.write_int(t7::kNil);
      return true;
    }
    return PyBytes_Check(value) && write_string(bytes_of(value));
  }
  bool write_text(PyObject* text) {
    Py_ssize_t size;
    const char* bytes = PyUnicode_AsUTF8AndSize(text, &size);
    if (!bytes) {  // half a character, which UTF-8 does not have
      PyErr_Clear();
      return false;
    }
    return write_string({bytes, static_cast<size_t>(size)});
  }
  bool write_integer(PyObject* integer) {
    int overflow;
    const long long value = PyLong_AsLongLongAndOverflow(integer, &overflow);
    constexpr long long kExact = 1LL << 53;
    if (overflow || value > kExact || value < -kExact) return false;
    write_number(static_cast<double>(value));
    return true;
  }
  void write_number(double value) {
    encoder_.write_int(t7::kNumber);
    encoder_.write_double(value);
  }
  bool write_string(std::string_view bytes) {
    if (bytes.size() > INT32_MAX) return false;
    encoder_.write_int(t7::kString);
    encoder_.write_counted_chars(bytes);
    return true;
  }

  StreamSink sink_;
  t7::Encoder encoder_;
};

}  // namespace

void bind_t7_encoder(nb::module_& module) {
  nb::class_<PythonEncoder>(module, "T7Encoder", "Writes the primitive values of a Torch7 file to a stream.")
      .def(nb::init<nb::object, bool, int, bool>(), nb::arg("write"), nb::arg("ascii"), nb::arg("long_size"),
           nb::arg("big_endian"))
      .def("plain", &PythonEncoder::plain, nb::arg("iterator"),
           "Writes nil, booleans, numbers and strings up to the first other value, which is returned;\n"
           "None at the end.")
      .def("integers", &PythonEncoder::integers, nb::arg("values"), "Writes C ints.")
      .def("longs", &PythonEncoder::longs, nb::arg("values"), "Writes C longs, on one line of an ASCII file.")
      .def("chars", &PythonEncoder::chars, nb::arg("bytes"), "Writes the count of bytes and the bytes.")
      .def("payload", &PythonEncoder::payload, nb::arg("bytes"), "Writes bytes as they are.")
      .def("elements", &PythonEncoder::elements, nb::arg("storage"), nb::arg("first"), nb::arg("count"),
           "Writes a count and so many elements of a storage.")
      .def_prop_ro("form", &PythonEncoder::form, "(ascii, long_size, big_endian)")
      .def("flush", &PythonEncoder::flush, "Hands what is still in the buffer to the stream.")
      .def_prop_ro("written", &PythonEncoder::written, "Bytes written so far.");
}

}  // namespace relume
