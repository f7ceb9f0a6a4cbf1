// SPDX-License-Identifier: Apache-2.0
#pragma once
// tool_input.h - the input of a tool call: one JSON object that everybody reads alike.
//
// What a model or a hook wrote becomes a ToolInput in one place, make(), and only its text goes on:
// to gates, rules, hooks, log, request, tool, worker and surface. So what is judged is what runs.
// The rules are those of canonical_json.h; paths that the tool has marked are resolved.
//
// Threading: values. make() looks at the file system for absolute paths that lie in no root by
// their text.

#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace agentd {

// What a path in an input is relative to.
struct InputPaths {
  std::span<const std::string> keys = {};  // members of the object whose text is a path
  std::string_view start = {};             // where the tool begins; absolute; empty = paths stay as they are
  std::string_view cwd = {};               // the session's directory, which hooks are told
  std::string_view home = {};              // of the user; empty = "~" is a name
  // Roots of the workspace, absolute: a path that leads into one by another name is written with the root's.
  std::span<const std::string> roots = {};
};

class ToolInput {
 public:
  static constexpr std::size_t kBytesMax = 4u << 20;
  static constexpr int kLevelsMax = 64;

  // {}
  ToolInput() = default;
  // Empty bytes are an empty object. kInvalid has a sentence without a subject: what is wrong, as
  // in "has the key \"command\" twice".
  //
  // A path is made absolute from `start` and freed of ".", ".." and "//" as a text; "~" is the
  // home. Where a folder on the way is a root of the workspace under another name - by a link above
  // it, a mount, /proc/self/cwd - the root's name takes its place: the workspace finds its files in
  // the same way. Other links are not followed. Below the session's directory, when tools start
  // there, it is then written relative to it ("src/a.c", "." for itself), elsewhere absolute: one
  // place has one spelling.
  static Result<ToolInput> make(std::string_view bytes, const InputPaths& paths = {});
  // What stands in log and requests for bytes that make() refused: {"raw": "..."}, cut at 16 KiB.
  // Not for tools.
  static std::string stand_in(std::string_view refused);

  const std::string& text() const { return text_; }
  bool operator==(const ToolInput&) const = default;

 private:
  explicit ToolInput(std::string text) : text_(std::move(text)) {}
  std::string text_ = "{}";
};

// The input of a call in a log that an older agentd wrote: as it is if a request can carry it, else
// its stand-in.
std::string readable_input(std::string json);

}  // namespace agentd
