// SPDX-License-Identifier: Apache-2.0
#include "core/tools/permission_call.h"

#include <algorithm>

#include "core/base/paths.h"
#include "core/codec/json.h"
#include "core/codec/url.h"

namespace agentd {
namespace {

// Targets of redirections that change no file. /dev/stdin may be a file that was opened for reading, which a shell
// opens anew for writing; so may the others when the text opens a file for reading.
constexpr std::string_view kNoFiles[] = {"/dev/null", "/dev/tty"};
constexpr std::string_view kOutputs[] = {"/dev/stdout", "/dev/stderr"};

template <std::size_t N>
bool holds(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool changes_directory(const ShellCommand& command) {
  return std::any_of(command.words.begin(), command.words.end(), [&](const ShellWord& word) {
    const bool program = &word == &command.words.front();
    return program ? word.is("cd") || word.is("pushd") || word.is("popd") : word.is("-execdir") || word.is("-okdir");
  });
}

bool opens_a_file(const ShellReading& reading) {
  for (const ShellCommand& command : reading.commands)
    for (const ShellRedirection& each : command.redirections)
      if (each.reads && !each.target.is("/dev/null")) return true;
  return false;
}

CallPath path_of(std::string_view said, const PathPlace& place) {
  const std::string spelt = lexical_path(said, place.start);
  return {spelt, real_path(spelt)};
}

bool is_device(const CallPath& path) {
  for (const std::string& each : {path.spelt, path.real})
    if (is_below(each, "/dev") || is_below(each, "/proc")) return true;
  return false;
}

}  // namespace

const ShellReading& PermissionCall::reading() {
  if (!reading_) {
    const auto document = JsonDocument::parse(input_.text());
    reading_ = split_command(document ? document->root()["command"].string_or({}) : std::string_view());
  }
  return *reading_;
}

bool PermissionCall::moves() {
  return std::any_of(reading().commands.begin(), reading().commands.end(), changes_directory);
}

const std::vector<WrittenFile>& PermissionCall::writes() {
  if (writes_) return *writes_;
  writes_.emplace();
  const bool opens = opens_a_file(reading()), elsewhere = moves();
  for (const ShellCommand& command : reading().commands)
    for (const ShellRedirection& each : command.redirections) {
      const ShellWord& target = each.target;
      if (!each.writes || holds(kNoFiles, target.text) || (!opens && holds(kOutputs, target.text))) continue;
      WrittenFile made{&target, {}, false};
      if (target.known() && !target.text.empty()) {
        made.path = path_of(target.text, place_);
        made.certain = !is_device(made.path) && (!elsewhere || target.text[0] == '/');
      }
      writes_->push_back(std::move(made));
    }
  return *writes_;
}

const std::vector<CallPath>& PermissionCall::paths() {
  if (paths_) return *paths_;
  paths_.emplace();
  const auto document = JsonDocument::parse(input_.text());
  for (const std::string& key : tool_.path_keys) {
    const std::string said(document ? document->root()[key].string_or({}) : std::string_view());
    CallPath made = path_of(with_home(said.empty() ? "." : said, place_.home), place_);
    made.named = !said.empty();
    paths_->push_back(std::move(made));
  }
  return *paths_;
}

std::string PermissionCall::host() const {
  const auto document = JsonDocument::parse(input_.text());
  const auto url = parse_http_url(document ? document->root()["url"].string_or({}) : std::string_view());
  return url ? url->host : std::string();
}

bool PermissionCall::is_in(const CallPath& path, std::span<const std::string> places) const {
  return std::any_of(places.begin(), places.end(), [&](const std::string& place) {
    const std::string spelt = lexical_path(place, place_.start), real = real_path(spelt);
    return is_below(path.spelt, spelt) || is_below(path.real, spelt) || (!real.empty() && is_below(path.real, real));
  });
}

}  // namespace agentd
