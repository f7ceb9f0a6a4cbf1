// SPDX-License-Identifier: Apache-2.0
// files.cc - the tools read_file, write_file and edit_file.

#include <algorithm>

#include "core/base/base64.h"
#include "core/base/bytes.h"
#include "plugins/workspace_tools/edits.h"
#include "plugins/workspace_tools/media.h"
#include "plugins/workspace_tools/text.h"
#include "plugins/workspace_tools/workspace_tools.h"

namespace workspace_tools {
namespace {

constexpr std::uint64_t kFileBytesMax = 16u << 20;
constexpr std::int64_t kLines = 2'000;
constexpr std::size_t kReadBytes = 100'000;  // per read_file; a cut middle would be useless there
constexpr std::size_t kContextLines = 3;     // around an edit
constexpr std::size_t kShownLines = 40;      // per edit
constexpr std::size_t kEditsMax = 200;       // per call

constexpr Key kReadKeys[] = {{"path", Key::Type::kFilledText, true},
                             {"offset", Key::Type::kInteger, false, 1, 1'000'000'000},
                             {"limit", Key::Type::kInteger, false, 1, kLines}};
constexpr Key kWriteKeys[] = {{"path", Key::Type::kFilledText, true}, {"content", Key::Type::kText, true}};
constexpr Key kEditKeys[] = {{"path", Key::Type::kFilledText, true},
                             {"old_string", Key::Type::kFilledText},
                             {"new_string", Key::Type::kText},
                             {"replace_all", Key::Type::kBoolean},
                             {"edits", Key::Type::kList}};
constexpr Key kOneEditKeys[] = {{"old_string", Key::Type::kFilledText, true},
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

// The first place of the last edit, with a few lines around it.
std::string view_of_edit(std::string_view content, std::size_t at, std::size_t length) {
  const auto line_of = [&](std::size_t byte) {
    return static_cast<std::size_t>(
        std::count(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(byte), '\n'));
  };
  std::vector<std::string_view> lines = lines_of(content);
  if (!lines.empty() && lines[0].starts_with(kByteOrderMark)) lines[0].remove_prefix(kByteOrderMark.size());
  const std::size_t first = line_of(at) - std::min(line_of(at), kContextLines);
  const std::size_t wanted = line_of(at + length) + kContextLines + 1;
  const std::size_t last = std::min({wanted, lines.size(), first + kShownLines});
  std::string out;
  for (std::size_t i = first; i < last; ++i) out += numbered(i + 1, lines[i]) + "\n";
  return out;
}

std::string misplaced(std::string_view path) {
  return "nothing was changed: each [secret:...] in new_string must be one that " + std::string(path) +
         " shows, and what stands around it, such as the name and the quotation marks of a password, must still mark "
         "it as a secret";
}

agentd::Error invalid(std::string message) { return {agentd::Code::kInvalid, std::move(message)}; }

// The edits of a call: either one in the input itself, or a list. Their texts borrow from the input.
agentd::Result<std::vector<Edit>> edits_of(const Input& input) {
  std::vector<Edit> out;
  if (!input.has("edits")) {
    for (const char* const key : {"old_string", "new_string"})
      if (!input.has(key))
        return invalid("the key \"" + std::string(key) + "\" is missing, or a list \"edits\" of both");
    out.push_back({input.text("old_string"), input.text("new_string"), input.boolean("replace_all")});
  } else if (input.has("old_string") || input.has("new_string") || input.has("replace_all")) {
    return invalid("give either \"edits\", or \"old_string\" and \"new_string\", not both");
  }
  const agentd::JsonView list = input.list("edits");
  if (input.has("edits") && list.size() == 0) return invalid("\"edits\" must be a list that is not empty");
  if (list.size() > kEditsMax) return invalid("\"edits\" must have at most " + std::to_string(kEditsMax) + " elements");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const agentd::JsonView each = list.at(i);
    if (auto checked = Input::check(each, kOneEditKeys); !checked)
      return invalid("edit " + std::to_string(i + 1) + ": " + checked.error().message);
    out.push_back(
        {each["old_string"].string_or({}), each["new_string"].string_or({}), each["replace_all"].bool_or(false)});
  }
  for (const Edit& edit : out)
    if (edit.from == edit.to)
      return invalid("\"new_string\" is the same as \"old_string\": there is nothing to change");
  return out;
}

std::string changed_since(std::string_view path) {
  return std::string(path) + " has changed since it was read: read it again";
}

std::string utf16(std::string_view path, std::string_view name) {
  return std::string(path) + " is " + std::string(name) +
         " text, and this tool works on UTF-8 alone: convert a copy with " + "bash (iconv -f " + std::string(name) +
         " -t UTF-8)";
}

// To the model; the bytes themselves are kept by edit_file.
constexpr std::string_view kNotUtf8 =
    "[the file is not valid UTF-8: the characters \xEF\xBF\xBD stand for other bytes, which edit_file keeps. Do not "
    "copy them into old_string]\n";

}  // namespace

// A picture or a PDF as a block. A model that cannot see it gets a sentence from the host in its place.
agentd_status WorkspaceTools::read_media(agentd::call& c, const std::string& path, FileKind kind, std::uint64_t bytes) {
  const bool image = kind.as == FileKind::As::kImage;
  const std::uint64_t most = image ? kImageBytesMax : kDocumentBytesMax;
  const std::string what = path + " is " + (image ? "a picture" : "a document") + " (" + std::string(kind.name) + ", " +
                           agentd::counted(bytes, "byte") + ")";
  if (bytes > most)
    return refuse(c, what + ", and at most " + agentd::with_commas(most) + " bytes can be shown: " +
                         (image ? "make it smaller with bash" : "extract its text with bash (pdftotext)"));
  const auto file = files_.read(c, path, 0, most);
  if (!file) return refuse_access(c, file.status(), path);
  if (file->total != file->bytes.size() || kind_of(file->bytes).name != kind.name)
    return refuse(c, AGENTD_E_CONFLICT, path);
  if (!has_picture(kind, file->bytes))
    return refuse(c, path + " begins as a picture (" + std::string(kind.name) +
                         "), but its header or data is missing "
                         "or cut off: inspect it with bash (file, xxd)");
  const std::string text = agentd::base64(file->bytes);
  auto block = agentd::sized<agentd_block>();
  block.kind = image ? AGENTD_BLOCK_IMAGE : AGENTD_BLOCK_DOCUMENT;
  block.name = agentd::as_str(kind.name);
  block.opaque = agentd::as_str(text);
  const std::string_view title = std::string_view(path).substr(path.rfind('/') + 1);
  if (!image) block.text = agentd::as_str(title);
  if (const agentd_status status = c.output(agentd::to_utf8(what)); status != AGENTD_OK) return status;
  return c.tool_result(false, {}, agentd::block_list(agentd_list{&block, 1, sizeof block}));
}

agentd_status WorkspaceTools::read_file(agentd::call& c, agentd::tool_view tool) {
  const auto input = Input::parse(tool.input_json(), kReadKeys);
  if (!input) return refuse(c, input.error().message);
  const std::string path(input->text("path"));
  const auto head = files_.read(c, path, 0, kHeadBytes);
  if (head.status() == AGENTD_E_ARG)
    return refuse(c, path + " is a directory or not a regular file: list folders with glob or bash");
  if (!head) return refuse_access(c, head.status(), path);
  const FileKind kind = kind_of(head->bytes);
  if (kind.as == FileKind::As::kImage || kind.as == FileKind::As::kDocument)
    return read_media(c, path, kind, head->total);
  if (kind.as == FileKind::As::kUtf16) return refuse(c, utf16(path, kind.name));
  if (head->total > kFileBytesMax) return refuse(c, too_big(path, head->total));
  const auto file = files_.view(c, path, kFileBytesMax);
  if (!file) return refuse_access(c, file.status(), path);
  if (kind.as == FileKind::As::kBinary || is_binary(file->text))
    return refuse(c, path + " is " + std::string(kind.name.empty() ? "a binary file" : kind.name) + " of " +
                         agentd::counted(file->total, "byte") + ": inspect it with bash (file, strings, xxd)");
  return show_text(c, path, *input, file->text);
}

agentd_status WorkspaceTools::show_text(agentd::call& c, const std::string& path, const Input& input,
                                        std::string_view text) {
  memory_.seen(c.conversation(), path, text);
  const bool valid = agentd::is_utf8(text);
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (text.empty()) return answer(c, "(the file is empty)");
  const auto offset = static_cast<std::uint64_t>(input.integer("offset", 1));
  const auto lines = static_cast<std::uint64_t>(lines_of(text).size());
  if (offset > lines)
    return refuse(c, "\"offset\" is beyond the end: " + path + " has " + agentd::counted(lines, "line"));
  std::string page = page_of(text, offset, static_cast<std::uint64_t>(input.integer("limit", kLines)));
  if (!valid) page += kNotUtf8;
  return answer(c, page);
}

// A file that the conversation has seen is replaced only as it was seen.
agentd_status WorkspaceTools::replace_seen(agentd::call& c, const std::string& path, std::string_view content) {
  const auto bytes = files_.read(c, path, 0, kFileBytesMax);
  if (bytes.status() == AGENTD_E_NOT_FOUND) return files_.write(c, path, content);
  if (!bytes) return bytes.status();
  if (bytes->total > kFileBytesMax) return AGENTD_E_CONFLICT;  // what was seen was smaller
  const auto file = files_.view(c, path, kFileBytesMax);
  if (!file) return file.status();
  if (memory_.state(c.conversation(), path, file->text) != Memory::State::kSame) return AGENTD_E_CONFLICT;
  return files_.replace(c, path, bytes->bytes, content);
}

agentd_status WorkspaceTools::write_file(agentd::call& c, agentd::tool_view tool) {
  const auto input = Input::parse(tool.input_json(), kWriteKeys);
  if (!input) return refuse(c, input.error().message);
  const std::string path(input->text("path"));
  const std::string_view content = input->text("content");
  const bool existed = static_cast<bool>(files_.read(c, path, 0, 1));
  const agentd_status status =
      memory_.knows(c.conversation(), path) ? replace_seen(c, path, content) : files_.write(c, path, content);
  if (status == AGENTD_E_ARG) return refuse(c, path + " is a directory or not a regular file");
  if (status == AGENTD_E_CONFLICT) return refuse(c, changed_since(path) + "; nothing was written");
  if (status != AGENTD_OK) return refuse_access(c, status, path, Access::kChange, content.size());
  // Seen is what a view shows: of a content with a secret that is another text.
  const auto shown = files_.view(c, path, kFileBytesMax);
  memory_.seen(c.conversation(), path, shown && shown->total == content.size() ? shown->text : content);
  return answer(c, (existed ? "replaced " : "made ") + path + ": " + agentd::counted(content.size(), "byte") + ", " +
                       agentd::counted(lines_of(content).size(), "line"));
}

agentd_status WorkspaceTools::edit_file(agentd::call& c, agentd::tool_view tool) {
  const auto input = Input::parse(tool.input_json(), kEditKeys);
  if (!input) return refuse(c, input.error().message);
  const std::string path(input->text("path"));
  const auto edits = edits_of(*input);
  if (!edits) return refuse(c, edits.error().message);
  const auto file = files_.view(c, path, kFileBytesMax);
  if (!file) return refuse_access(c, file.status(), path);
  if (file->total > kFileBytesMax) return refuse(c, too_big(path, file->total));
  const FileKind kind = kind_of(file->text.substr(0, kHeadBytes));
  if (kind.as == FileKind::As::kUtf16) return refuse(c, utf16(path, kind.name));
  if (kind.as != FileKind::As::kText || is_binary(file->text))
    return refuse(c, path + " is not a text file: change it with a command");
  switch (memory_.state(c.conversation(), path, file->text)) {
    case Memory::State::kUnread:
      return refuse(c, "read the file first: " + path + " has not been read in this conversation");
    case Memory::State::kChanged:
      return refuse(c, changed_since(path));
    case Memory::State::kSame:
      break;
  }
  const auto edited = apply(path, file->text, *edits);
  if (!edited) return refuse(c, edited.error().message);
  if (edited->text == file->text) return refuse(c, "the edits leave " + path + " as it is: there is nothing to change");
  const agentd_status status = files_.edit(c, path, file->text, edited->text);
  if (status == AGENTD_E_ARG) return refuse(c, misplaced(path));
  if (status != AGENTD_OK) return refuse_access(c, status, path, Access::kChange, edited->text.size());
  memory_.seen(c.conversation(), path, edited->text);
  return answer(c, "replaced " + agentd::counted(edited->places, "place") + " in " + path + "\n" +
                       view_of_edit(edited->text, edited->at, edited->length));
}

}  // namespace workspace_tools
