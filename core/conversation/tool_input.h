// SPDX-License-Identifier: Apache-2.0
#pragma once
// tool_input.h - the input of a tool call: one JSON object that every reader reads alike.
//
// make() is the only way to turn bytes of a model or a hook into a ToolInput, and only its text is passed on: to gates,
// rules, hooks, log, request, tool, worker and surface. So the checked input is the one that runs. The rules are those
// of canonical_json.h; paths that the tool has marked are resolved.
//
// Threading: values. make() reads the file system for absolute paths that are in no root by their text.

#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace agentd {

// How the paths in an input are resolved.
struct InputPaths {
  std::span<const std::string> keys = {};  // members of the object that are paths
  std::string_view start = {};             // where the tool starts; absolute; empty = paths stay unchanged
  std::string_view cwd = {};               // the session's directory, which hooks receive
  std::string_view home = {};              // the user's; empty = "~" is a name
  // Roots of the workspace, absolute: a path that leads into one under another name is rewritten with the root's name.
  std::span<const std::string> roots = {};
};

class ToolInput {
 public:
  static constexpr std::size_t kBytesMax = 4u << 20;
  static constexpr int kLevelsMax = 64;

  // {}
  ToolInput() = default;
  // Empty bytes are an empty object. kInvalid has a sentence without its subject, such as "has the key \"command\"
  // twice".
  //
  // A path is made absolute from `start` and freed of ".", ".." and "//" as a text; "~" is the home. A folder on the
  // way that is a workspace root under another name (a link above it, a mount, /proc/self/cwd) is replaced by the
  // root's name, as the workspace finds its files. Other links are not followed. A path below the session's directory,
  // when tools start there, is written relative to it ("src/a.c", "." for itself), any other absolute: one place has
  // one spelling.
  static Result<ToolInput> make(std::string_view bytes, const InputPaths& paths = {});
  // A substitute for bytes that make() refused, for log and requests: {"raw": "..."}, cut at 16 KiB. Not for tools.
  static std::string stand_in(std::string_view refused);

  const std::string& text() const { return text_; }
  bool operator==(const ToolInput&) const = default;

 private:
  explicit ToolInput(std::string text) : text_(std::move(text)) {}
  std::string text_ = "{}";
};

// The input of a call in an older agentd's log: unchanged if a request can carry it, otherwise its stand-in.
std::string readable_input(std::string json);

}  // namespace agentd
