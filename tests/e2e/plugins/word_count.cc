// SPDX-License-Identifier: Apache-2.0
// word_count.cc - a tool that reads a file through agentd, as in the guide; it asks for that with a draft, and requires
// it where AGENTD_REQUIRES_FILES is set.
#include <agentd/drafts.hpp>

#include <algorithm>
#include <string>

namespace {

class WordCount {
 public:
#if defined(AGENTD_REQUIRES_FILES)
  static constexpr std::string_view hook_requires[] = {agentd::id::tools, agentd::id::workspace, agentd::id::store};
#else
  static constexpr std::string_view hook_requires[] = {agentd::id::tools};
  static constexpr std::string_view hook_wants[] = {agentd::id::store};
#endif
  static constexpr std::string_view hook_drafts[] = {agentd::id::workspace};

  explicit WordCount(agentd::init& from) : files_(from) {
    from.add_tool<&WordCount::count>({
        .name = "word_count",
        .description = "Counts the words of a file.",
        .input_schema = R"({"type":"object","required":["path"],"properties":{"path":{"type":"string"}}})",
        .flags = AGENTD_TOOL_READ_ONLY,
    });
  }

  void count(agentd::call& c, agentd::tool_view tool) {
    const std::string path = tool.input().text("path");
    const auto file = files_.read(c, path);
    if (!file) {
      c.tool_error(path + " cannot be read: " + std::string(agentd::status_text(file.status())));
      return;
    }
    const std::string bytes(file->bytes);
    c.output(std::to_string(std::count(bytes.begin(), bytes.end(), ' ') + 1) + " words\n");
  }

 private:
  agentd::workspace files_;
};

}  // namespace

AGENTD_HOOK(WordCount, "org.agentd.test.word-count", "1.0.0")
