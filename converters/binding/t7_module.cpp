// Torch7 files into Python objects: `_C.t7_read`.
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "converters/binding/encoder_module.h"
#include "converters/t7/format_error.h"
#include "converters/t7/reader.h"
#include "tensor/python/bindings.h"

#include <structmember.h>

namespace relume {
namespace {

using t7::ClassInfo;
using t7::Entries;
using t7::Entry;
using t7::Handle;

PyObject* as_object(Handle handle) { return static_cast<PyObject*>(handle); }

// A class with __slots__ whose instances are made and filled here, past its __init__.
struct SlotClass {
  PyTypeObject* type = nullptr;

  explicit SlotClass(nb::handle python_class) : type(reinterpret_cast<PyTypeObject*>(python_class.ptr())) {}

  Py_ssize_t slot(const char* name) const {
    nb::object descriptor = checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), name));
    check<TypeError>(Py_TYPE(descriptor.ptr()) == &PyMemberDescr_Type, "no slot: ", name);
    return reinterpret_cast<PyMemberDescrObject*>(descriptor.ptr())->d_member->offset;
  }
  PyObject* make() const {
    PyObject* object = type->tp_alloc(type, 0);
    if (!object) throw_python_error();
    return object;
  }
};

PyObject*& field(PyObject* object, Py_ssize_t slot) {
  return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + slot);
}

// Takes over `value`.
void set_field(PyObject* object, Py_ssize_t slot, PyObject* value) {
  PyObject* old = field(object, slot);
  field(object, slot) = value;
  Py_XDECREF(old);
}

PyObject* must(PyObject* object) {
  if (!object) throw_python_error();
  return object;
}

// The Python classes that files become: what `relume.converters.t7` registers.
struct PythonClasses {
  SlotClass table, hash, vector, object, function;
  nb::object error, true_key, false_key, empty_array, empty_hash;
  Py_ssize_t table_array, table_hash, table_pairs, table_order, vector_values;
  Py_ssize_t object_typename, object_version, object_fields, object_pairs, object_payload;
  Py_ssize_t function_tag, function_bytecode, function_upvalues;

  explicit PythonClasses(nb::dict classes)
      : table(classes["Table"]),
        hash(classes["TdsHash"]),
        vector(classes["TdsVec"]),
        object(classes["TorchObject"]),
        function(classes["LuaFunction"]),
        error(classes["FileFormatError"]),
        true_key(classes["true_key"]),
        false_key(classes["false_key"]),
        empty_array(classes["empty_array"]),
        empty_hash(classes["empty_hash"]),
        table_array(table.slot("_array")),
        table_hash(table.slot("_hash")),
        table_pairs(table.slot("_pairs")),
        table_order(table.slot("_order")),
        vector_values(vector.slot("_values")),
        object_typename(object.slot("torch_typename")),
        object_version(object.slot("torch_version")),
        object_fields(object.slot("fields")),
        object_pairs(object.slot("_pairs")),
        object_payload(object.slot("payload")),
        function_tag(function.slot("tag")),
        function_bytecode(function.slot("bytecode")),
        function_upvalues(function.slot("_upvalues")) {
    for (nb::handle item : classes.values()) item.inc_ref();  // kept for good
  }
};

PythonClasses* python_classes = nullptr;

// Integral numbers become int, others (and -0, and what doubles cannot count) float.
PyObject* number_object(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (value > -kExact && value < kExact) {
    const auto integer = static_cast<int64_t>(value);
    if (static_cast<double>(integer) == value && !(integer == 0 && std::signbit(value))) {
      return must(PyLong_FromLongLong(integer));
    }
  }
  return must(PyFloat_FromDouble(value));
}

PyObject* text_object(std::string_view bytes) {
  const auto length = static_cast<Py_ssize_t>(bytes.size());
  if (PyObject* text = PyUnicode_DecodeUTF8(bytes.data(), length, nullptr)) return text;
  if (!PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) throw_python_error();
  PyErr_Clear();
  return must(PyBytes_FromStringAndSize(bytes.data(), length));
}

// A name that bytes may have to be made of again.
nb::object text_of(std::string_view text) {
  return nb::steal(must(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape")));
}

// Short strings repeat: field names, above all.
class TextCache {
 public:
  ~TextCache() {
    for (Entry& entry : entries_) Py_XDECREF(entry.text);
  }
  PyObject* get(std::string_view bytes) {
    if (bytes.empty() || bytes.size() > kLongest) return text_object(bytes);
    uint32_t hash = static_cast<uint32_t>(bytes.size());
    for (const char c : bytes) hash = hash * 31 + static_cast<unsigned char>(c);
    Entry& entry = entries_[(hash ^ (hash >> 10)) % kEntries];
    if (entry.size != bytes.size() || std::memcmp(entry.bytes, bytes.data(), bytes.size()) != 0) {
      PyObject* text = text_object(bytes);
      Py_XDECREF(entry.text);
      entry.text = text;
      entry.size = bytes.size();
      std::memcpy(entry.bytes, bytes.data(), bytes.size());
    }
    Py_INCREF(entry.text);
    return entry.text;
  }

 private:
  static constexpr size_t kLongest = 24;
  static constexpr size_t kEntries = 512;
  struct Entry {
    PyObject* text = nullptr;
    size_t size = 0;
    char bytes[kLongest];
  };
  Entry entries_[kEntries];
};

class PythonBuilder final : public t7::Builder {
 public:
  explicit PythonBuilder(nb::object find_class) : find_class_(std::move(find_class)) {}

  // (object, fields, version) of objects that have a Python class, children first.
  nb::list unfilled;
  // (object, its number in the file) of those with data in a format of their own.
  nb::list payloads;
  // (tensor or storage, class name) of those that were saved on a GPU.
  nb::list from_gpu;

  Handle nil() override {
    Py_INCREF(Py_None);
    return Py_None;
  }
  Handle boolean(bool value) override { return PyBool_FromLong(value); }
  Handle number(double value) override { return number_object(value); }
  Handle string(std::string_view bytes) override { return texts_->get(bytes); }
  Handle bytes(std::string_view bytes) override {
    return must(PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size())));
  }

  Handle storage(const Ref<Storage>& storage, const ClassInfo& info) override {
    PyObject* object = wrap_storage(storage);
    if (info.from_gpu) note_gpu(object, info);
    return object;
  }
  Handle tensor(const Tensor& tensor, const ClassInfo& info) override {
    PyObject* object = wrap(tensor);
    if (info.from_gpu) note_gpu(object, info);
    return object;
  }

  Handle table() override { return classes_.table.make(); }
  Handle hash(const ClassInfo&) override { return classes_.hash.make(); }
  void fill(Handle container, Entries entries) override {
    PyObject* table = as_object(container);
    if (field(table, classes_.table_array)) return fill_further(table, entries);
    const size_t array_size = count_array(entries);
    if (!is_plain_hash(entries, array_size)) return fill_slowly(table, entries);
    if (array_size == 0) {
      set_field(table, classes_.table_array, classes_.empty_array.inc_ref().ptr());
    } else {
      PyObject* array = must(PyList_New(static_cast<Py_ssize_t>(array_size)));
      for (size_t i = 0; i < array_size; ++i) {
        PyList_SET_ITEM(array, static_cast<Py_ssize_t>(i), as_object(entries[i].value));
      }
      set_field(table, classes_.table_array, array);
    }
    if (array_size == entries.count) {
      set_field(table, classes_.table_hash, classes_.empty_hash.inc_ref().ptr());
    } else {
      set_field(table, classes_.table_pairs, pairs_of({entries.first + array_size, entries.count - array_size}));
    }
  }

  Handle vector(const ClassInfo&) override {
    nb::object vector = nb::steal(classes_.vector.make());
    set_field(vector.ptr(), classes_.vector_values, must(PyList_New(0)));
    return vector.release().ptr();
  }
  void append(Handle vector, Handle value) override {
    const int status = PyList_Append(field(as_object(vector), classes_.vector_values), as_object(value));
    drop(value);
    if (status < 0) throw_python_error();
  }

  Handle object(ClassInfo& info, double version) override {
    if (info.count == 1) find_class(info);
    nb::object object = make_object(info);
    if (is_plain(object.ptr())) {
      set_field(object.ptr(), classes_.object_typename, class_name(info));
      set_field(object.ptr(), classes_.object_version, number_object(version));
      Py_INCREF(Py_None);
      set_field(object.ptr(), classes_.object_payload, Py_None);
    } else {
      versions_.emplace_back(object.ptr(), version);
    }
    return object.release().ptr();
  }
  void fill_fields(Handle object, Entries entries) override {
    nb::object pairs = nb::steal(pairs_of(entries));
    if (is_plain(as_object(object))) {
      set_field(as_object(object), classes_.object_pairs, pairs.release().ptr());
    } else {
      give_fields(object, dictionary_of(pairs));
    }
  }
  void set_fields(Handle object, Handle table) override {
    nb::object items = nb::steal(as_object(table)).attr("items")();
    nb::object fields = checked(PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyDict_Type), items.ptr()));
    if (is_plain(as_object(object))) {
      set_field(as_object(object), classes_.object_fields, fields.release().ptr());
    } else {
      give_fields(object, std::move(fields));
    }
  }
  Handle table_of_fields(Handle object) override {
    nb::object fields = nb::steal(PyDict_New());
    if (is_plain(as_object(object))) fields = nb::handle(as_object(object)).attr("fields");
    return checked(PyObject_CallOneArg(reinterpret_cast<PyObject*>(classes_.table.type), fields.ptr()))
        .release()
        .ptr();
  }
  void set_payload(Handle object, Handle value, int32_t index) override {
    nb::object payload = nb::steal(as_object(value));
    if (is_plain(as_object(object))) {
      payloads.append(nb::make_tuple(nb::handle(as_object(object)), index));
      set_field(as_object(object), classes_.object_fields, must(PyDict_New()));
      set_field(as_object(object), classes_.object_payload, payload.release().ptr());
    } else {
      give_fields(object, std::move(payload));
    }
  }

  Handle function(int tag, std::string_view bytecode) override {
    nb::object function = nb::steal(classes_.function.make());
    set_field(function.ptr(), classes_.function_tag, must(PyLong_FromLong(tag)));
    set_field(function.ptr(), classes_.function_bytecode, as_object(bytes(bytecode)));
    Py_INCREF(Py_None);
    set_field(function.ptr(), classes_.function_upvalues, Py_None);
    return function.release().ptr();
  }
  void set_upvalues(Handle function, Handle upvalues) override {
    set_field(as_object(function), classes_.function_upvalues, as_object(upvalues));
  }

  Handle share(Handle handle) override {
    Py_XINCREF(as_object(handle));
    return handle;
  }
  void drop(Handle handle) override { Py_XDECREF(as_object(handle)); }

  std::string describe_key(Handle key) override {
    nb::handle object = as_object(key);
    if (!PyUnicode_CheckExact(object.ptr())) return message("[<", type_name(object.ptr()), ">]");
    nb::object shown = nb::borrow(object);
    if (PyUnicode_GetLength(object.ptr()) > 40) shown = nb::steal(PyUnicode_Substring(object.ptr(), 0, 40));
    if (PyUnicode_IsIdentifier(shown.ptr())) return "." + std::string(nb::str(shown).c_str());
    return "[" + std::string(nb::repr(shown).c_str()) + "]";
  }

 private:
  bool is_plain(PyObject* object) const { return PyObject_TypeCheck(object, classes_.object.type); }

  void give_fields(Handle object, nb::object fields) {
    unfilled.append(nb::make_tuple(nb::handle(as_object(object)), fields, take_version(object)));
  }

  // How many entries at the start have the keys 1, 2, 3, ...
  static size_t count_array(Entries entries) {
    size_t size = 0;
    while (size < entries.count && entries[size].has_number && !entries[size].is_nil &&
           entries[size].number == static_cast<double>(size + 1)) {
      ++size;
    }
    return size;
  }

  // Can no other entry belong to the array, and is none nil?
  static bool is_plain_hash(Entries entries, size_t array_size) {
    const auto most = static_cast<double>(entries.count);
    for (size_t i = array_size; i < entries.count; ++i) {
      const Entry& entry = entries[i];
      if (entry.is_nil || (entry.has_number && entry.number >= 1 && entry.number <= most)) return false;
    }
    return true;
  }

  // Keys in an order that the two parts do not keep: through the table's own methods.
  void fill_slowly(PyObject* table, Entries entries) {
    set_field(table, classes_.table_array, classes_.empty_array.inc_ref().ptr());
    set_field(table, classes_.table_hash, classes_.empty_hash.inc_ref().ptr());
    set_field(table, classes_.table_order, must(PyList_New(0)));
    for (const Entry& entry : entries) set_item(table, entry);
  }

  // The next part of a long table.
  void fill_further(PyObject* table, Entries entries) {
    nb::object hash = nb::handle(table).attr("_hash");
    const bool is_array = hash.is(classes_.empty_hash) && PyList_CheckExact(field(table, classes_.table_array));
    for (const Entry& entry : entries) {
      PyObject* array = field(table, classes_.table_array);
      const bool has_order = field(table, classes_.table_order) != nullptr;
      const bool follows = !has_order && is_array && entry.has_number && !entry.is_nil &&
                           entry.number == static_cast<double>(PyList_GET_SIZE(array) + 1) &&
                           field(table, classes_.table_hash) == classes_.empty_hash.ptr();
      if (follows) {
        nb::object value = nb::steal(as_object(entry.value));
        if (PyList_Append(array, value.ptr()) < 0) throw_python_error();
      } else if (!has_order && !entry.has_number && !entry.is_nil && !hash.is(classes_.empty_hash)) {
        nb::object key = nb::steal(stored_key(entry));
        nb::object value = nb::steal(as_object(entry.value));
        if (PyDict_SetItem(hash.ptr(), key.ptr(), value.ptr()) < 0) throw_python_error();
      } else {
        if (!has_order) set_field(table, classes_.table_order, nb::handle(table).attr("keys")().release().ptr());
        set_item(table, entry);
        hash = nb::borrow(field(table, classes_.table_hash));
      }
    }
  }

  // Also notes the key's place in the order of the file.
  void set_item(PyObject* table, const Entry& entry) {
    nb::object key = nb::steal(key_object(entry));
    nb::object value = nb::steal(as_object(entry.value));
    if (PyObject_SetItem(table, key.ptr(), value.ptr()) < 0) throw_python_error();
    if (PyList_Append(field(table, classes_.table_order), key.ptr()) < 0) throw_python_error();
  }

  PyObject* key_object(const Entry& entry) {
    return entry.has_number ? number_object(entry.number) : as_object(entry.key);
  }

  // A new reference; true and false are kept apart from 1 and 0.
  PyObject* stored_key(const Entry& entry) {
    PyObject* key = key_object(entry);
    if (key == Py_True) key = nb::object(classes_.true_key).release().ptr();
    if (key == Py_False) key = nb::object(classes_.false_key).release().ptr();
    return key;
  }

  // (key, value, key, value, ...): becomes a dictionary when somebody looks.
  PyObject* pairs_of(Entries entries) {
    PyObject* pairs = must(PyTuple_New(static_cast<Py_ssize_t>(2 * entries.count)));
    Py_ssize_t position = 0;
    for (const Entry& entry : entries) {
      PyTuple_SET_ITEM(pairs, position++, stored_key(entry));
      PyTuple_SET_ITEM(pairs, position++, as_object(entry.value));
    }
    return pairs;
  }

  static nb::object dictionary_of(const nb::object& pairs) {
    nb::object result = nb::steal(must(PyDict_New()));
    for (Py_ssize_t i = 0; i + 1 < PyTuple_GET_SIZE(pairs.ptr()); i += 2) {
      PyObject* value = PyTuple_GET_ITEM(pairs.ptr(), i + 1);
      if (value == Py_None) continue;
      if (PyDict_SetItem(result.ptr(), PyTuple_GET_ITEM(pairs.ptr(), i), value) < 0) throw_python_error();
    }
    return result;
  }

  PyObject* class_name(const ClassInfo& info) {
    if (last_class_ != &info) {
      last_class_name_ = text_of(info.name);
      last_class_ = &info;
    }
    return nb::object(last_class_name_).release().ptr();
  }

  // Asks once per class; the answer lives as long as the builder.
  void find_class(ClassInfo& info) {
    nb::object name = nb::steal(class_name(info));
    nb::object found = find_class_(name);
    if (found.is_none()) return;
    info.cookie = found.ptr();
    found_.push_back(std::move(found));
  }

  nb::object make_object(const ClassInfo& info) {
    auto* python_class = static_cast<PyObject*>(info.cookie);
    if (!python_class) return nb::steal(classes_.object.make());
    if (!PyType_Check(python_class)) return checked(PyObject_CallNoArgs(python_class));
    auto* type = reinterpret_cast<PyTypeObject*>(python_class);
    return checked(type->tp_new(type, no_arguments_.ptr(), nullptr));
  }

  // Objects are completed innermost first, so the version is near the end.
  double take_version(Handle object) {
    for (size_t i = versions_.size(); i-- > 0;) {
      if (versions_[i].first != object) continue;
      const double version = versions_[i].second;
      versions_.erase(versions_.begin() + static_cast<std::ptrdiff_t>(i));
      return version;
    }
    return t7::kNoVersion;
  }

  void note_gpu(PyObject* object, const ClassInfo& info) {
    from_gpu.append(nb::make_tuple(nb::handle(object), nb::steal(class_name(info))));
  }

  const PythonClasses& classes_ = *python_classes;
  nb::object find_class_;
  nb::object no_arguments_ = nb::steal(PyTuple_New(0));
  std::unique_ptr<TextCache> texts_ = std::make_unique<TextCache>();
  std::vector<nb::object> found_;
  const ClassInfo* last_class_ = nullptr;
  nb::object last_class_name_;
  std::vector<std::pair<Handle, double>> versions_;  // of open objects with a Python class
};

// One way to understand a file. A guess must fit to the last byte.
struct Attempt {
  t7::Form form;
  bool is_guess = false;
  t7::Era era = t7::Era::standard;
};

// What a file may be when the usual way fails, or leaves bytes over. Longs have 8 bytes
// nearly always, else 4; a few files are from before Torch7's first release.
std::vector<Attempt> other_attempts(t7::Form form, int long_size, bool met_long) {
  std::vector<Attempt> result;
  if (long_size == 0 && met_long && form.encoding == t7::Encoding::binary) {
    result.push_back({form, true});
    result.back().form.long_size = 4;
  }
  result.push_back({form, true, t7::Era::tables});
  result.push_back({form, true, t7::Era::streams});
  return result;
}

// Only classes of that time make an early era worth a try.
bool may_be_early(const t7::ClassTable& classes) {
  for (const auto& [name, info] : classes.all()) {
    if (t7::early_layout(t7::Era::streams, name)) return true;
  }
  return false;
}

class FileReading {
 public:
  FileReading(t7::Source& source, bool all, nb::object find_class)
      : source_(source), all_(all), find_class_(std::move(find_class)) {}

  bool met_long = false;
  bool may_be_early = false;

  // What `relume.converters.t7` makes a TorchFile of; throws FormatError.
  nb::dict read(const Attempt& attempt) {
    source_.seek(0);
    PythonBuilder builder(find_class_);
    t7::Reader reader(source_, attempt.form, builder, attempt.is_guess, attempt.era);
    nb::list objects;
    try {
      do {
        objects.append(nb::steal(as_object(reader.read_object())));
      } while (all_ && !reader.at_end());
      const int64_t left_over = reader.at_end() ? 0 : source_.remaining();
      if (attempt.is_guess && left_over > 0) read_rest(reader, builder, attempt);
      if (attempt.era != t7::Era::standard && reader.early_objects() == 0) {
        t7::fail("damaged", 0, "nothing is early about this file");
      }
      return describe(attempt, objects, builder, reader, left_over);
    } catch (const t7::FormatError&) {
      met_long = reader.decoder().met_long();
      may_be_early = relume::may_be_early(reader.classes());
      throw;
    }
  }

 private:
  static void read_rest(t7::Reader& reader, PythonBuilder& builder, const Attempt& attempt) {
    if (attempt.era != t7::Era::standard) t7::fail("damaged", 0, "bytes are left over");
    while (!reader.at_end()) builder.drop(reader.read_object());
  }

  static nb::dict describe(const Attempt& attempt, nb::list objects, const PythonBuilder& builder,
                           const t7::Reader& reader, int64_t left_over) {
    nb::dict counts;
    for (const auto& [name, info] : reader.classes().all()) {
      if (info->count > 0) counts[text_of(name)] = info->count;
    }
    nb::dict result;
    result["objects"] = objects;
    result["unfilled"] = builder.unfilled;
    result["payloads"] = builder.payloads;
    result["from_gpu"] = builder.from_gpu;
    result["class_counts"] = counts;
    result["left_over"] = left_over;
    result["encoding"] = attempt.form.encoding == t7::Encoding::ascii ? "ascii" : "binary";
    result["long_size"] = attempt.form.long_size;
    result["byte_order"] = attempt.form.big_endian ? "big" : "little";
    return result;
  }

  t7::Source& source_;
  bool all_;
  nb::object find_class_;
};

// For people: what is not UTF-8 need not survive.
nb::object shown(std::string_view text) {
  return nb::steal(must(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace")));
}

[[noreturn]] void raise_format_error(const t7::FormatError& error) {
  nb::object exception =
      python_classes->error(shown(error.what()), error.offset, shown(error.path), error.kind.c_str());
  PyErr_SetObject(python_classes->error.ptr(), exception.ptr());
  throw_python_error();
}

// None when the first bytes cannot be those of a Torch7 file.
nb::object read_source(t7::Source& source, int long_size, bool all, nb::object find_class) {
  check<Error>(python_classes != nullptr, "import relume.converters.t7 first");
  std::optional<t7::Form> form = t7::detect_form(source);
  if (!form) return nb::none();
  if (long_size != 0) form->long_size = long_size;
  FileReading reading(source, all, std::move(find_class));
  nb::object usual;
  std::optional<t7::FormatError> first_error;
  try {
    usual = reading.read({*form});
    // An early stream starts with a tensor, and only with the rest it makes sense.
    if (nb::cast<int64_t>(usual["left_over"]) == 0 || !is_tensor(nb::object(usual["objects"][0]).ptr())) return usual;
  } catch (const t7::FormatError& error) {
    first_error = error;
  }
  for (const Attempt& attempt : other_attempts(*form, long_size, first_error && reading.met_long)) {
    const bool worth_it = usual.is_valid() || attempt.era == t7::Era::standard || reading.may_be_early;
    if (!worth_it) continue;
    try {
      return reading.read(attempt);
    } catch (const t7::FormatError&) {
      continue;
    }
  }
  if (usual.is_valid()) return usual;
  raise_format_error(*first_error);
}

}  // namespace

void bind_t7(nb::module_& module) {
  bind_t7_encoder(module);
  module.def("t7_register", [](nb::dict classes) {
    delete python_classes;
    python_classes = nullptr;
    python_classes = new PythonClasses(classes);
  });
  module.def("t7_read_file", [](int descriptor, int64_t size, int long_size, bool all, nb::object find_class) {
    t7::Source source(descriptor, size);
    return read_source(source, long_size, all, std::move(find_class));
  });
  // Storages of at least `smallest` bytes stay empty; "left_blocks" says where they are in the file.
  module.def("t7_read_outline", [](int descriptor, int64_t size, int long_size, bool all, nb::object find_class,
                                   size_t smallest) {
    t7::Source source(descriptor, size);
    source.leave_blocks(smallest);
    nb::object found = read_source(source, long_size, all, std::move(find_class));
    if (found.is_none()) return found;
    nb::list blocks;
    for (const t7::Source::Block& block : source.left_blocks()) {
      blocks.append(nb::make_tuple(reinterpret_cast<uintptr_t>(block.target), block.offset, block.size));
    }
    found["left_blocks"] = blocks;
    return found;
  });
  module.def("t7_read_bytes", [](nb::object data, int long_size, bool all, nb::object find_class) {
    Py_buffer view;
    if (PyObject_GetBuffer(data.ptr(), &view, PyBUF_SIMPLE) < 0) throw_python_error();
    const std::unique_ptr<Py_buffer, void (*)(Py_buffer*)> release(&view, PyBuffer_Release);
    t7::Source source(std::string_view(static_cast<const char*>(view.buf), static_cast<size_t>(view.len)));
    return read_source(source, long_size, all, std::move(find_class));
  });
}

}  // namespace relume
