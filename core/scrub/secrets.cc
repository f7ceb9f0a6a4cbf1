// SPDX-License-Identifier: Apache-2.0
#include "core/scrub/secrets.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/base/hash.h"

namespace agentd {
namespace {

constexpr std::size_t kKeyBytes = 32;

// All texts in the form of a placeholder, whoever wrote them.
std::set<std::string_view> forms_in(std::string_view text) {
  std::set<std::string_view> out;
  for (std::size_t at = text.find(kPlaceholderOpen); at != std::string_view::npos;
       at = text.find(kPlaceholderOpen, at + 1))
    if (const auto form = placeholder_form_at(text, at)) out.insert(form->text);
  return out;
}

// Written beside its place, then linked there: a process that comes second finds the first one's.
Result<void> make_key_file(const std::string& path) {
  const std::string key = new_secrets_key();
  const std::string beside = path + "." + hex(sha256(key)).substr(0, 16);
  const UniqueFd file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) return errno_error("making " + path, errno);
  auto written = write_all(file.get(), key);
  if (written && ::fsync(file.get()) != 0) written = errno_error("writing " + path, errno);
  if (written && ::link(beside.c_str(), path.c_str()) != 0 && errno != EEXIST)
    written = errno_error("making " + path, errno);
  ::unlink(beside.c_str());
  return written;
}

}  // namespace

// ---- the key

std::string new_secrets_key() {
  std::string key(kKeyBytes, '\0');
  AGENTD_ASSERT(::getrandom(key.data(), key.size(), 0) == static_cast<ssize_t>(key.size()));
  return key;
}

Result<std::string> secrets_key(const std::string& path) {
  auto key = read_file(path, kKeyBytes);
  if (!key && key.error().code == Code::kNotFound) {
    if (const auto slash = path.rfind('/'); slash != std::string::npos && slash != 0)
      AGENTD_TRY_VOID(make_directories(path.substr(0, slash)));
    AGENTD_TRY_VOID(make_key_file(path));
    key = read_file(path, kKeyBytes);
  }
  if (key && key->size() == kKeyBytes) return key;
  if (!key && key.error().code != Code::kInvalid) return key.error();
  return Error{Code::kCorrupt,
               path + " is not the key of placeholders, which has " + counted(kKeyBytes, "byte") +
                   ": remove it, and a new one is made; placeholders of the old one are plain text then"};
}

// ---- Secrets

Result<std::unique_ptr<Secrets>> Secrets::make(ScrubOptions rules, KeySource key) {
  const bool own = !rules.disable.empty() || !rules.extra.empty();
  std::unique_ptr<Secrets> out(new Secrets(std::move(rules), std::move(key)));
  // Rules of the user are judged now, not in the middle of a run.
  if (own)
    if (const auto made = out->scrubber(); !made) return made.error();
  return out;
}

Result<const Scrubber*> Secrets::scrubber() const {
  const MutexLock lock(mutex_);
  if (!scrubber_) {
    ScrubOptions options = rules_;
    options.mark = [this](std::string_view rule, std::string_view secret) -> Result<std::string> {
      AGENTD_TRY(const Placeholders* const known, placeholders());
      return known->make(rule, secret);
    };
    options.is_own = [this](const PlaceholderForm& form) { return is_own(form); };
    scrubber_.emplace(Scrubber::make(std::move(options)));
  }
  if (!*scrubber_) return scrubber_->error();
  return &**scrubber_;
}

// A source that failed is asked again.
Result<const Placeholders*> Secrets::placeholders() const {
  const MutexLock lock(key_mutex_);
  if (!placeholders_) {
    AGENTD_TRY(std::string key, source_());
    placeholders_.emplace(std::move(key));
  }
  return &*placeholders_;
}

bool Secrets::is_own(const PlaceholderForm& form) const {
  const auto known = placeholders();
  return known && (*known)->is_own(form);
}

void Secrets::set_extra(std::vector<std::shared_ptr<const ExtraScrubber>> extra) {
  const MutexLock lock(extra_mutex_);
  extra_ = std::move(extra);
}

Result<Scrubbed> Secrets::scrub(std::string_view text) const {
  std::vector<std::shared_ptr<const ExtraScrubber>> extra;
  {
    const MutexLock lock(extra_mutex_);
    extra = extra_;
  }
  std::vector<ScrubFinding> also;
  for (const auto& each : extra) {
    AGENTD_TRY(const std::vector<ScrubFinding> found, each->find(text));
    also.insert(also.end(), found.begin(), found.end());
  }
  AGENTD_TRY(const Scrubber* const rules, scrubber());
  return rules->scrub(text, also);
}

// The reason may be a plugin's sentence, which may quote the text.
Secrets::Passed Secrets::passed(const Result<Scrubbed>& clean) const {
  if (clean) return {clean->text, clean->counts()};
  const auto rules = scrubber();
  const auto reason = rules ? (*rules)->scrub(clean.error().message) : Result<Scrubbed>(rules.error());
  return {"[withheld, since agentd cannot look for secrets in it: " +
              (reason ? reason->text : std::string("not in the reason, either")) +
              "; fix that, or set secrets.scrub to false]",
          {}};
}

Secrets::Passed Secrets::pass(std::string text) const {
  if (text.empty()) return {std::move(text), {}};
  return passed(scrub(text));
}

Secrets::Passed Secrets::pass_by_rules(std::string text) const {
  if (text.empty()) return {std::move(text), {}};
  const auto rules = scrubber();
  return passed(rules ? (*rules)->scrub(text) : Result<Scrubbed>(rules.error()));
}

std::optional<std::string> Secrets::own_in(std::string_view text) const {
  for (std::size_t at = text.find(kPlaceholderOpen); at != std::string_view::npos;
       at = text.find(kPlaceholderOpen, at + 1)) {
    const auto form = placeholder_form_at(text, at);
    if (!form) continue;
    // Without the key nobody knows, and a wrong yes does less harm.
    const auto known = placeholders();
    if (!known || (*known)->is_own(*form)) return std::string(form->text);
  }
  return std::nullopt;
}

// By placeholder. One that stands for two secrets has an empty one.
Result<std::map<std::string, std::string, std::less<>>> Secrets::secrets_of(std::string_view bytes) const {
  AGENTD_TRY(const Scrubbed seen, scrub(bytes));
  const std::set<std::string_view> texts = forms_in(bytes);
  std::map<std::string, std::string, std::less<>> out;
  for (const ScrubFinding& finding : seen.findings) {
    const std::string_view secret = bytes.substr(finding.at, finding.length);
    const auto [place, fresh] = out.try_emplace(finding.mark, secret);
    // The file may also hold the placeholder itself, as text.
    if ((!fresh && place->second != secret) || texts.contains(finding.mark)) place->second.clear();
  }
  return out;
}

namespace {

// A secret that was led back: its bytes in the new text, and its placeholder.
struct Placed {
  std::size_t at = 0, length = 0;
  std::string_view mark;
};

// The first that is not found as a whole, so that the next reader would see a part of it; null = there is none. Both
// are in order of place.
const Placed* first_open(const std::vector<Placed>& placed, const std::vector<ScrubFinding>& findings) {
  std::size_t next = 0;
  for (const Placed& each : placed) {
    std::size_t hidden = each.at;  // up to here
    const std::size_t end = each.at + each.length;
    while (hidden < end && next < findings.size() && findings[next].at <= hidden) {
      hidden = std::max(hidden, findings[next].at + findings[next].length);
      if (hidden <= end) ++next;  // otherwise it may hide the next one, too
    }
    if (hidden < end) return &each;
  }
  return nullptr;
}

}  // namespace

Result<std::string> Secrets::restored(std::string_view bytes, std::string_view edited) const {
  if (!own_in(edited)) return std::string(edited);
  AGENTD_TRY(const auto secrets, secrets_of(bytes));
  const std::set<std::string_view> texts = forms_in(bytes);
  std::string out;
  std::vector<Placed> placed;
  std::size_t from = 0;
  for (std::size_t at = edited.find(kPlaceholderOpen); at != std::string_view::npos;
       at = edited.find(kPlaceholderOpen, at + 1)) {
    const auto form = placeholder_form_at(edited, at);
    if (!form || !is_own(*form)) continue;
    const auto known = secrets.find(form->text);
    if (known == secrets.end() && texts.contains(form->text)) continue;  // text of the file
    if (known == secrets.end())
      return Error{Code::kInvalid, std::string(form->text) + " stands for no secret of this file"};
    if (known->second.empty())
      return Error{Code::kInvalid, std::string(form->text) + " stands for two different texts of this file"};
    out.append(edited, from, at - from);
    placed.push_back({out.size(), known->second.size(), form->text});
    out += known->second;
    from = at + form->text.size();
  }
  out.append(edited, from);
  // A secret that is known by what stands around it must not come into the open, nor must a part of it.
  AGENTD_TRY(const Scrubbed next, scrub(out));
  if (const Placed* const open = first_open(placed, next.findings); open != nullptr)
    return Error{Code::kInvalid, std::string(open->mark) + " would no longer be known as a secret where it stands now"};
  return out;
}

std::string told_of(const std::map<std::string, std::size_t>& counts) {
  std::size_t all = 0;
  std::string rules;
  for (const auto& [rule, count] : counts) {
    all += count;
    rules += (rules.empty() ? "" : ", ") + rule + (count == 1 ? "" : " ×" + std::to_string(count));
  }
  return counted(all, "secret") + (all == 1 ? " was" : " were") + " replaced (" + rules + ")";
}

}  // namespace agentd
