// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <vector>

#include "core/recipes/recipes.h"

namespace agentd {
namespace {

// One pass over the text with a stack of open {{if}}s.
class Renderer {
 public:
  Renderer(std::string_view body, const std::map<std::string, std::string>& values,
           std::string_view name)
      : body_(body), values_(values), name_(name) {}

  Result<std::string> render() {
    std::size_t at = 0;
    while (at < body_.size()) {
      const std::size_t open = body_.find("{{", at);
      emit(body_.substr(at, open - at));
      if (open == std::string_view::npos) break;
      const std::size_t close = body_.find("}}", open);
      if (close == std::string_view::npos) return error(open, "{{ has no }}");
      AGENTD_TRY_VOID(action(trim(body_.substr(open + 2, close - open - 2)), open));
      at = close + 2;
    }
    if (!branches_.empty()) return error(branches_.back().at, "{{if}} has no {{end}}");
    return std::move(out_);
  }

 private:
  struct Branch {
    bool taken = false;   // the part that is being read is written
    bool outer = false;   // what encloses it is written
    bool has_else = false;
    std::size_t at = 0;
  };

  static std::string_view trim(std::string_view text) {
    if (text.starts_with("-")) text.remove_prefix(1);
    if (text.ends_with("-")) text.remove_suffix(1);
    const auto begin = text.find_first_not_of(" \t\n");
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1);
  }

  bool writing() const { return branches_.empty() || branches_.back().taken; }
  void emit(std::string_view text) {
    if (writing()) out_ += text;
  }

  Error error(std::size_t at, const std::string& what) const {
    const auto line = std::count(body_.begin(), body_.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1;
    return {Code::kInvalid, std::string(name_) + ": template line " + std::to_string(line) + ": " + what};
  }

  std::optional<std::string> variable(std::string_view word) const {
    if (!word.starts_with(".") || word.size() < 2) return std::nullopt;
    const auto found = values_.find(std::string(word.substr(1)));
    return found == values_.end() ? std::string() : found->second;
  }

  Result<void> action(std::string_view text, std::size_t at) {
    if (text.starts_with("if ")) return begin_if(trim(text.substr(3)), at);
    if (text == "else") return turn_else(at);
    if (text == "end") return end_if(at);
    if (text.starts_with("default ")) return write_default(trim(text.substr(8)), at);
    const auto value = variable(text);
    if (!value) return error(at, "'" + std::string(text) + "' is not understood: use .name, if, else, end, default");
    emit(*value);
    return {};
  }

  Result<void> begin_if(std::string_view word, std::size_t at) {
    const auto value = variable(word);
    if (!value) return error(at, "{{if}} needs a .name");
    branches_.push_back({writing() && !value->empty(), writing(), false, at});
    return {};
  }

  Result<void> turn_else(std::size_t at) {
    if (branches_.empty() || branches_.back().has_else) return error(at, "{{else}} without {{if}}");
    Branch& branch = branches_.back();
    branch.has_else = true;
    branch.taken = branch.outer && !branch.taken;
    return {};
  }

  Result<void> end_if(std::size_t at) {
    if (branches_.empty()) return error(at, "{{end}} without {{if}}");
    branches_.pop_back();
    return {};
  }

  // default "text" .name
  Result<void> write_default(std::string_view rest, std::size_t at) {
    const std::size_t close = rest.starts_with("\"") ? rest.find('"', 1) : std::string_view::npos;
    if (close == std::string_view::npos) return error(at, "{{default}} needs \"text\" .name");
    const auto value = variable(trim(rest.substr(close + 1)));
    if (!value) return error(at, "{{default}} needs \"text\" .name");
    emit(value->empty() ? rest.substr(1, close - 1) : std::string_view(*value));
    return {};
  }

  const std::string_view body_;
  const std::map<std::string, std::string>& values_;
  const std::string_view name_;
  std::vector<Branch> branches_;
  std::string out_;
};

}  // namespace

Result<std::string> render_template(std::string_view body,
                                    const std::map<std::string, std::string>& values,
                                    std::string_view name) {
  return Renderer(body, values, name).render();
}

}  // namespace agentd
