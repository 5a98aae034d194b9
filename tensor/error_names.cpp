#include "tensor/error_names.h"

#include <typeinfo>

#include "tensor/registry.h"

namespace relume {
namespace {

// The same error with another message. Kinds of single rooms (LinAlgError) name their functions themselves.
template <class Kind>
void throw_if(const Error& error, const std::string& text) {
  if (typeid(error) == typeid(Kind)) throw Kind(text);
}

}  // namespace

std::string_view function_of_message(std::string_view message) {
  constexpr const char* kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.";
  const std::string_view word = message.substr(0, message.find_first_not_of(kLetters));
  const std::string_view rest = message.substr(word.size());
  if (rest.substr(0, 2) == "()") return word;
  return rest.substr(0, 1) == ":" && find_op(word) ? word : std::string_view();
}

void throw_named(const Error& error, std::string_view op_name) {
  if (!function_of_message(error.what()).empty()) throw;
  const std::string text = message(op_name, "(): ", error.what());
  throw_if<ValueError>(error, text);
  throw_if<TypeError>(error, text);
  throw_if<IndexError>(error, text);
  throw_if<NotImplementedError>(error, text);
  throw_if<Error>(error, text);
  throw;
}

}  // namespace relume
