// SPDX-License-Identifier: Apache-2.0
#include "core/tools/kept_answers.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/codec/json.h"

namespace agentd {
namespace {

constexpr std::uint64_t kBytesMax = 4u << 20;
constexpr unsigned kMode = 0600;

Error unusable(const std::string& file, const std::string& why) {
  return Error{Code::kInvalid, file + ": " + why + ": the kept permissions are not used; remove the file"};
}

}  // namespace

std::string KeptAnswers::file_of(const std::string& home, const std::string& project_root) {
  return home + "/permissions/" + hex(sha256(real_path(project_root))).substr(0, 32) + ".json";
}

Result<std::shared_ptr<KeptAnswers>> KeptAnswers::open(const std::string& home, const std::string& project_root) {
  std::shared_ptr<KeptAnswers> out(new KeptAnswers(file_of(home, project_root), real_path(project_root)));
  const MutexLock lock(out->mutex_);
  AGENTD_TRY_VOID(out->read());
  return out;
}

std::vector<PermissionRule> KeptAnswers::rules() const {
  const MutexLock lock(mutex_);
  std::vector<PermissionRule> out;
  for (const KeptAnswer& each : answers_) {
    const auto parts = rule_parts(each.rule);
    if (!parts) continue;
    auto rule = make_rule(*parts, each.rule, file_);
    // An answer is about arguments: one that permits a whole tool was never given.
    if (!rule || rule->is_whole()) continue;
    rule->kept = true;
    rule->directory = each.directory;
    out.push_back(std::move(*rule));
  }
  return out;
}

std::vector<KeptAnswer> KeptAnswers::answers() const {
  const MutexLock lock(mutex_);
  return answers_;
}

Result<void> KeptAnswers::keep(const std::vector<std::string>& rules, std::int64_t when_ms,
                               const std::string& conversation_id, const std::string& directory) {
  const MutexLock lock(mutex_);
  AGENTD_TRY_VOID(read());  // what another process has kept since
  for (const std::string& rule : rules) {
    const bool known = std::any_of(answers_.begin(), answers_.end(), [&](const KeptAnswer& each) {
      return each.rule == rule && each.directory == directory;
    });
    if (!known) answers_.push_back({rule, when_ms, conversation_id, directory});
  }
  return write();
}

Result<std::size_t> KeptAnswers::forget(const std::string& rule) {
  const MutexLock lock(mutex_);
  AGENTD_TRY_VOID(read());
  const std::size_t gone =
      std::erase_if(answers_, [&](const KeptAnswer& each) { return rule.empty() || each.rule == rule; });
  if (gone != 0) AGENTD_TRY_VOID(write());
  return gone;
}

Result<void> KeptAnswers::read() {
  answers_.clear();
  struct stat info {};
  if (::lstat(file_.c_str(), &info) != 0) return {};
  if (!S_ISREG(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 077) != 0)
    return unusable(file_, "it must be a regular file of yours with mode 0600");
  AGENTD_TRY(const std::string text, read_file(file_, kBytesMax));
  const auto document = JsonDocument::parse(text);
  if (!document || !document->root().is_object()) return unusable(file_, "it is not valid JSON");
  if (document->root()["root"].string_or({}) != root_) return unusable(file_, "it is about another directory");
  const JsonView rules = document->root()["rules"];
  for (std::size_t i = 0; rules.is_array() && i < rules.size(); ++i)
    answers_.push_back({std::string(rules.at(i)["rule"].string_or({})), rules.at(i)["when_ms"].int_or(0),
                        std::string(rules.at(i)["conv_id"].string_or({})),
                        std::string(rules.at(i)["directory"].string_or({}))});
  return {};
}

Result<void> KeptAnswers::write() const {
  AGENTD_TRY_VOID(make_directories(file_.substr(0, file_.rfind('/'))));
  JsonWriter out;
  out.begin_object().member("root", root_).key("rules").begin_array();
  for (const KeptAnswer& each : answers_)
    out.begin_object()
        .member("rule", each.rule)
        .member("when_ms", each.when_ms)
        .member("conv_id", each.conversation_id)
        .member("directory", each.directory)
        .end_object();
  out.end_array().end_object();
  return write_file_atomically(file_, std::string(out.text()) + "\n", kMode);
}

}  // namespace agentd
