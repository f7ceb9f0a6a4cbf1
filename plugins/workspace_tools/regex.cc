// SPDX-License-Identifier: Apache-2.0
#include "plugins/workspace_tools/regex.h"

#include <dlfcn.h>
#include <re2/re2.h>

namespace workspace_tools {

using agentd::Code;
using agentd::Error;
using agentd::Result;
using re2::RE2;
using re2::StringPiece;

// Itanium C++ ABI: a member function is a function whose first argument is the object.
struct RegexFunctions {
  using Construct = void (*)(void* self, const StringPiece& pattern, const RE2::Options& options);
  using Destruct = void (*)(void* self);
  using Match = bool (*)(const void* self, const StringPiece& text, std::size_t from,
                         std::size_t to, RE2::Anchor anchor, StringPiece* match, int matches);
  Construct construct = nullptr;
  Destruct destruct = nullptr;
  Match match = nullptr;
};

struct Regex::State {
  State(const RegexFunctions& functions, const StringPiece& pattern, const RE2::Options& options)
      : call(functions) {
    call.construct(memory, pattern, options);
  }
  ~State() { call.destruct(memory); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  const RE2& expression() const { return *reinterpret_cast<const RE2*>(memory); }

  const RegexFunctions call;
  alignas(RE2) unsigned char memory[sizeof(RE2)];
};

Regex::Regex(std::unique_ptr<State> state) : state_(std::move(state)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

std::size_t Regex::find(std::string_view text, std::size_t from) const {
  StringPiece match;
  const StringPiece all(text.data(), text.size());
  if (from > text.size() ||
      !state_->call.match(state_->memory, all, from, text.size(), RE2::UNANCHORED, &match, 1))
    return std::string_view::npos;
  return static_cast<std::size_t>(match.data() - text.data());
}

RegexLibrary::RegexLibrary() = default;
RegexLibrary::~RegexLibrary() = default;

// The library stays loaded: expressions of another plugin may be in use.
Result<const RegexFunctions*> RegexLibrary::functions() {
  const std::scoped_lock lock(mutex_);
  if (functions_ != nullptr) return functions_.get();
  void* library = ::dlopen(AGENTD_RE2_SONAME, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return Error{Code::kUnavailable,
                 "grep needs the library " AGENTD_RE2_SONAME ", which is not installed"};
  auto found = std::make_unique<RegexFunctions>();
  const auto look_up = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(::dlsym(library, symbol));
    return function != nullptr;
  };
  if (!look_up(found->construct, "_ZN3re23RE2C1ERKNS_11StringPieceERKNS0_7OptionsE") ||
      !look_up(found->destruct, "_ZN3re23RE2D1Ev") ||
      !look_up(found->match, "_ZNK3re23RE25MatchERKNS_11StringPieceEmmNS0_6AnchorEPS1_i"))
    return Error{Code::kUnavailable,
                 "grep cannot use the library " AGENTD_RE2_SONAME ": it is another version"};
  functions_ = std::move(found);
  return functions_.get();
}

Result<Regex> RegexLibrary::compile(std::string_view pattern, bool ignore_case) {
  AGENTD_TRY(const RegexFunctions* call, functions());
  RE2::Options options;
  options.set_log_errors(false);
  options.set_never_nl(true);
  options.set_case_sensitive(!ignore_case);
  const std::string lines = "(?m)" + std::string(pattern);
  auto state = std::make_unique<Regex::State>(*call, StringPiece(lines), options);
  if (!state->expression().ok()) return Error{Code::kInvalid, state->expression().error()};
  return Regex(std::move(state));
}

}  // namespace workspace_tools
