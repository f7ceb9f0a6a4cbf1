// SPDX-License-Identifier: Apache-2.0
#include "core/codec/regex.h"

#include <dlfcn.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <string>

namespace agentd {
namespace {

using re2::RE2;
using re2::StringPiece;

constexpr std::size_t kGroupsMax = 16;

// Itanium C++ ABI: a member function is a function whose first argument is the object.
struct Functions {
  using Construct = void (*)(void* self, const StringPiece& pattern, const RE2::Options& options);
  using Destruct = void (*)(void* self);
  using Match = bool (*)(const void* self, const StringPiece& text, std::size_t from, std::size_t to,
                         RE2::Anchor anchor, StringPiece* match, int matches);
  Construct construct = nullptr;
  Destruct destruct = nullptr;
  Match match = nullptr;
};

// The library stays loaded, because other expressions may be in use. Reopening it only looks it up in a list.
Result<Functions> functions() {
  void* const library = ::dlopen(AGENTD_RE2_SONAME, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return Error{Code::kUnavailable,
                 "regular expressions need " AGENTD_RE2_SONAME ", which is not installed: install RE2"};
  Functions found;
  const auto look_up = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(::dlsym(library, symbol));
    return function != nullptr;
  };
  if (!look_up(found.construct, "_ZN3re23RE2C1ERKNS_11StringPieceERKNS0_7OptionsE") ||
      !look_up(found.destruct, "_ZN3re23RE2D1Ev") ||
      !look_up(found.match, "_ZNK3re23RE25MatchERKNS_11StringPieceEmmNS0_6AnchorEPS1_i"))
    return Error{Code::kUnavailable,
                 AGENTD_RE2_SONAME " is not the version that agentd was built with: install that one"};
  return found;
}

}  // namespace

struct Regex::State {
  State(const Functions& found, const StringPiece& pattern, const RE2::Options& options) : call(found) {
    call.construct(memory, pattern, options);
  }
  ~State() { call.destruct(memory); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  const RE2& expression() const { return *reinterpret_cast<const RE2*>(memory); }

  const Functions call;
  alignas(RE2) unsigned char memory[sizeof(RE2)];
};

Regex::Regex(std::unique_ptr<State> state) : state_(std::move(state)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

std::optional<Regex::Match> Regex::find(std::string_view text, std::size_t from) const {
  Match whole;
  if (!find(text, from, std::span(&whole, 1))) return std::nullopt;
  return whole;
}

bool Regex::find(std::string_view text, std::size_t from, std::span<Match> groups) const {
  std::array<StringPiece, kGroupsMax> found;
  const std::size_t wanted = std::min(groups.size(), kGroupsMax);
  const StringPiece all(text.data(), text.size());
  if (from > text.size() || !state_->call.match(state_->memory, all, from, text.size(), RE2::UNANCHORED, found.data(),
                                                static_cast<int>(wanted)))
    return false;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const bool there = i < wanted && found[i].data() != nullptr;
    groups[i] = there ? Match{static_cast<std::size_t>(found[i].data() - text.data()), found[i].size()} : Match{};
  }
  return true;
}

bool Regex::matches_whole(std::string_view text) const {
  const StringPiece all(text.data(), text.size());
  return state_->call.match(state_->memory, all, 0, text.size(), RE2::ANCHOR_BOTH, nullptr, 0);
}

Result<Regex> Regex::compile(std::string_view pattern, const RegexOptions& options) {
  AGENTD_TRY(const Functions found, functions());
  RE2::Options how;
  how.set_log_errors(false);
  how.set_never_nl(options.lines);
  how.set_case_sensitive(!options.ignore_case);
  const std::string text = (options.lines ? "(?m)" : "") + std::string(pattern);
  auto state = std::make_unique<Regex::State>(found, StringPiece(text), how);
  if (!state->expression().ok()) return Error{Code::kInvalid, state->expression().error()};
  return Regex(std::move(state));
}

}  // namespace agentd
