// SPDX-License-Identifier: Apache-2.0
#include "core/cage/journal_text.h"

#include "core/base/base64.h"
#include "core/codec/json.h"

namespace agentd::cage {
namespace {

constexpr unsigned kVersion = 1;

void write_list(JsonWriter& out, std::string_view key, const std::vector<std::string>& list) {
  out.key(key).begin_array();
  for (const std::string& each : list) out.string(base64(each));
  out.end_array();
}

void write_tree(JsonWriter& out, const std::string& path, const Tree& tree) {
  out.begin_object().member("path", base64(path)).member("rest", tree.rest).member("led", tree.led);
  out.key("way").begin_array();
  for (const std::uint32_t rights : tree.way) out.number(std::uint64_t{rights});
  out.end_array().key("entries").begin_array();
  for (const auto& [below, entry] : tree.entries) {
    out.begin_object()
        .member("below", base64(below))
        .member("mode", std::uint64_t{entry.mode})
        .member("device", entry.device)
        .member("inode", entry.inode)
        .member("bytes", entry.bytes)
        .member("changed_s", entry.changed_s)
        .member("changed_ns", entry.changed_ns)
        .member("whole", entry.whole);
    out.member("content", base64(entry.content)).end_object();
  }
  out.end_array().end_object();
}

// A zero byte stands at the end for each '='.
std::string bytes_of(JsonView value) {
  const std::string_view text = value.string_or("");
  std::string out = from_base64(text);
  for (std::size_t i = text.size(); i > 0 && text[i - 1] == '=' && !out.empty(); --i) out.pop_back();
  return out;
}

std::vector<std::string> list_of(JsonView value) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < value.size(); ++i) out.push_back(bytes_of(value.at(i)));
  return out;
}

TreePointer tree_of(JsonView state) {
  auto out = std::make_shared<Tree>();
  out->rest = state["rest"].uint_or(0);
  // A journal of before these two: nothing is moved because of a link, and new directories get the usual rights.
  out->led = state["led"].bool_or(true);
  const JsonView way = state["way"];
  for (std::size_t i = 0; i < way.size(); ++i) out->way.push_back(static_cast<std::uint32_t>(way.at(i).uint_or(0)));
  const JsonView entries = state["entries"];
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const JsonView each = entries.at(i);
    Tree::Entry entry;
    entry.mode = static_cast<std::uint32_t>(each["mode"].uint_or(0));
    entry.device = each["device"].uint_or(0);
    entry.inode = each["inode"].uint_or(0);
    entry.bytes = each["bytes"].uint_or(0);
    entry.changed_s = each["changed_s"].int_or(0);
    entry.changed_ns = each["changed_ns"].int_or(0);
    entry.whole = each["whole"].bool_or(false);
    entry.content = bytes_of(each["content"]);
    out->entries.emplace(bytes_of(each["below"]), std::move(entry));
  }
  return out;
}

}  // namespace

std::string text_of(const JournalText& journal) {
  JsonWriter out;
  out.begin_object().member("version", kVersion).member("since_ns", journal.plan.since_ns);
  out.member("home", base64(journal.plan.user.home)).member("xdg", base64(journal.plan.user.xdg));
  write_list(out, "roots", journal.plan.roots);
  write_list(out, "parts", journal.plan.parts);
  out.key("pinned").begin_array();
  for (const Watch::PinnedThen& each : journal.pinned)
    out.begin_object()
        .member("path", base64(each.path))
        .member("device", each.device)
        .member("inode", each.inode)
        .end_object();
  out.end_array().key("states").begin_array();
  for (const auto& [path, tree] : journal.states) write_tree(out, path, *tree);
  out.end_array().end_object();
  return std::string(out.text());
}

Result<JournalText> parse_journal(std::string_view text) {
  AGENTD_TRY(const JsonDocument document, JsonDocument::parse(text));
  const JsonView root = document.root();
  if (root["version"].uint_or(0) != kVersion)
    return Error{Code::kInvalid, "the journal of the sandbox is of another version of agentd"};
  JournalText out;
  out.plan.since_ns = root["since_ns"].int_or(0);
  out.plan.user = {bytes_of(root["home"]), bytes_of(root["xdg"])};
  out.plan.roots = list_of(root["roots"]);
  out.plan.parts = list_of(root["parts"]);
  const JsonView pinned = root["pinned"], states = root["states"];
  for (std::size_t i = 0; i < pinned.size(); ++i)
    out.pinned.push_back(
        {bytes_of(pinned.at(i)["path"]), pinned.at(i)["device"].uint_or(0), pinned.at(i)["inode"].uint_or(0)});
  for (std::size_t i = 0; i < states.size(); ++i) out.states[bytes_of(states.at(i)["path"])] = tree_of(states.at(i));
  return out;
}

}  // namespace agentd::cage
