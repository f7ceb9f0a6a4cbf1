// SPDX-License-Identifier: Apache-2.0
// conversation_erase.cc - agentd conversation erase: lists where a text is, asks, and takes it out.
#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <csignal>

#include "core/agent/erasing.h"
#include "core/app/commands/commands.h"
#include "core/app/conversations.h"
#include "core/app/erased_files.h"
#include "core/app/exit_codes.h"
#include "core/app/keyboard.h"
#include "core/app/plugin_services.h"
#include "core/app/signals.h"
#include "core/app/table.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/conversation/erasure.h"
#include "core/runtime/runtime.h"
#include "core/runtime/secrets_setup.h"
#include "core/scrub/secrets.h"
#include "core/search/search.h"

namespace agentd::app {
namespace {

constexpr std::size_t kShownKeyBytes = 100, kReasonBytes = 4096;
constexpr std::string_view kNoTerminal =
    "nothing was erased: a person confirms on a terminal, and this process has none; --dry-run shows what would go";
constexpr std::size_t kMatchBytesMax = 1u << 20;
constexpr std::string_view kMemoryService = "agentd.memory/1";

// ---- the command line

Failure usage(std::string message) { return {kExitUsage, std::move(message)}; }

Result<SeqRange, Failure> range_of(const std::string& word) {
  SeqRange out;
  const char* const end = word.data() + word.size();
  auto read = std::from_chars(word.data(), end, out.first);
  out.last = out.first;
  if (read.ec == std::errc() && read.ptr != end && *read.ptr == '-')
    read = std::from_chars(read.ptr + 1, end, out.last);
  if (read.ec == std::errc() && read.ptr == end && out.first != 0 && out.last >= out.first) return out;
  return usage("'" + neutral_line(word, 40) +
               "' is no sequence: give a number, or two as in 3-7; 'agentd conversation "
               "show ID' has them");
}

// Secrets by the rules of the settings, and the placeholders that stay of them.
Result<std::vector<ErasedText>> secrets_in(const Secrets& secrets, std::string_view text) {
  AGENTD_TRY(const Scrubbed scrubbed, secrets.scrub(text));
  std::vector<ErasedText> out;
  for (const ScrubFinding& finding : scrubbed.findings)
    out.push_back({std::string(text.substr(finding.at, finding.length)), finding.mark});
  return out;
}

// Also where secrets.scrub is off: the user asks for it now.
Result<std::shared_ptr<const Secrets>, Failure> make_secrets(const App& app, const Arguments& arguments) {
  const auto config = app.config(arguments);
  if (!config) return usage(config.error().message);
  const auto home = app.home();
  if (!home) return usage(home.error().message);
  auto made = agentd::make_secrets(*config, secrets_key_file(*home));
  if (!made) return usage(made.error().message);
  return std::shared_ptr<const Secrets>(std::move(*made));
}

Result<std::string, Failure> match_of(const App& app, const Arguments& arguments) {
  std::string text = arguments.value("match");
  if (text == "-") {
    auto read = read_all(app.surroundings().input, kMatchBytesMax);
    if (!read) return usage("--match -: " + read.error().message);
    text = std::move(*read);
    if (text.ends_with('\n')) text.pop_back();
  }
  if (text.size() < kErasedTextMin)
    return usage("--match needs at least " + std::to_string(kErasedTextMin) +
                 " bytes: a shorter text is part of too many words; name the sequences instead");
  return text;
}

Result<EraseQuery, Failure> query_of(const App& app, const Arguments& arguments, const Ulid& conversation) {
  EraseQuery query;
  query.conversation = conversation;
  for (std::size_t i = 1; i < arguments.words().size(); ++i) {
    const auto range = range_of(arguments.words()[i]);
    if (!range) return range.error();
    query.ranges.push_back(*range);
  }
  if (arguments.has("match")) {
    auto text = match_of(app, arguments);
    if (!text) return text.error();
    query.texts.push_back({std::move(*text), std::string(kErasedText)});
  }
  if (arguments.has("scrub")) {
    AGENTD_TRY(const std::shared_ptr<const Secrets> secrets, make_secrets(app, arguments));
    query.find = [secrets](std::string_view text) { return secrets_in(*secrets, text); };
  }
  return query;
}

Result<void, Failure> check_erase_words(const Arguments& arguments) {
  int ways = arguments.words().size() > 1 ? 1 : 0;
  for (const char* const option : {"match", "scrub", "removed"}) ways += arguments.has(option) ? 1 : 0;
  if (ways == 0) return usage("say what goes: sequences, --match TEXT, --scrub or --removed");
  if (ways > 1) return usage("sequences, --match, --scrub and --removed exclude each other: erase twice");
  if (arguments.words().empty() && !arguments.has("removed"))
    return usage("name the conversation: 'agentd conversation list' has the ids");
  return {};
}

// The search for the texts that go, in the store as it is then.
struct WantedErasure {
  std::function<Result<ErasePlan>(const Store&)> plan;
  bool may_be_none = false;  // having found nothing is no failure
};
Result<WantedErasure, Failure> wanted_of(const App& app, const Arguments& arguments,
                                         const std::optional<Ulid>& conversation) {
  if (arguments.has("removed"))
    return WantedErasure{[conversation](const Store& store) { return plan_erase_removed(store, conversation); }, true};
  auto query = query_of(app, arguments, *conversation);
  if (!query) return query.error();
  const bool finds = query->find != nullptr;
  return WantedErasure{[query = std::move(*query)](const Store& store) { return plan_erase(store, query); }, finds};
}

// ---- the work

// Makes plugins forget the erased records; returns how many of their memories are gone.
Result<std::uint64_t> forget_memories(PluginServices& plugins, const Ulid& conversation,
                                      std::span<const std::uint64_t> seqs) {
  if (seqs.empty()) return std::uint64_t{0};
  JsonWriter input;
  input.begin_object().member("conversation_id", conversation.text()).key("seqs").begin_array();
  for (const std::uint64_t seq : seqs) input.number(seq);
  input.end_array().end_object();
  AGENTD_TRY(const std::string answer, plugins.call(kMemoryService, "forget", input.text()));
  AGENTD_TRY(const JsonDocument parsed, JsonDocument::parse(answer));
  return parsed.root()["erased"].uint_or(0);
}

std::vector<EraseListener> listeners_of(PluginServices* plugins) {
  if (plugins == nullptr || !plugins->offers(kMemoryService, "forget")) return {};
  return {{"memories", [plugins](const Ulid& conversation, std::span<const std::uint64_t> seqs) {
             return forget_memories(*plugins, conversation, seqs);
           }}};
}

class Erasing {
 public:
  // `plugins` forget as well; null = they could not be asked.
  Erasing(App& app, const Arguments& arguments, Store& store, std::string home, PluginServices* plugins)
      : app_(app), arguments_(arguments), store_(store), home_(std::move(home)), listeners_(listeners_of(plugins)) {}

  int run(const WantedErasure& wanted) {
    if (auto found = look(wanted); !found) return app_.fail(found.error().code, found.error().message);
    const bool any = !plan_.empty() || !keys_.empty() || !files_.empty();
    show_plan();
    if (arguments_.has("dry-run")) {
      if (!arguments_.has("json")) app_.out().line(any ? "nothing was changed" : "nothing has it");
      return show_problems() ? kExitFailure : kExitOk;
    }
    if (any) {
      auto leases = lease_all(store_, plan_);
      if (!leases) return app_.fail(store_exit(leases.error()), "nothing was erased: " + leases.error().message);
      leases_ = std::move(*leases);
      const auto yes = confirmed();
      if (!yes) return app_.fail(yes.error().code, yes.error().message);
      if (!*yes) return app_.fail(kExitFailure, "nothing was erased: you said no");
    }
    // By sequence the plan is empty only where all of it was erased before.
    return erase(wanted, any, wanted.may_be_none || plan_.whole);
  }

 private:
  bool json() const { return arguments_.has("json"); }

  Result<void, Failure> look(const WantedErasure& wanted) {
    auto plan = wanted.plan(store_);
    if (!plan)
      return Failure{plan.error().code == Code::kInvalid ? static_cast<int>(kExitUsage) : store_exit(plan.error()),
                     plan.error().message};
    plan_ = std::move(*plan);
    for (const ErasedText& each : plan_.texts) texts_.push_back(each.text);
    for (const Ulid& each : plan_.damaged)
      problems_.push_back("conversation " + each.text() +
                          " is damaged and was not looked through: 'agentd store check'");
    auto keys = keys_with(store_, plan_.texts);
    if (!keys) return Failure{store_exit(keys.error()), keys.error().message};
    keys_ = std::move(*keys);
    for (FileWithText& file : files_with(home_, texts_))
      if (!file.path.starts_with(home_ + "/store/")) files_.push_back(std::move(file));
    if (const auto config = app_.config(arguments_)) log_file_ = log_file(*config, home_);
    return {};
  }

  // ---- before

  void show_plan() {
    if (json()) {
      for (const PlannedPart& part : plan_.parts) print_json(part);
      for (const KeyWithText& key : keys_) print_key(key, false);
      return;
    }
    std::vector<std::vector<std::string>> rows;
    for (const PlannedPart& part : plan_.parts) {
      const std::string relation = part.relation.empty() ? "" : part.relation;
      for (const PlannedRecord& record : part.records)
        rows.push_back({part.conversation.text(), std::to_string(record.seq), record.kind, record.why, relation});
      for (const Digest& digest : part.attached)
        rows.push_back({part.conversation.text(), "-", "prompt", hex(digest).substr(0, 12), relation});
      if (!part.append.empty()) rows.push_back({part.conversation.text(), "-", "call", "does not run", relation});
      if (part.receipts != 0)
        rows.push_back({part.conversation.text(), "-", "receipts", with_commas(part.receipts), relation});
    }
    if (!rows.empty())
      app_.out().print(table_text({{"CONVERSATION"}, {"SEQ", true}, {"KIND"}, {"WHY"}, {"RELATION", false, true}}, rows,
                                  app_.out().columns()));
    for (const FileWithText& file : files_)
      app_.out().line(neutral_line(file.path, 4096) + ": " + counted(file.times, "time") + action_text(file.path));
    for (const KeyWithText& key : keys_)
      app_.out().line(key_text(key) + (arguments_.has("keys") ? "" : ": stays, --keys erases it"));
    if (plan_.too_short != 0)
      app_.err().line(counted(plan_.too_short, "finding") +
                      " too short to look for everywhere: name the sequences of such a secret");
    app_.err().flush();
  }
  static std::string key_text(const KeyWithText& key) {
    return "plugin " + neutral_line(key.space, kShownKeyBytes) + ", key " + neutral_line(key.key, kShownKeyBytes);
  }

  enum class Action { kStars, kLines, kRemove, kIndex, kStays };
  Action action_of(const std::string& path) const {
    if (path == home_ + "/chat_history") return Action::kLines;
    if (path.starts_with(home_ + "/transcripts/") || path.starts_with(home_ + "/spill/")) return Action::kRemove;
    if (path.starts_with(home_ + "/search.db")) return Action::kIndex;
    return path == log_file_ || path.starts_with(home_ + "/agentd.log") ? Action::kStars : Action::kStays;
  }
  std::string action_text(const std::string& path) const {
    switch (action_of(path)) {
      case Action::kStars:
        return ", overwritten in place";
      case Action::kLines:
        return ", its lines go";
      case Action::kRemove:
        return ", removed";
      case Action::kIndex:
        return ", removed; the next search builds it again";
      case Action::kStays:
        return ", stays: not a file that agentd may change";
    }
    return {};
  }

  void print_json(const PlannedPart& part) {
    for (const PlannedRecord& record : part.records) {
      JsonWriter out;
      out.begin_object().member("type", "planned").member("conversation_id", part.conversation.text());
      out.member("seq", record.seq).member("kind", record.kind).member("why", record.why);
      out.optional("relation", part.relation).end_object();
      app_.out().line(out.text());
    }
    for (const Digest& digest : part.attached) {
      JsonWriter out;
      out.begin_object().member("type", "planned").member("conversation_id", part.conversation.text());
      out.member("kind", "prompt").member("sha256", hex(digest)).optional("relation", part.relation).end_object();
      app_.out().line(out.text());
    }
    if (part.receipts == 0) return;
    JsonWriter out;
    out.begin_object().member("type", "planned").member("conversation_id", part.conversation.text());
    out.member("kind", "receipts").member("count", part.receipts).optional("relation", part.relation).end_object();
    app_.out().line(out.text());
  }
  void print_key(const KeyWithText& key, bool erased) {
    JsonWriter out;
    out.begin_object().member("type", "key").member("space", key.space).member("key", key.key);
    out.member("erased", erased).end_object();
    app_.out().line(out.text());
  }

  // On the controlling terminal, whatever standard input is: a command of a tool has none.
  Result<bool, Failure> confirmed() {
    const UniqueFd terminal(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
    if (!terminal.valid()) return usage(std::string(kNoTerminal));
    app_.out().flush();
    std::uint64_t records = 0, receipts = 0;
    for (const PlannedPart& part : plan_.parts) {
      records += part.records.size();
      receipts += part.receipts;
    }
    const std::string body =
        counted(records, "record") + (receipts == 0 ? "" : " and " + counted(receipts, "receipt")) + " of " +
        counted(plan_.parts.size(), "conversation") + " would lose text. Nothing brings it back.\n";
    const auto write = [&](std::string_view text) { return write_all(terminal.get(), text).has_value(); };
    const bool pastes = marks_pastes(app_.surroundings().environment("TERM").value_or(""));
    int signal = 0;
    bool yes = false;
    {
      const SignalScope signals;
      const Result<std::string> answer =
          ask_person({terminal.get(), write, pastes, {}}, body, "Erase it permanently? [y/N] ");
      yes = answer && parse_answer(*answer).kind == Answer::Kind::kYes;
      signal = signals.caught();
    }
    if (signal != 0) return Failure{signal_exit(signal), "interrupted: nothing was erased"};
    return yes;
  }

  // ---- during

  // `may_be_none`: having found nothing is no failure.
  int erase(const WantedErasure& wanted, bool any, bool may_be_none) {
    const Result<void> erased = carry_out(store_, plan_, listeners_, done_);
    if (!erased) {
      const std::string before = done_.parts.empty()
                                     ? "nothing was erased: "
                                     : counted(done_.parts.size(), "conversation") + " of " +
                                           std::to_string(plan_.parts.size()) + " erased, give the command again: ";
      show_parts();
      return app_.fail(store_exit(erased.error()), before + erased.error().message);
    }
    // Some are gone with what was forgotten.
    if (auto keys = keys_with(store_, plan_.texts)) keys_ = std::move(*keys);
    erase_keys();
    clean_files();
    forget_index();
    // Also when nothing has it: an earlier erasure may have ended before this.
    const auto wiped = store_.wipe();
    if (!wiped) problems_.push_back("the freed pages of the store were not overwritten: " + wiped.error().message);
    if (wiped) wiped_ = *wiped;
    leases_.clear();
    if (any) look_again(wanted);
    show_parts();
    return show_end(any, may_be_none);
  }

  void erase_keys() {
    if (!arguments_.has("keys")) return;
    for (const KeyWithText& key : keys_) {
      const std::vector<KeyOp> ops{{KeyOp::Kind::kErase, key.key, {}, KeyOp::kAny}};
      if (const auto gone = store_.commit_keys(key.space, ops); !gone)
        problems_.push_back(key_text(key) + ": " + gone.error().message);
      else
        ++keys_erased_;
    }
  }

  void clean_files() {
    const auto note = [this](const auto& result) {
      if (!result) problems_.push_back(result.error().message);
      if (result) ++files_changed_;
    };
    for (const FileWithText& file : files_) {
      const Action action = action_of(file.path);
      if (action == Action::kStars) note(star_out(file.path, texts_));
    }
    const std::string history = home_ + "/chat_history";
    if (::access(history.c_str(), F_OK) == 0) {
      const auto lines = remove_lines(history, texts_, plan_.said);
      if (!lines || *lines != 0) note(lines);
    }
    // Written again at the next event that wants one. By sequence those of all relatives: short texts are not looked
    // for, and an earlier command may have ended before this.
    std::vector<Ulid> changed = plan_.looked_at;
    if (!plan_.whole) changed.clear();
    for (const PlannedPart& part : plan_.parts) changed.push_back(part.conversation);
    for (const Ulid& each : changed) {
      const std::string transcript = home_ + "/transcripts/" + each.text() + ".jsonl";
      if (::access(transcript.c_str(), F_OK) == 0) note(overwrite_and_remove(transcript));
    }
    for (const FileWithText& file : files_)
      if (action_of(file.path) == Action::kRemove && ::access(file.path.c_str(), F_OK) == 0)
        note(overwrite_and_remove(file.path));
  }

  // A fork needs no lease: one that was made while the person was asked is not in the plan, and neither is what another
  // process has appended elsewhere.
  void look_again(const WantedErasure& wanted) {
    const bool is_in_its_place = std::any_of(texts_.begin(), texts_.end(), [](const std::string& text) {
      return kErasedText.find(text) != std::string_view::npos;
    });
    const auto now = is_in_its_place ? Error{Code::kInvalid, ""} : wanted.plan(store_);
    if (!now) return;
    for (const PlannedPart& part : now->parts)
      problems_.push_back(
          "conversation " + part.conversation.text() +
          " has the text, because it was forked or continued after the list was made: give the command again");
  }

  // It has its own form of the texts, so that looking for them says nothing.
  void forget_index() {
    const bool there = ::access((home_ + "/search.db").c_str(), F_OK) == 0;
    if (const auto gone = forget_search_index(home_, app_.clock()); !gone)
      problems_.push_back("the erased text stays in the search index until the next search: " + gone.error().message);
    else if (there)
      ++files_changed_;
  }

  // ---- after

  void show_parts() {
    for (const ErasedPart& part : done_.parts) {
      const EraseReport& report = part.report;
      if (json()) {
        JsonWriter out;
        out.begin_object().member("type", "erased").member("conversation_id", part.conversation.text());
        out.member("records", report.records).member("prompts", report.texts).member("receipts", report.receipts);
        out.member("revision", report.revision).end_object();
        app_.out().line(out.text());
      } else {
        app_.out().line("erased from " + part.conversation.text() + ": " + counted(report.records, "record") + ", " +
                        counted(report.texts, "prompt") + ", " + counted(report.receipts, "receipt"));
      }
    }
  }

  int show_end(bool any, bool may_be_none) {
    const std::vector<FileWithText> left = files_with(home_, texts_);
    for (const std::string& failed : done_.failed) problems_.push_back(failed);
    if (wiped_.pages_left != 0)
      problems_.push_back(counted(wiped_.pages_left, "freed page") +
                          " of the store could not be overwritten, because another process reads an older state: give "
                          "the command again when it has ended");
    if (json()) {
      for (const KeyWithText& key : keys_) print_key(key, arguments_.has("keys"));
      for (const FileWithText& file : left) {
        JsonWriter out;
        out.begin_object().member("type", "left").member("path", file.path).member("times", file.times).end_object();
        app_.out().line(out.text());
      }
      JsonWriter out;
      out.begin_object().member("type", "result").member("conversations", std::uint64_t{done_.parts.size()});
      out.member("files", files_changed_).member("keys", keys_erased_).member("bytes_overwritten", wiped_.bytes);
      out.key("forgotten").begin_object();
      for (const auto& [name, count] : done_.forgotten) out.member(name, count);
      out.end_object().member("left", std::uint64_t{left.size()}).end_object();
      app_.out().line(out.text());
    } else {
      for (const auto& [name, count] : done_.forgotten)
        app_.out().line("forgotten: " + with_commas(count) + " " + name);
      if (files_changed_ != 0) app_.out().line("changed: " + counted(files_changed_, "file"));
      if (keys_erased_ != 0) app_.out().line("erased: " + counted(keys_erased_, "key") + " of plugins");
      app_.out().line("overwritten: " + with_commas(wiped_.bytes) + " freed bytes of the store");
      for (const FileWithText& file : left)
        app_.out().line("still there: " + neutral_line(file.path, 4096) + ", " + counted(file.times, "time") +
                        (file.path.starts_with(home_ + "/store/") ? left_in_store() : ""));
      if (any)
        app_.out().line(
            "not reached: exports, backups, other copies, the providers that it was sent to, and old blocks of the "
            "disk.\nThe digests of the erased records stay, and confirm a guess: change a secret.");
    }
    if (show_problems()) return kExitFailure;
    if (any || may_be_none) return kExitOk;
    return app_.fail(kExitNotFound, "no record, file or key has that text");
  }
  bool show_problems() {
    app_.out().flush();
    for (const std::string& problem : problems_) app_.err().line("agentd: " + neutral_line(problem, 4096));
    app_.err().flush();
    return !problems_.empty();
  }
  std::string left_in_store() const {
    return keys_.size() > keys_erased_ ? ": in keys of plugins (--keys erases them), or in other conversations"
                                       : ": in other conversations, or in the name of a directory";
  }

  App& app_;
  const Arguments& arguments_;
  Store& store_;
  const std::string home_;
  std::string log_file_;
  const std::vector<EraseListener> listeners_;  // who has made something of a conversation
  ErasePlan plan_;
  std::vector<std::string> texts_;
  std::vector<KeyWithText> keys_;
  std::vector<FileWithText> files_;
  std::vector<std::unique_ptr<Lease>> leases_;
  ErasedAll done_;
  WipeReport wiped_;
  std::uint64_t files_changed_ = 0, keys_erased_ = 0;
  std::vector<std::string> problems_;
};

bool has_terminal() { return UniqueFd(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)).valid(); }

}  // namespace

int erase_command(App& app, const Arguments& arguments) {
  if (auto checked = check_erase_words(arguments); !checked)
    return app.fail(checked.error().code, checked.error().message);
  const auto home = app.home();
  if (!home) return app.fail(kExitUsage, home.error().message);
  const auto open = [&]() -> Result<FoundConversation, Failure> {
    if (!arguments.words().empty()) return existing_conversation(app, arguments.words()[0]);
    auto store = existing_store(app);
    if (!store) return store.error();
    if (*store == nullptr) return Failure{kExitNotFound, "no conversation is stored yet"};
    return FoundConversation{std::move(*store), {}};
  };
  auto found = open();
  if (!found) return app.fail(found.error().code, found.error().message);
  const std::optional<Ulid> conversation =
      arguments.words().empty() ? std::optional<Ulid>() : std::optional<Ulid>(found->id);
  const auto wanted = wanted_of(app, arguments, conversation);
  if (!wanted) return app.fail(wanted.error().code, wanted.error().message);
  if (!arguments.has("dry-run") && !has_terminal()) return app.fail(kExitUsage, kNoTerminal);
  if (arguments.has("dry-run")) return Erasing(app, arguments, *found->store, *home, nullptr).run(*wanted);
  // A process opens a store once.
  found->store.reset();
  const auto plugins = PluginServices::open(app, arguments);
  if (plugins) return Erasing(app, arguments, (*plugins)->store(), *home, plugins->get()).run(*wanted);
  app.err().line("agentd: memories are not asked to forget: " + neutral_line(plugins.error().message, kReasonBytes));
  const auto again = open();
  if (!again) return app.fail(again.error().code, again.error().message);
  const int code = Erasing(app, arguments, *again->store, *home, nullptr).run(*wanted);
  return code == kExitOk ? static_cast<int>(kExitFailure) : code;
}

}  // namespace agentd::app
