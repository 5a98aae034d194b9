#include "tensor/registry.h"

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <unordered_map>

#include "tensor/error.h"

namespace relume {
namespace {

// Reads one schema from left to right.
class SchemaParser {
 public:
  explicit SchemaParser(std::string_view text) : text_(text) {}

  Schema parse() {
    Schema schema;
    schema.text = text_;
    schema.name = identifier();
    expect('(');
    bool keyword_only = false;
    while (!accept(')')) {
      if (!schema.arguments.empty() || keyword_only) expect(',');
      if (accept('*')) {
        keyword_only = true;
        continue;
      }
      schema.arguments.push_back(argument(keyword_only));
      if (!keyword_only) ++schema.positional;
    }
    expect('-');
    expect('>');
    parse_returns(schema);
    skip_space();
    if (position_ != text_.size()) fail("the end");
    return schema;
  }

 private:
  struct TypeRow {
    std::string_view name;
    ArgumentType type;
  };
  static constexpr TypeRow kTypes[] = {
      {"Tensor", ArgumentType::tensor},      {"Tensor|Scalar", ArgumentType::tensor_or_scalar},
      {"Tensor[]", ArgumentType::tensors},   {"Tensor?[]", ArgumentType::tensors},
      {"Scalar", ArgumentType::scalar},      {"int", ArgumentType::integer},
      {"int[]", ArgumentType::integers},     {"float", ArgumentType::real},
      {"bool", ArgumentType::boolean},       {"dtype", ArgumentType::dtype},
      {"str", ArgumentType::text},
  };

  Argument argument(bool keyword_only) {
    Argument argument;
    argument.keyword_only = keyword_only;
    argument.type_name = type_name();
    std::string_view plain = argument.type_name;
    if (plain.back() == '?') {
      argument.optional = true;
      plain.remove_suffix(1);
    }
    bool known = false;
    for (const TypeRow& row : kTypes) {
      if (row.name == plain) {
        argument.type = row.type;
        known = true;
      }
    }
    if (!known) fail("a type");
    argument.name = identifier();
    if (accept('=')) parse_default(argument);
    return argument;
  }

  void parse_default(Argument& argument) {
    skip_space();
    const std::size_t start = position_;
    argument.has_default = true;
    if (accept('[')) {
      while (!accept(']')) {
        if (!argument.default_integers.empty()) expect(',');
        argument.default_integers.push_back(std::strtoll(number().c_str(), nullptr, 10));
      }
      // Filled in by the registry, once the argument stays where it is.
      argument.default_value.type = Value::Type::integers;
    } else if (accept('\'')) {
      while (position_ < text_.size() && text_[position_] != '\'') argument.default_string += text_[position_++];
      expect('\'');
      argument.default_value.type = Value::Type::text;
    } else if (accept_word("None")) {
    } else if (accept_word("True")) {
      argument.default_value = Value(true);
    } else if (accept_word("False")) {
      argument.default_value = Value(false);
    } else {
      const std::string digits = number();
      const bool is_real = argument.type == ArgumentType::real || digits.find_first_of(".e") != std::string::npos;
      argument.default_value = is_real ? Value(std::strtod(digits.c_str(), nullptr))
                                       : Value(static_cast<int64_t>(std::strtoll(digits.c_str(), nullptr, 10)));
    }
    argument.default_text = std::string(text_.substr(start, position_ - start));
  }

  void parse_returns(Schema& schema) {
    if (accept('(')) {
      schema.return_count = 0;
      do {
        if (type_name() != "Tensor") fail("Tensor");
        ++schema.return_count;
      } while (accept(','));
      expect(')');
      return;
    }
    const std::string type = type_name();
    if (type == "Tensor[]") {
      schema.returns_list = true;
      schema.return_count = 0;
    } else if (type != "Tensor") {
      fail("Tensor");
    }
  }

  std::string identifier() {
    skip_space();
    const std::size_t start = position_;
    while (position_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[position_])) || text_[position_] == '_')) {
      ++position_;
    }
    if (start == position_) fail("a name");
    return std::string(text_.substr(start, position_ - start));
  }

  std::string type_name() {
    std::string type = identifier();
    while (position_ < text_.size()) {
      const char c = text_[position_];
      if (c == '?' || c == '[' || c == ']') {
        type += c;
        ++position_;
      } else if (c == '|') {
        ++position_;
        type += '|' + identifier();
      } else {
        break;
      }
    }
    return type;
  }

  std::string number() {
    skip_space();
    const std::size_t start = position_;
    while (position_ < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[position_])) ||
                                        std::string_view("+-.e").find(text_[position_]) != std::string_view::npos)) {
      ++position_;
    }
    if (start == position_) fail("a number");
    return std::string(text_.substr(start, position_ - start));
  }

  void skip_space() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  }
  bool accept(char c) {
    skip_space();
    if (position_ >= text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }
  bool accept_word(std::string_view word) {
    if (text_.substr(position_, word.size()) != word) return false;
    position_ += word.size();
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("'") + c + "'");
  }
  [[noreturn]] void fail(const std::string& expected) const {
    throw ValueError(message("schema '", text_, "': expected ", expected, " at character ", position_));
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

struct Registry {
  std::vector<Op*> ops;  // never freed: ops are good for ever
  std::unordered_map<std::string, Op*> by_name;
};

Registry& registry() {
  static Registry* instance = new Registry;
  return *instance;
}

}  // namespace

Schema Schema::parse(std::string_view text) { return SchemaParser(text).parse(); }

const std::vector<Op*>& all_ops() { return registry().ops; }

const char* intern(std::string_view text) {
  static std::mutex mutex;
  static auto* texts = new std::unordered_set<std::string>;
  std::lock_guard<std::mutex> lock(mutex);
  return texts->insert(std::string(text)).first->c_str();
}

Op* find_op(std::string_view name) {
  auto found = registry().by_name.find(std::string(name));
  return found == registry().by_name.end() ? nullptr : found->second;
}

Op& get_op(std::string_view name) {
  Op* op = find_op(name);
  check<Error>(op != nullptr, "there is no op '", name, "'");
  return *op;
}

Register::Register(const char* schema, const char* documentation, std::initializer_list<Trait> traits,
                   Kernel cpu_kernel) {
  try {
    auto op = std::make_unique<Op>();
    op->schema = Schema::parse(schema);
    for (Argument& argument : op->schema.arguments) {
      if (argument.default_value.type == Value::Type::integers) {
        argument.default_value = Value(IntSpan(argument.default_integers));
      } else if (argument.default_value.type == Value::Type::text) {
        argument.default_value = Value(argument.default_string.c_str());
      }
    }
    op->documentation = documentation;
    for (Trait trait : traits) op->traits |= 1u << static_cast<int>(trait);
    op->id = static_cast<int>(registry().ops.size());
    op->kernels[static_cast<int>(DeviceType::cpu)] = cpu_kernel;
    check<Error>(!find_op(op->name()), "op '", op->name(), "' is registered twice");
    registry().by_name[op->name()] = op.get();
    registry().ops.push_back(op.release());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "relume: %s\n", error.what());  // a mistake in the source: no way on
    std::abort();
  }
}

void register_kernel(std::string_view op_name, DeviceType device, Kernel kernel) {
  get_op(op_name).kernels[static_cast<int>(device)] = kernel;
}

}  // namespace relume
