// SPDX-License-Identifier: Apache-2.0
#include "core/app/line_editor.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <histedit.h>
#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cwchar>
#include <utility>

#include "core/app/key_sequences.h"
#include "core/app/keyboard.h"
#include "core/app/signals.h"
#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/scrub/scrubber.h"

namespace agentd::app {
namespace {

constexpr std::size_t kHistoryLines = 1000;
constexpr std::uint64_t kHistoryBytesMax = 4u << 20;
constexpr std::size_t kHistoryLineBytes = 4096;
constexpr std::size_t kTypedBytesMax = 1000;  // more at once was pasted
constexpr std::size_t kPasteBytesMax = 8u << 20;
constexpr int kBurstMs = 20;
constexpr int kSequenceMs = 50;  // between the bytes of one key Not a terminal's code: its input is filtered before.
constexpr std::string_view kTidy = "\x1b[9999~";

// libedit gives its callbacks nothing but the editor, whose owner only this function knows. One
// library is loaded, so it is the same for all.
decltype(&::el_wget) client_data = nullptr;

struct Library {
  decltype(&::el_init) init = nullptr;
  decltype(&::el_end) end = nullptr;
  decltype(&::el_wset) wset = nullptr;
  decltype(&::el_wgets) wgets = nullptr;
  decltype(&::el_wline) line = nullptr;
  decltype(&::el_cursor) move = nullptr;
  decltype(&::el_deletestr) delete_before = nullptr;
  decltype(&::history_winit) history_init = nullptr;
  decltype(&::history_wend) history_end = nullptr;
  decltype(&::history_w) history = nullptr;

  bool load() {
    void* const library = ::dlopen("libedit.so.2", RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) return false;
    const auto get = [&](auto& slot, const char* name) {
      slot = reinterpret_cast<std::decay_t<decltype(slot)>>(::dlsym(library, name));
      return slot != nullptr;
    };
    return get(init, "el_init") && get(end, "el_end") && get(wset, "el_wset") && get(client_data, "el_wget") &&
           get(wgets, "el_wgets") && get(line, "el_wline") && get(move, "el_cursor") &&
           get(delete_before, "el_deletestr") && get(history_init, "history_winit") &&
           get(history_end, "history_wend") && get(history, "history_w");
  }
};

// Sets UTF-8 on this thread only, whatever the environment says.
class Utf8Here {
 public:
  explicit Utf8Here(locale_t utf8) : before_(::uselocale(utf8)) {}
  ~Utf8Here() { ::uselocale(before_); }
  Utf8Here(const Utf8Here&) = delete;
  Utf8Here& operator=(const Utf8Here&) = delete;

 private:
  locale_t before_;
};

struct FileCloser {
  void operator()(FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<FILE, FileCloser>;

std::wstring wide(std::string_view text) {
  std::wstring out;
  std::mbstate_t state{};
  while (!text.empty()) {
    wchar_t c = 0;
    const std::size_t used = std::mbrtowc(&c, text.data(), text.size(), &state);
    if (used == 0 || used > text.size()) {
      text.remove_prefix(1);
      state = {};
      continue;
    }
    out += c;
    text.remove_prefix(used);
  }
  return out;
}

std::string narrow(std::wstring_view text) {
  std::string out;
  std::mbstate_t state{};
  for (const wchar_t c : text) {
    char bytes[MB_LEN_MAX];
    const std::size_t used = std::wcrtomb(bytes, c, &state);
    if (used != static_cast<std::size_t>(-1)) out.append(bytes, used);
  }
  return out;
}

// Terminals send line breaks of a paste as carriage returns.
std::string with_newlines(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    out += text[i] == '\r' ? '\n' : text[i];
  }
  return out;
}

// libedit writes a sequence between \1 only together with the character behind it: the style ends in front of the
// prompt's last one, a blank.
std::wstring in_style(std::wstring prompt, std::string_view style) {
  if (style.empty() || prompt.empty()) return prompt;
  const wchar_t last = prompt.back();
  prompt.pop_back();
  return L"\1\x1b[" + wide(style) + L"m\1" + prompt + L"\1\x1b[0m\1" + last;
}

class LineEditorImpl final : public LineEditor {
 public:
  explicit LineEditorImpl(Options options) : options_(std::move(options)), history_file_(options_.history_file) {}

  ~LineEditorImpl() override {
    const Utf8Here here(utf8_);
    if (editor_ != nullptr) library_.end(editor_);
    if (history_ != nullptr) library_.history_end(history_);
    if (utf8_ != locale_t{}) ::freelocale(utf8_);
  }

  bool start() {
    if (!library_.load()) return false;
    utf8_ = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", locale_t{});
    if (utf8_ == locale_t{}) return false;
    const Utf8Here here(utf8_);
    for (File* file : {&in_, &out_, &err_}) {
      const int copy = ::fcntl(options_.terminal, F_DUPFD_CLOEXEC, 3);
      file->reset(copy < 0 ? nullptr : ::fdopen(copy, file == &in_ ? "r" : "w"));
      if (!*file) return false;
    }
    editor_ = library_.init("agentd", in_.get(), out_.get(), err_.get());
    history_ = library_.history_init();
    if (editor_ == nullptr || history_ == nullptr) return false;
    HistEventW event;
    library_.history(history_, &event, H_SETSIZE, static_cast<int>(kHistoryLines));
    library_.history(history_, &event, H_SETUNIQUE, 1);
    library_.wset(editor_, EL_CLIENTDATA, this);
    library_.wset(editor_, EL_EDITOR, L"emacs");
    library_.wset(editor_, EL_SIGNAL, 0);
    library_.wset(editor_, EL_HIST, library_.history, history_);
    library_.wset(editor_, EL_GETCFN, &LineEditorImpl::next_character);
    library_.wset(editor_, EL_PROMPT_ESC, &LineEditorImpl::prompt, L'\1');
    // Bindings as in shells: search backwards, and words with Alt and Ctrl.
    bind(L"^R", L"em-inc-search-prev");
    bind(L"\\e[1;5C", L"em-next-word");
    bind(L"\\e[1;5D", L"ed-prev-word");
    bind(L"\\e[3~", L"ed-delete-next-char");
    for (const wchar_t* const home : {L"\\e[H", L"\\eOH", L"\\e[1~", L"\\e[7~"}) bind(home, L"ed-move-to-beg");
    for (const wchar_t* const end : {L"\\e[F", L"\\eOF", L"\\e[4~", L"\\e[8~"}) bind(end, L"ed-move-to-end");
    library_.wset(editor_, EL_ADDFN, L"agentd-tidy", L"Keep pastes whole", &LineEditorImpl::keep_whole);
    bind(L"\\e[9999~", L"agentd-tidy");
    const std::string kept = history_file_.load();
    for (std::size_t begin = 0; begin < kept.size();) {
      const std::size_t end = std::min(kept.find('\n', begin), kept.size());
      remember(std::string_view(kept).substr(begin, end - begin));
      begin = end + 1;
    }
    return true;
  }

  std::optional<std::string> read(std::string_view prompt, std::string_view style) override {
    const Utf8Here here(utf8_);
    prompt_ = in_style(wide(prompt), style);
    (void)write_all(options_.terminal, kPastesOn);
    before_ = {};
    repairs_ = false;
    // libedit shows the prompt first: input before the change of mode was edited by the terminal, and its Ctrl-D is
    // ignored.
    library_.wset(editor_, EL_PREP_TERM, 1);
    int count = 0;
    const wchar_t* const line = library_.wgets(editor_, &count);
    (void)write_all(options_.terminal, kPastesOff);
    if (line == nullptr || count <= 0) {
      // The open line is dropped, as on a terminal's Ctrl-C.
      keys_.clear();
      unfinished_.clear();
      pastes_ = {};
      return std::nullopt;
    }
    std::string text = narrow({line, static_cast<std::size_t>(count)});
    while (text.ends_with('\n')) text.pop_back();
    if (pastes_.empty() && history_file_.may_keep(text)) {
      remember(text);
      read_.push_back(text);
    }
    return pastes_.expand(std::move(text));
  }

  void keep(const std::function<bool(std::string_view line)>& may) override {
    std::erase_if(read_, [&](const std::string& line) {
      const bool kept = may(line);
      if (kept) history_file_.add(line);
      return kept;
    });
  }
  void drop_lines() override { read_.clear(); }

  void prefill(std::string_view text) override {
    std::string whole = with_newlines(text);
    for (const std::string_view mark : {kPasteBegins, kPasteEnds})
      for (std::size_t at = 0; (at = whole.find(mark)) != std::string::npos;) whole.erase(at, mark.size());
    while (whole.ends_with('\n')) whole.pop_back();
    if (!is_blank(whole)) keys_ += pastes_.add(std::move(whole));
  }

 private:
  static wchar_t* prompt(EditLine* editor) { return self_of(editor)->prompt_.data(); }
  static int next_character(EditLine* editor, wchar_t* out) { return self_of(editor)->next(out); }
  static LineEditorImpl* self_of(EditLine* editor) {
    void* data = nullptr;
    client_data(editor, EL_CLIENTDATA, &data);
    return static_cast<LineEditorImpl*>(data);
  }

  void bind(const wchar_t* key, const wchar_t* command) {
    library_.wset(editor_, EL_BIND, key, command, static_cast<const wchar_t*>(nullptr));
  }

  struct Line {
    std::wstring text;
    std::size_t cursor = 0;
  };
  Line line() const {
    const LineInfoW* const info = library_.line(editor_);
    return {{info->buffer, info->lastchar}, static_cast<std::size_t>(info->cursor - info->buffer)};
  }

  // An edit that moves the cursor out of a paste's placeholder, or deletes the remainder of one that was partly
  // deleted: `count` characters to delete at `begin`, and the cursor's place after that.
  struct Repair {
    std::size_t begin = 0, count = 0;
    std::size_t cursor = 0;
    std::string word;
  };
  std::optional<Repair> repair(const Line& now) const {
    for (const std::string& each : pastes_.words()) {
      const std::wstring word = wide(each);
      const std::size_t was = before_.text.find(word), is = now.text.find(word);
      if (is != std::wstring::npos && now.cursor > is && now.cursor < is + word.size())
        return Repair{0, 0, now.cursor > before_.cursor ? is + word.size() : is, {}};
      if (was == std::wstring::npos || is != std::wstring::npos) continue;
      if (auto out = left_over(now, was, word.size())) {
        out->word = each;
        return out;
      }
    }
    return std::nullopt;
  }

  // The edit that deletes the remainder of the placeholder at `word`; absent when all of it was deleted.
  std::optional<Repair> left_over(const Line& now, std::size_t word, std::size_t length) const {
    const std::wstring& before = before_.text;
    if (now.text.size() >= before.size()) return std::nullopt;
    const std::size_t deleted = before.size() - now.text.size();
    const auto differs = std::mismatch(now.text.begin(), now.text.end(), before.begin()).first;
    const auto cut = static_cast<std::size_t>(differs - now.text.begin());
    if (before.compare(cut + deleted, std::wstring::npos, now.text, cut) != 0) return std::nullopt;
    const std::size_t head = cut > word ? cut - word : 0;
    const std::size_t end = word + length;
    const std::size_t tail = end > cut + deleted ? end - std::max(word, cut + deleted) : 0;
    if (head + tail == 0) return std::nullopt;
    return Repair{cut - head, head + tail, cut - head, {}};
  }

  static unsigned char keep_whole(EditLine* editor, wint_t) {
    self_of(editor)->tidy();
    return CC_REFRESH;
  }
  void tidy() {
    const Line now = line();
    if (const auto wanted = repair(now)) {
      const auto to = [&](std::size_t place) {
        library_.move(editor_, static_cast<int>(place) - static_cast<int>(line().cursor));
      };
      to(wanted->begin + wanted->count);
      if (wanted->count != 0) library_.delete_before(editor_, static_cast<int>(wanted->count));
      to(wanted->cursor);
      pastes_.forget(wanted->word);
    }
    before_ = line();
    repairs_ = false;
  }

  // 1: a character; 0: the end of input; -1: a signal.
  int next(wchar_t* out) {
    if (!pastes_.empty() && !repairs_) {
      Line now = line();
      // A search is shown after a line break, and this key would end it.
      const bool searches = now.text.find(L'\n') != std::wstring::npos;
      repairs_ = !searches && repair(now).has_value();
      if (repairs_)
        keys_.insert(0, kTidy);
      else
        before_ = std::move(now);
    }
    for (;;) {
      std::mbstate_t state{};
      const std::size_t used =
          keys_.empty() ? static_cast<std::size_t>(-2) : std::mbrtowc(out, keys_.data(), keys_.size(), &state);
      if (used <= keys_.size() && used != 0) {
        keys_.erase(0, used);
        return 1;
      }
      if (used == 0 || used == static_cast<std::size_t>(-1)) {
        keys_.erase(0, 1);  // no character
        continue;
      }
      if (!wait_for_input(options_.terminal)) {
        errno = EINTR;
        return -1;
      }
      std::string bytes;
      if (!take(bytes)) return 0;
      sort_out(std::move(bytes));
    }
  }

  bool take(std::string& bytes) const {
    char buffer[4096];
    const ssize_t got = ::read(options_.terminal, buffer, sizeof buffer);
    if (got > 0) bytes.append(buffer, static_cast<std::size_t>(got));
    return got > 0;
  }

  // Keys, a marked paste, or a burst too fast for typing.
  void sort_out(std::string bytes) {
    bytes.insert(0, std::exchange(unfinished_, {}));
    std::string rest;
    std::string keys = known_keys(bytes, rest);
    // A key that was cut in two.
    while (!rest.empty() && input_within(options_.terminal, kSequenceMs)) {
      rest.clear();
      if (!take(bytes)) break;
      keys = known_keys(bytes, rest);
    }
    const std::size_t begin = bytes.find(kPasteBegins);
    if (begin != std::string::npos) {
      keys_ += known_keys(bytes.substr(0, begin), rest);
      return take_paste(bytes.substr(begin + kPasteBegins.size()));
    }
    const std::size_t line_end = bytes.find_first_of("\r\n");
    const bool several = line_end != std::string::npos && line_end + 1 < bytes.size();
    if (!several && keys.size() <= kTypedBytesMax) {
      keys_ += keys;
      unfinished_ = std::move(rest);
      return;
    }
    while (bytes.size() < kPasteBytesMax && input_within(options_.terminal, kBurstMs))
      if (!take(bytes)) break;
    std::string text = with_newlines(bytes);
    const bool sent = text.ends_with('\n');
    while (text.ends_with('\n')) text.pop_back();
    keys_ += pastes_.add(std::move(text));
    if (sent) keys_ += '\n';
  }

  void take_paste(std::string text) {
    std::size_t end = 0;
    while ((end = text.find(kPasteEnds)) == std::string::npos && text.size() < kPasteBytesMax) {
      if (!wait_for_input(options_.terminal) || !take(text)) return;
    }
    const std::string rest = end == std::string::npos ? std::string() : text.substr(end + kPasteEnds.size());
    keys_ += pastes_.add(with_newlines(text.substr(0, end)));
    if (!rest.empty()) sort_out(rest);
  }

  void remember(std::string_view line) {
    HistEventW event;
    library_.history(history_, &event, H_ENTER, wide(line).c_str());
  }

  const Options options_;
  const LineHistory history_file_;
  std::vector<std::string> read_;  // lines that are not in the file
  Library library_;
  locale_t utf8_ = locale_t{};
  File in_, out_, err_;
  EditLine* editor_ = nullptr;
  HistoryW* history_ = nullptr;
  std::wstring prompt_;
  std::string keys_;        // read and not yet given to libedit
  std::string unfinished_;  // the beginning of a key
  Line before_;             // as the key before left it, while there are pastes
  bool repairs_ = false;    // kTidy is on its way
  Pastes pastes_;
};

}  // namespace

std::unique_ptr<LineEditor> LineEditor::open(Options options) {
  if (!marks_pastes(options.term) || ::isatty(options.terminal) == 0) return nullptr;
  auto out = std::make_unique<LineEditorImpl>(std::move(options));
  if (!out->start()) return nullptr;
  return out;
}

std::string Pastes::add(std::string text) {
  const auto odd = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\x7f'; };
  if (text.size() <= kTypedBytesMax && std::none_of(text.begin(), text.end(), odd)) return text;
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  std::string word =
      "[pasted text " + std::to_string(++number_) + ", " + with_commas(lines) + (lines == 1 ? " line]" : " lines]");
  texts_[word] = std::move(text);
  return word;
}

std::vector<std::string> Pastes::words() const {
  std::vector<std::string> out;
  for (const auto& [word, text] : texts_) out.push_back(word);
  return out;
}

std::string Pastes::expand(std::string line) {
  // Each placeholder once, from the left; inserted texts are not searched again.
  std::string out;
  while (!texts_.empty()) {
    auto first = texts_.end();
    std::size_t at = std::string::npos;
    for (auto it = texts_.begin(); it != texts_.end(); ++it)
      if (const std::size_t found = line.find(it->first); found < at) {
        at = found;
        first = it;
      }
    if (first == texts_.end()) break;
    out += line.substr(0, at) + first->second;
    line.erase(0, at + first->first.size());
    texts_.erase(first);
  }
  texts_.clear();
  return out + line;
}

std::string LineHistory::load() const {
  if (file_.empty()) return {};
  std::string text = read_file(file_, kHistoryBytesMax).value_or("");
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  if (lines <= kHistoryLines) return text;
  std::size_t begin = 0;
  for (std::size_t skip = lines - kHistoryLines; skip > 0; --skip) begin = text.find('\n', begin) + 1;
  if (lines > 2 * kHistoryLines) (void)write_file_atomically(file_, text.substr(begin), 0600);
  return text.substr(begin);
}

bool LineHistory::may_keep(std::string_view line) const {
  if (is_blank(line) || line.front() == ' ' || line.size() > kHistoryLineBytes ||
      line.find('\n') != std::string_view::npos)
    return false;
  const Result<Scrubber> scrubber = Scrubber::make();
  const auto scrubbed = scrubber ? scrubber->scrub(line) : Result<Scrubbed>(scrubber.error());
  return scrubbed && scrubbed->findings.empty();
}

void LineHistory::add(std::string_view line) const {
  if (file_.empty()) return;
  const UniqueFd file(::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.valid()) (void)write_all(file.get(), std::string(line) + "\n");
}

}  // namespace agentd::app
