// SPDX-License-Identifier: Apache-2.0
// A tool's input as any bytes: refused with a sentence, or one object in the one form that is its
// own.
#include <string>
#include <vector>

#include "core/codec/json.h"
#include "core/conversation/tool_input.h"
#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace agentd;
  const std::string_view bytes = fuzz::view(data, size);
  const std::vector<std::string> keys{"path"};
  const InputPaths paths{keys, "/work/p", "/work/p", "/home/u"};
  const auto input = ToolInput::make(bytes, paths);
  const std::string stored = input ? input->text() : ToolInput::stand_in(bytes);
  if (input)
    ++fuzz::got_through;
  else
    fuzz::require(!input.error().message.empty(), "a refusal has its sentence");
  const auto again = ToolInput::make(stored, paths);
  fuzz::require(again && again->text() == stored, "the form is its own form");
  fuzz::require(readable_input(stored) == stored, "a log gives back what it got");
  const auto read = JsonDocument::parse(stored);
  fuzz::require(read && read->root().is_object(), "it is one object");
  const auto line = JsonDocument::parse(json_line(stored));
  fuzz::require(line && line->root().text() == read->root().text(), "a line of it has the same value");
  const auto any = JsonDocument::parse(bytes);
  fuzz::require(!input || bytes.empty() || any, "what is taken from a model parses elsewhere");
  return 0;
}
