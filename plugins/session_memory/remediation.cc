// SPDX-License-Identifier: Apache-2.0
#include "plugins/session_memory/remediation.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/base/hash.h"
#include "plugins/session_memory/repairs.h"
#include "plugins/session_memory/terms.h"

namespace session_memory {
namespace {

using agentd::Code;
using agentd::Error;
using agentd::JsonView;
using agentd::JsonWriter;
using agentd::Result;

constexpr double kLikenessLeast = 0.7;
constexpr std::size_t kIdDigits = 26, kErrorBytesMax = 64u << 10, kRepairFilesMax = 8, kHexLeast = 6;

bool is_telling(std::string_view line) {
  // A row of Chinese has more bytes than columns.
  // clang-format off
  for (const std::string_view word : {"error", "fail", "exception", "fatal", "cannot", "can't", "could not",
                                      "not found", "no such", "undefined", "denied", "refused", "unable",
                                      "invalid", "panic", "traceback",
                                      "错误", "失败", "异常", "无法", "找不到"})
    // clang-format on
    if (line.find(word) != std::string_view::npos) return true;
  return false;
}

// The first line that names an error; else the last line with anything on it.
std::string_view telling_line(std::string_view text) {
  std::string_view last;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (!agentd::is_blank(line)) last = line;
    if (is_telling(line)) return line;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return last;
}

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A word without its variable part; empty if that was all of it.
std::string settled(std::string_view word) {
  const bool path = word.find('/') != std::string_view::npos || word.find('\\') != std::string_view::npos;
  if (path) return {};
  if (word.starts_with("0x")) return {};
  const bool hex = word.size() >= kHexLeast && std::all_of(word.begin(), word.end(), is_hex);
  if (hex && std::any_of(word.begin(), word.end(), is_digit)) return {};
  std::string out;
  for (const char each : word)
    if (!is_digit(each)) out += each;
  return out;
}

// A place in a file: "main.cc:12:5".
bool is_place(std::string_view word) {
  const std::size_t colon = word.find(':');
  return colon != std::string_view::npos && colon + 1 < word.size() && is_digit(word[colon + 1]);
}

std::string without_quoted(std::string_view line) {
  std::string out;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char mark = line[at];
    const bool opens =
        mark == '"' || mark == '`' || (mark == '\'' && (at == 0 || line[at - 1] == ' ' || line[at - 1] == '('));
    // `foo' is how some compilers quote.
    const std::string_view closing = mark == '`' ? "`'" : std::string_view(&mark, 1);
    const std::size_t end = opens ? line.find_first_of(closing, at + 1) : std::string_view::npos;
    if (end == std::string_view::npos) {
      out += mark;
      continue;
    }
    out += ' ';
    at = end;
  }
  return out;
}

std::string cut_text(std::string_view text) {
  return std::string(agentd::utf8_prefix(agentd::to_utf8(text), Remediation::kTextBytesMax));
}

std::string repaired_files(const std::vector<std::string>& files) {
  std::vector<std::string> shown(files.begin(),
                                 files.begin() + static_cast<std::ptrdiff_t>(std::min(files.size(), kRepairFilesMax)));
  return agentd::join(shown, ", ") + (files.size() > kRepairFilesMax ? " and others" : "");
}

Remediation of_repair(const SessionLog& log, const Borrowed& tools, const Repair& repair) {
  Remediation out;
  out.signature = error_signature(repair.failed->output);
  out.tool = repair.failed->tool;
  const std::string failed = repair.failed->command(), passed = repair.passed->command();
  if (!tools.is_borrowed(failed)) out.tried = cut_text(failed);
  if (!repair.is_same_command() && !tools.is_borrowed(passed)) out.fix = "Run `" + passed + "` instead. ";
  if (!repair.files.empty()) out.fix += "Changed before it passed: " + repaired_files(repair.files) + ". ";
  const std::string said = tools.without_borrowed(log.said_before(repair.passed->seq));
  if (!said.empty() && !out.fix.empty()) out.fix += said;
  out.fix = cut_text(out.fix);
  while (out.fix.ends_with(' ')) out.fix.pop_back();
  return out;
}

}  // namespace

bool Remediation::comes_from(std::string_view conversation, std::uint64_t seq) const {
  return std::any_of(provenance.begin(), provenance.end(),
                     [&](const Provenance& each) { return each.covers(conversation, seq); });
}

std::string error_signature(std::string_view error) {
  const std::string text = agentd::ascii_lower(agentd::to_utf8(error.substr(0, kErrorBytesMax)));
  const std::string line = without_quoted(telling_line(text));
  std::string out;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t begin = line.find_first_not_of(" \t\r,;()[]{}<>", at);
    if (begin == std::string::npos) break;
    const std::size_t end = std::min(line.find_first_of(" \t\r,;()[]{}<>", begin), line.size());
    const std::string_view word = std::string_view(line).substr(begin, end - begin);
    at = end;
    const std::string kept = is_place(word) ? std::string() : settled(word);
    if (kept.find_first_not_of(":.-=|*+#_'\"") == std::string::npos) continue;
    out += (out.empty() ? "" : " ") + kept;
  }
  return std::string(agentd::utf8_prefix(out, Remediation::kSignatureBytesMax));
}

double signature_likeness(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return 0;
  if (a == b) return 1;
  std::vector<std::string> first = words_of(a), second = words_of(b);
  for (auto* const each : {&first, &second}) {
    std::sort(each->begin(), each->end());
    each->erase(std::unique(each->begin(), each->end()), each->end());
  }
  return overlap(first, second);
}

std::string remediation_id(std::string_view signature, std::string_view fix) {
  return agentd::hex(agentd::sha256(std::string(signature) + "\n" + std::string(fix))).substr(0, kIdDigits);
}

void write(JsonWriter& out, const Remediation& from) {
  out.begin_object().member("id", from.id).optional("project_id", from.project).member("signature", from.signature);
  out.optional("tool", from.tool).optional("tried", from.tried).member("fix", from.fix);
  out.member("seen", from.seen).member("helpful", from.helpful).member("unhelpful", from.unhelpful);
  out.member("created_ms", from.created_ms).key("provenance").begin_array();
  for (const Provenance& each : from.provenance) out.string(text_of(each));
  out.end_array().end_object();
}

std::string json_of(const Remediation& remediation) {
  JsonWriter out;
  write(out, remediation);
  return std::string(out.text());
}

Result<Remediation> remediation_of(JsonView from) {
  Remediation out;
  out.id = from["id"].string_or("");
  out.project = from["project_id"].string_or("");
  out.signature = from["signature"].string_or("");
  out.tool = from["tool"].string_or("");
  out.tried = cut_text(from["tried"].string_or(""));
  out.fix = cut_text(from["fix"].string_or(""));
  out.seen = from["seen"].uint_or(1);
  out.helpful = from["helpful"].uint_or(0);
  out.unhelpful = from["unhelpful"].uint_or(0);
  out.created_ms = from["created_ms"].int_or(0);
  for (std::size_t i = 0; i < from["provenance"].size(); ++i)
    out.provenance.push_back(provenance_of(from["provenance"].at(i).string_or("")));
  if (out.signature.empty()) return Error{Code::kInvalid, "a remediation needs an error that has words"};
  if (out.fix.empty()) return Error{Code::kInvalid, "a remediation needs a fix"};
  if (out.id.empty()) out.id = remediation_id(out.signature, out.fix);
  return out;
}

std::vector<Remediation> remediations_of(const SessionLog& log, const Borrowed& tools) {
  std::vector<Remediation> out;
  for (const Repair& repair : repairs_of(log)) {
    if (repair.passed == nullptr) continue;
    Remediation made = of_repair(log, tools, repair);
    if (made.signature.empty() || made.fix.empty()) continue;
    made.id = remediation_id(made.signature, made.fix);
    made.provenance.push_back({"", repair.failed->seq, repair.passed->result_seq});
    out.push_back(std::move(made));
  }
  return out;
}

std::vector<Remediation> matching(const std::vector<Remediation>& all, std::string_view error, std::size_t limit) {
  const std::string signature = error_signature(error);
  std::vector<std::pair<double, const Remediation*>> found;
  for (const Remediation& each : all) {
    const double likeness = signature_likeness(signature, each.signature);
    // A fix that was rejected more often than it helped is not offered again.
    if (likeness < kLikenessLeast || each.unhelpful > each.helpful + each.seen) continue;
    found.emplace_back(likeness, &each);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first > b.first;
    return a.second->helpful + a.second->seen > b.second->helpful + b.second->seen;
  });
  std::vector<Remediation> out;
  for (std::size_t i = 0; i < std::min(found.size(), limit); ++i) out.push_back(*found[i].second);
  return out;
}

}  // namespace session_memory
