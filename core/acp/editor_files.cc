// SPDX-License-Identifier: Apache-2.0
#include "core/acp/editor_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/base/bytes.h"

namespace agentd::acp {
namespace {

constexpr Milliseconds kFileAnswerTime{5'000};
constexpr std::uint64_t kTextMax = 8u << 20;  // longer files are not the editor's
constexpr std::size_t kFilesMax = 1'000;      // of which the editor says something
constexpr std::size_t kShownPathBytes = 300;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Empty: there is no such file.
std::string without_links(const std::string& path) {
  std::error_code failed;
  const auto out = std::filesystem::canonical(path, failed);
  return failed ? std::string() : out.string();
}

std::string as_lines(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') out += text[i];
  return out;
}

// The text as the file has it: with its byte order mark and its line ends.
std::string as_saved(std::string_view text, std::string_view saved) {
  std::string out(saved.starts_with(kByteOrderMark) ? kByteOrderMark : std::string_view());
  const bool returns = saved.find("\r\n") != std::string_view::npos;
  for (const char each : as_lines(text)) {
    if (each == '\n' && returns) out += '\r';
    out += each;
  }
  return out;
}

bool one_runs(ProcessHost& commands) {
  const std::vector<CommandState> all = commands.list();
  return std::any_of(all.begin(), all.end(), [](const CommandState& each) { return !each.ended(); });
}

// Files with the texts of the editor in place of what is saved.
class EditorFiles final : public Workspace {
 public:
  EditorFiles(std::shared_ptr<Workspace> files, std::shared_ptr<UnsavedFiles> unsaved)
      : files_(std::move(files)), unsaved_(std::move(unsaved)) {
    set_cage(files_->cage());
  }

  const std::vector<std::string>& roots() const override { return files_->roots(); }

  Result<std::string> read(const std::string& path, std::uint64_t offset, std::uint64_t limit,
                           std::uint64_t* total) const override {
    const Seen now = look(path);
    if (now.view.state == State::kUnknown) unsaved_->note_read(path);
    if (now.view.state != State::kUnsaved) return files_->read(path, offset, limit, total);
    const std::string& text = now.view.text;
    if (total != nullptr) *total = text.size();
    return text.substr(std::min<std::uint64_t>(offset, text.size()), limit == 0 ? std::string::npos : limit);
  }

  // The text in the editor would be lost with it.
  Result<void> write(const std::string& path, std::string_view bytes) override {
    if (look(path).view.state != State::kSaved)
      return Error{Code::kConflict, path + " may have changes in the editor that are not saved"};
    return files_->write(path, bytes);
  }

  Result<void> replace(const std::string& path, std::string_view expected, std::string_view bytes) override {
    const Seen now = look(path);
    if (now.view.state != State::kUnsaved) {
      AGENTD_TRY_VOID(files_->replace(path, expected, bytes));
      if (now.view.state == State::kUnknown) unsaved_->tell(path, std::nullopt);
      return {};
    }
    if (now.view.text != expected) return Error{Code::kConflict, path + " has changed in the editor"};
    AGENTD_TRY_VOID(files_->replace(path, now.saved, as_saved(bytes, now.saved)));
    unsaved_->tell(path, bytes);
    return {};
  }

  Result<FileListing> list(const std::string& path, std::uint32_t depth, std::uint32_t limit) const override {
    return files_->list(path, depth, limit);
  }

 private:
  using State = UnsavedFiles::View::State;
  struct Seen {
    UnsavedFiles::View view{State::kSaved};
    std::string saved{};
  };
  Seen look(const std::string& path) const {
    Seen out;
    if (!unsaved_->is_named(path)) return out;
    std::uint64_t size = 0;
    auto saved = files_->read(path, 0, kTextMax, &size);
    if (!saved) return out;  // the reason is that of what follows
    if (size > kTextMax || !is_utf8(*saved)) {
      out.view.state = State::kUnknown;
      return out;
    }
    out.view = unsaved_->look(path, *saved);
    out.saved = std::move(*saved);
    return out;
  }

  const std::shared_ptr<Workspace> files_;       // shared with other sessions
  const std::shared_ptr<UnsavedFiles> unsaved_;  // shared with the session
};

}  // namespace

void CommandHosts::add(const std::shared_ptr<ProcessHost>& host) {
  const MutexLock lock(mutex_);
  std::erase_if(hosts_, [](const auto& each) { return each.expired(); });
  hosts_.push_back(host);
}

bool CommandHosts::any_runs() const {
  std::vector<std::shared_ptr<ProcessHost>> hosts;  // as hosts_, while they are asked
  {
    const MutexLock lock(mutex_);
    for (const auto& each : hosts_)
      if (auto host = each.lock()) hosts.push_back(std::move(host));
  }
  return std::any_of(hosts.begin(), hosts.end(), [](const auto& each) { return one_runs(*each); });
}

void UnsavedFiles::set_session(std::string id) {
  const MutexLock lock(mutex_);
  session_ = std::move(id);
}

void UnsavedFiles::set_cancel(const CancelToken& cancel) {
  const MutexLock lock(mutex_);
  cancel_ = cancel;
}

void UnsavedFiles::add(const std::string& path) {
  const std::string file = abilities_.reads_files ? without_links(path) : std::string();
  const MutexLock lock(mutex_);
  silent_ = false;
  if (file.empty()) return;
  if (files_.size() < kFilesMax)
    files_[file] = path;
  else
    notices_.push_back("more than " + std::to_string(kFilesMax) + " files are not saved: the saved text of " +
                       one_line(path, kShownPathBytes) + " is used");
}

bool UnsavedFiles::is_named(const std::string& path) const {
  {
    const MutexLock lock(mutex_);
    if (files_.empty()) return false;
  }
  const std::string file = without_links(path);
  const MutexLock lock(mutex_);
  return files_.contains(file);
}

RpcWire::Patience UnsavedFiles::patience() const {
  const MutexLock lock(mutex_);
  return {.cancel = cancel_, .deadline = Deadline::after(clock_, kFileAnswerTime)};
}

UnsavedFiles::View UnsavedFiles::look(const std::string& path, std::string_view saved) {
  const std::string file = without_links(path);
  std::string named;
  JsonWriter out;
  {
    const MutexLock lock(mutex_);
    const auto found = files_.find(file);
    if (found == files_.end()) return {View::State::kSaved};
    if (silent_) return {};
    named = found->second;
    out.begin_object().member("sessionId", session_).member("path", named).end_object();
  }
  if (commands_.any_runs() || without_links(named) != file) return {};
  const RpcWire::Patience until = patience();
  const auto answer = wire_.ask("fs/read_text_file", out.text(), until);
  const JsonView content = answer ? (*answer)->root()["result"]["content"] : JsonView();
  const MutexLock lock(mutex_);
  silent_ = silent_ || (!answer && until.deadline.passed(clock_));
  if (!content.is_string() || without_links(named) != file) return {};
  const std::string_view text = content.string_or("");
  if (as_lines(text) != as_lines(saved)) return {View::State::kUnsaved, std::string(text)};
  files_.erase(file);  // it was saved
  return {View::State::kSaved};
}

void UnsavedFiles::tell(const std::string& path, std::optional<std::string_view> text) {
  const std::string file = without_links(path);
  JsonWriter out;
  {
    const MutexLock lock(mutex_);
    const auto found = files_.find(file);
    if (found == files_.end()) return;
    out.begin_object().member("sessionId", session_).member("path", found->second);
    out.member("content", text.value_or("")).end_object();
    files_.erase(found);
  }
  const bool told = text && abilities_.writes_files && !commands_.any_runs() &&
                    wire_.ask("fs/write_text_file", out.text(), patience());
  if (told) return;
  const MutexLock lock(mutex_);
  notices_.push_back(one_line(file, kShownPathBytes) +
                     " was changed on the disk, and its text in the editor is not saved: compare the two there");
}

void UnsavedFiles::note_read(const std::string& path) {
  const MutexLock lock(mutex_);
  notices_.push_back("the saved text of " + one_line(path, kShownPathBytes) +
                     " was read, since the editor could not be asked for the one that is not saved");
}

std::vector<std::string> UnsavedFiles::take_notices() {
  const MutexLock lock(mutex_);
  std::vector<std::string> out = std::exchange(notices_, {});
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::shared_ptr<Workspace> with_unsaved(std::shared_ptr<Workspace> files, std::shared_ptr<UnsavedFiles> unsaved) {
  return std::make_shared<EditorFiles>(std::move(files), std::move(unsaved));
}

}  // namespace agentd::acp
