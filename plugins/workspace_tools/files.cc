// SPDX-License-Identifier: Apache-2.0
// files.cc - the tools read_file, write_file and edit_file.

#include <algorithm>

#include "core/base/bytes.h"
#include "plugins/workspace_tools/text.h"
#include "plugins/workspace_tools/workspace_tools.h"

namespace workspace_tools {
namespace {

constexpr std::uint64_t kFileBytesMax = 16u << 20;
constexpr std::int64_t kLines = 2'000;
constexpr std::size_t kReadBytes = 100'000;  // per read_file; a cut middle would be useless there
constexpr std::size_t kContextLines = 3;     // around an edit
constexpr std::size_t kShownLines = 40;      // per edit

constexpr Key kReadKeys[] = {{"path", Key::Type::kFilledText, true},
                             {"offset", Key::Type::kInteger, false, 1, 1'000'000'000},
                             {"limit", Key::Type::kInteger, false, 1, kLines}};
constexpr Key kWriteKeys[] = {{"path", Key::Type::kFilledText, true}, {"content", Key::Type::kText, true}};
constexpr Key kEditKeys[] = {{"path", Key::Type::kFilledText, true},
                             {"old_string", Key::Type::kFilledText, true},
                             {"new_string", Key::Type::kText, true},
                             {"replace_all", Key::Type::kBoolean}};

std::string too_big(std::string_view path, std::uint64_t bytes) {
  return std::string(path) + " has " + agentd::counted(bytes, "byte") +
         ", more than the 16 MiB that this tool reads: read a part of it with bash (sed -n, head, tail)";
}

// The requested lines, and a note on how to continue if there are more.
std::string page_of(std::string_view content, std::uint64_t offset, std::uint64_t limit) {
  const std::vector<std::string_view> lines = lines_of(content);
  std::string out;
  std::uint64_t number = offset;
  for (; number <= lines.size() && number < offset + limit; ++number) {
    const std::string line = numbered(number, lines[number - 1]) + "\n";
    if (!out.empty() && out.size() + line.size() > kReadBytes) break;
    out += line;
  }
  if (number <= lines.size())
    out += "[" + agentd::counted(lines.size() - number + 1, "more line") + " of " +
           agentd::counted(lines.size(), "line") + ": continue with offset " + std::to_string(number) + "]\n";
  return out;
}

// The place of the first edit, with a few lines around it.
std::string view_of_edit(std::string_view content, std::size_t at, std::string_view text) {
  const auto line_of = [&](std::size_t byte) {
    return static_cast<std::size_t>(
        std::count(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(byte), '\n'));
  };
  const std::vector<std::string_view> lines = lines_of(content);
  const std::size_t first = line_of(at) - std::min(line_of(at), kContextLines);
  const std::size_t wanted = line_of(at + text.size()) + kContextLines + 1;
  const std::size_t last = std::min({wanted, lines.size(), first + kShownLines});
  std::string out;
  for (std::size_t i = first; i < last; ++i) out += numbered(i + 1, lines[i]) + "\n";
  return out;
}

std::string with_crlf(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n' && !out.ends_with('\r')) out += '\r';
    out += c;
  }
  return out;
}

struct Edit {
  std::string from, to;
};

// The strings with the file's line ends: read_file does not show "\r".
Edit fitted(std::string_view content, std::string_view from, std::string_view to) {
  const bool fits = content.find(from) != std::string_view::npos;
  if (!fits && content.find("\r\n") != std::string_view::npos) return {with_crlf(from), with_crlf(to)};
  return {std::string(from), std::string(to)};
}

std::string misplaced(std::string_view path) {
  return "nothing was changed: each [secret:...] in new_string must be one that " + std::string(path) +
         " shows, and what stands around it, such as the name and the quotation marks of a password, must still mark "
         "it as a secret";
}

std::string not_found(std::string_view path, std::string_view content, std::string_view from) {
  std::string text = "old_string is not in " + std::string(path);
  const std::size_t first = from.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return text;
  const std::string_view bare = from.substr(first, from.find_last_not_of(" \t\r\n") - first + 1);
  if (content.find(bare) != std::string_view::npos)
    return text + ", but it is there without the white space at its ends: copy the indentation exactly";
  return text + ": copy it exactly as read_file shows it, without the line numbers";
}

}  // namespace

agentd_status WorkspaceTools::read_file(agentd::call& c, agentd::tool_view tool) {
  const auto input = Input::parse(tool.input_json(), kReadKeys);
  if (!input) return refuse(c, input.error().message);
  const std::string path(input->text("path"));
  const auto file = files_.view(c, path, kFileBytesMax);
  if (file.status() == AGENTD_E_ARG)
    return refuse(c, path + " is a directory or not a regular file: list folders with glob or bash");
  if (!file) return refuse_access(c, file.status(), path);
  if (file->total > kFileBytesMax) return refuse(c, too_big(path, file->total));
  if (is_binary(file->text))
    return refuse(c, path + " is a binary file of " + agentd::counted(file->total, "byte") +
                         ": inspect it with bash (file, strings, xxd)");
  memory_.seen(c.conversation(), path, file->text);
  const auto offset = static_cast<std::uint64_t>(input->integer("offset", 1));
  const auto lines = static_cast<std::uint64_t>(lines_of(file->text).size());
  if (file->text.empty()) return answer(c, "(the file is empty)");
  if (offset > lines)
    return refuse(c, "\"offset\" is beyond the end: " + path + " has " + agentd::counted(lines, "line"));
  return answer(c, page_of(file->text, offset, static_cast<std::uint64_t>(input->integer("limit", kLines))));
}

agentd_status WorkspaceTools::write_file(agentd::call& c, agentd::tool_view tool) {
  const auto input = Input::parse(tool.input_json(), kWriteKeys);
  if (!input) return refuse(c, input.error().message);
  const std::string path(input->text("path"));
  const std::string_view content = input->text("content");
  const bool existed = static_cast<bool>(files_.read(c, path, 0, 1));
  const agentd_status status = files_.write(c, path, content);
  if (status == AGENTD_E_ARG) return refuse(c, path + " is a directory or not a regular file");
  if (status != AGENTD_OK) return refuse_access(c, status, path, Access::kChange);
  memory_.seen(c.conversation(), path, content);
  return answer(c, (existed ? "replaced " : "made ") + path + ": " + agentd::counted(content.size(), "byte") + ", " +
                       agentd::counted(lines_of(content).size(), "line"));
}

agentd_status WorkspaceTools::edit_file(agentd::call& c, agentd::tool_view tool) {
  const auto input = Input::parse(tool.input_json(), kEditKeys);
  if (!input) return refuse(c, input.error().message);
  const std::string path(input->text("path"));
  if (input->text("old_string") == input->text("new_string"))
    return refuse(c, "\"new_string\" is the same as \"old_string\": there is nothing to change");
  const auto file = files_.view(c, path, kFileBytesMax);
  if (!file) return refuse_access(c, file.status(), path);
  if (file->total > kFileBytesMax) return refuse(c, too_big(path, file->total));
  switch (memory_.state(c.conversation(), path, file->text)) {
    case Memory::State::kUnread:
      return refuse(c, "read the file first: " + path + " has not been read in this conversation");
    case Memory::State::kChanged:
      return refuse(c, path + " has changed since it was read: read it again");
    case Memory::State::kSame:
      break;
  }
  const Edit edit = fitted(file->text, input->text("old_string"), input->text("new_string"));
  const std::size_t count = count_of(file->text, edit.from);
  const bool all = input->boolean("replace_all");
  if (count == 0) return refuse(c, not_found(path, file->text, input->text("old_string")));
  if (count > 1 && !all)
    return refuse(c, "old_string is " + std::to_string(count) + " times in " + path +
                         ": include lines around it until it is unique, or set replace_all");
  const std::string changed = replaced(file->text, edit.from, edit.to, all);
  const agentd_status status = files_.edit(c, path, file->text, changed);
  if (status == AGENTD_E_ARG) return refuse(c, misplaced(path));
  if (status != AGENTD_OK) return refuse_access(c, status, path, Access::kChange);
  memory_.seen(c.conversation(), path, changed);
  return answer(c, "replaced " + agentd::counted(count, "place") + " in " + path + "\n" +
                       view_of_edit(changed, file->text.find(edit.from), edit.to));
}

}  // namespace workspace_tools
