// SPDX-License-Identifier: Apache-2.0
#include "core/acp/editor_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/base/bytes.h"

namespace agentd::acp {
namespace {

constexpr Milliseconds kAnswerTime{5'000};
constexpr std::uint64_t kTextMax = 8u << 20;  // longer files are not the editor's
constexpr std::size_t kFilesMax = 1'000;      // of which the editor says something
constexpr std::size_t kShownBytes = 300;
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
    AGENTD_TRY(const auto now, look(path));
    if (!now) return files_->read(path, offset, limit, total);
    if (total != nullptr) *total = now->text.size();
    const std::uint64_t first = std::min<std::uint64_t>(offset, now->text.size());
    return now->text.substr(first, limit == 0 ? std::string::npos : limit);
  }

  // The text in the editor would be lost with it.
  Result<void> write(const std::string& path, std::string_view bytes) override {
    AGENTD_TRY(const auto now, look(path));
    if (now) return Error{Code::kConflict, path + " has changes in the editor that are not saved"};
    return files_->write(path, bytes);
  }

  Result<void> replace(const std::string& path, std::string_view expected, std::string_view bytes) override {
    AGENTD_TRY(const auto now, look(path));
    if (!now) return files_->replace(path, expected, bytes);
    if (now->text != expected) return Error{Code::kConflict, path + " has changed in the editor"};
    AGENTD_TRY_VOID(files_->replace(path, now->saved, bytes));
    unsaved_->tell(path, bytes);
    return {};
  }

  Result<FileListing> list(const std::string& path, std::uint32_t depth, std::uint32_t limit) const override {
    return files_->list(path, depth, limit);
  }

 private:
  struct Unsaved {
    std::string saved, text;
  };
  // nullopt: what is saved is all there is, or there is no such file.
  Result<std::optional<Unsaved>> look(const std::string& path) const {
    const std::optional<Unsaved> none;
    if (!unsaved_->may_ask(path)) return none;
    std::uint64_t size = 0;
    auto saved = files_->read(path, 0, kTextMax, &size);
    if (!saved || size > kTextMax) return none;
    auto text = unsaved_->text(path, *saved);
    if (!text) return none;
    return std::optional<Unsaved>({std::move(*saved), std::move(*text)});
  }

  const std::shared_ptr<Workspace> files_;       // shared with other sessions
  const std::shared_ptr<UnsavedFiles> unsaved_;  // shared with the session
};

}  // namespace

void UnsavedFiles::set_session(std::string id) {
  const MutexLock lock(mutex_);
  session_ = std::move(id);
}

void UnsavedFiles::add(const std::string& path) {
  const std::string file = abilities_.reads_files ? without_links(path) : std::string();
  const MutexLock lock(mutex_);
  if (!file.empty() && files_.size() < kFilesMax) files_.insert(file);
}

bool UnsavedFiles::may_ask(const std::string& path) const {
  {
    const MutexLock lock(mutex_);
    if (files_.empty()) return false;
  }
  const std::string file = without_links(path);
  const MutexLock lock(mutex_);
  return files_.count(file) != 0;
}

std::optional<std::string> UnsavedFiles::text(const std::string& path, std::string_view saved) {
  const std::string file = without_links(path);
  JsonWriter out;
  {
    const MutexLock lock(mutex_);
    if (files_.count(file) == 0) return std::nullopt;
    out.begin_object().member("sessionId", session_).member("path", file).end_object();
  }
  if (commands_run_()) return std::nullopt;
  const auto answer = wire_.ask("fs/read_text_file", out.text(), CancelToken(), Deadline::after(clock_, kAnswerTime));
  if (!answer || without_links(file) != file) return std::nullopt;
  const JsonView content = (*answer)->root()["result"]["content"];
  if (!content.is_string()) return std::nullopt;
  const std::string_view text = content.string_or("");
  if (as_lines(text) != as_lines(saved)) return std::string(text);
  const MutexLock lock(mutex_);
  files_.erase(file);  // it was saved
  return std::nullopt;
}

void UnsavedFiles::tell(const std::string& path, std::string_view text) {
  const std::string file = without_links(path);
  JsonWriter out;
  {
    const MutexLock lock(mutex_);
    if (files_.erase(file) == 0) return;
    out.begin_object().member("sessionId", session_).member("path", file).member("content", text).end_object();
  }
  const bool told = abilities_.writes_files && !commands_run_() &&
                    wire_.ask("fs/write_text_file", out.text(), CancelToken(), Deadline::after(clock_, kAnswerTime));
  if (told) return;
  const MutexLock lock(mutex_);
  notices_.push_back(
      one_line(file, kShownBytes) +
      " was changed on the disk, from the text in the editor, where it is not saved: load it again there");
}

std::vector<std::string> UnsavedFiles::take_notices() {
  const MutexLock lock(mutex_);
  return std::exchange(notices_, {});
}

std::shared_ptr<Workspace> with_unsaved(std::shared_ptr<Workspace> files, std::shared_ptr<UnsavedFiles> unsaved) {
  return std::make_shared<EditorFiles>(std::move(files), std::move(unsaved));
}

}  // namespace agentd::acp
