// SPDX-License-Identifier: Apache-2.0
// services: a hook for the tests that asks the host for everything that it offers and says what it got, one line
// an answer. Nothing in the lines depends on time or place, so that two runs can be compared.
#include <agentd/hook.hpp>
#include <agentd/tasks.hpp>

#include <atomic>
#include <memory>
#include <string>

namespace {

using agentd::status_text;

// What was asked and what came: "store.get: ok one".
class Lines {
 public:
  template <typename... Words>
  void say(std::string_view what, agentd_status status, Words&&... words) {
    text_.append(what).append(": ").append(status_text(status));
    ((text_.append(" ").append(word(words))), ...);
    text_.append("\n");
  }
  const std::string& text() const { return text_; }

 private:
  static std::string word(std::string_view text) { return std::string(text); }
  static std::string word(const std::string& text) { return text; }
  static std::string word(const char* text) { return text; }
  static std::string word(std::uint64_t number) { return std::to_string(number); }

  std::string text_;
};

void ask_store(const agentd::context& c, Lines& lines) {
  const auto store = c.store();
  lines.say("get before", store.get("a").status());
  const auto first = store.put("a", "one", AGENTD_KV_ABSENT);
  lines.say("put", first.status());
  lines.say("put again", store.put("a", "two", AGENTD_KV_ABSENT).status());
  const auto got = store.get("a");
  lines.say("get", got.status(), got->value(), got->version() == *first ? "its version" : "another");
  const std::string long_text(200'000, 'x');
  lines.say("put long", store.put("long", long_text).status());
  const auto back = store.get("long");
  lines.say("get long", back.status(), back->value() == long_text ? "the same" : "another");
  const auto both = store.commit({agentd::kv_put("b", "three"), agentd::kv_check("a", *first)});
  lines.say("commit", both.status());
  const auto none = store.commit({agentd::kv_put("c", "four"), agentd::kv_check("a", *first + 100)});
  lines.say("commit none", none.status(), status_text(store.get("c").status()));
  std::string keys;
  const auto page = store.scan("", "a", 2);
  for (const auto row : *page) keys += std::string(row.key()) + ",";
  lines.say("scan", page.status(), keys);
  lines.say("erase", store.erase("b").status());
  lines.say("get erased", store.get("b").status());
  lines.say("blob", store.read_blob("no such blob", 0, 10).status());
}

// The id of the conversation whose messages follow.
std::string ask_conversations(const agentd::context& c, Lines& lines) {
  const auto store = c.store();
  const auto all = store.conversations({.limit = 10});
  lines.say("conversations", all.status(), all->size());
  const std::string id = all->empty() ? std::string() : std::string((*all)[0].conversation_id());
  const auto none = store.conversations({.text = "no such title", .limit = 10});
  lines.say("conversations by title", none.status(), none->size());
  const auto changed = store.changes(0, 10);
  const auto later = store.changes(changed->next, 10);
  lines.say("changes", changed.status(), changed->changed.size(), status_text(later.status()), later->changed.size());
  for (const std::uint32_t scope : {AGENTD_SCOPE_VIEW, AGENTD_SCOPE_LOG}) {
    const auto messages = store.messages(id, scope);
    std::string texts;
    for (const auto message : *messages)
      for (const auto block : message.blocks())
        texts += "[" + std::string(block.name()) + std::string(block.text()) + std::string(block.json()) + "]";
    lines.say(scope == AGENTD_SCOPE_VIEW ? "view" : "log", messages.status(), messages->size(), texts);
  }
  lines.say("messages of no one", store.messages("no such conversation").status());
  return id;
}

void ask_compactor(const agentd::context& c, const std::string& id, Lines& lines) {
  const auto compactor = c.compactor();
  const auto messages = c.store().messages(id);
  const auto count = compactor.count("hello, world");
  lines.say("count", count.status(), *count);
  const auto all = compactor.count(*messages);
  lines.say("count messages", all.status(), *all);
  const auto prompt = compactor.prompt({.instructions = "Keep the numbers."});
  lines.say("prompt", prompt.status(), std::string_view(*prompt).ends_with("Keep the numbers.") ? "with" : "without");
  // Without the message that calls this tool: its call has no result yet.
  const agentd_list ended{messages->raw().first, messages->raw().count - 1, messages->raw().stride};
  const auto own = compactor.compact(agentd::message_list(ended), {.strategy = AGENTD_STRATEGY_FULL});
  lines.say("compact own", own.status(), own->summary());
  const auto range = compactor.compact((*messages)[0].seq(), (*messages)[messages->size() - 2].seq(),
                                       {.strategy = AGENTD_STRATEGY_FULL});
  lines.say("compact range", range.status(), range->summary());
  lines.say("request of no one", compactor.request("no such conversation"));
}

void ask_threads(const agentd::context& c, Lines& lines) {
  const auto factory = c.threads();
  auto opened = factory.open({.system = "You are brief."});
  lines.say("open", opened.status());
  for (const char* const text : {"how much is one and one?", "and two and two?"}) {
    const auto reply = opened->send(text);
    lines.say("send", reply.status(), reply->text());
  }
  const auto failed = opened->send("does it fail?");
  lines.say("send that fails", failed.status());
  const auto spent = opened->usage();
  lines.say("usage", spent.status(), spent->input(), spent->output());
  opened->close();
  lines.say("send after close", opened->send("still there?").status());
  const auto poor = factory.open({.budget_tokens = 3});
  lines.say("poor", poor.status());
  lines.say("poor send", poor->send("a question of more tokens than it has").status());
}

}  // namespace

struct Services {
  static constexpr std::string_view hook_requires[] = {
      agentd::id::tools,     agentd::id::json,  agentd::id::field,         agentd::id::tasks,
      agentd::id::compactor, agentd::id::store, agentd::id::thread_factory};

  explicit Services(agentd::init& from)
      : tools_(from.query<agentd_tools>(AGENTD_TOOLS_ID)),
        tasks_(from),
        name_(from.field_key("tool_name")),
        argument_(from.field_key("list.1.x")),
        missing_(from.field_key("no.such.field")) {
    constexpr std::string_view kSchema = R"({"type":"object"})";
    (void)from.add_tool<&Services::probe>({.name = "probe", .input_schema = kSchema, .tag = 1});
    (void)from.add_tool<&Services::later>({.name = "later", .input_schema = kSchema, .tag = 2});
    config_ = std::string(from.config_json());
    from.log_info("services was created");
  }

  agentd_status probe(agentd::call& c, agentd::tool_view tool) {
    Lines lines;
    const auto argument = c.field(argument_);
    lines.say("argument", argument.status(), *argument, status_text(c.field(missing_).status()));
    const auto input = c.json();
    lines.say("input", input.status(), *input == tool.input_json() ? "the same" : "another");
    lines.say("reader", AGENTD_OK, tool.input().text("path"), tool.input()["list"][1].text("x"));
    lines.say("config", AGENTD_OK, config_);
    ask_store(c, lines);
    const std::string id = ask_conversations(c, lines);
    ask_compactor(c, id, lines);
    ask_threads(c, lines);
    add_another_tool(c, lines);
    c.log_info("the probe has asked");
    return c.output(lines.text());
  }

  // Answers from a thread of its own, by a token of its own and by that of the call.
  agentd_status later(agentd::call& c, agentd::tool_view) {
    auto answer = std::make_shared<agentd::pending>(c.defer());
    auto started = tasks_.start("later", [answer](agentd::task_view task) {
      Lines lines;
      auto scope = task.host().open_scope();
      lines.say("scope", scope.status());
      lines.say("put from a scope", scope->store().put("task", "done").status());
      const auto got = scope->store().get("task");
      lines.say("get from a scope", got.status(), got->value());
      auto thread = answer->threads().open({.system = "From a task."});
      const auto reply = thread->send("are you there?");
      lines.say("send from a task", reply.status(), reply->text());
      answer->output(lines.text());
      answer->complete();
    });
    if (!started) return c.fail(started.status(), "no task");
    task_ = std::move(*started);
    return AGENTD_OK;
  }

  void on_before_tool_call(agentd::call& c, agentd::tool_view tool) {
    if (tool.name() != "probe") return;
    const auto name = c.field(name_);
    const auto json = c.json();
    Lines lines;
    lines.say("field", name.status(), *name, status_text(c.field(missing_).status()));
    lines.say("json", json.status(), json->find("\"tool_name\":\"probe\"") != json->npos ? "has it" : "has it not");
    c.inject_context(lines.text());
  }

  // The host has asked for a summary: it cannot be asked for another.
  void on_before_compaction(agentd::call& c) {
    Lines lines;
    lines.say("compact in compaction", c.compactor().compact().status());
    c.system_message(lines.text());
  }

  void on_agent_stop(agentd::call& c, agentd::stop_view) {
    if (asked_.exchange(true)) return;
    Lines lines;
    const auto whole = c.compactor().compact({.strategy = AGENTD_STRATEGY_FULL});
    lines.say("compact", whole.status(), whole->summary());
    lines.say("request", c.compactor().request(c.envelope().conversation_id()));
    c.system_message(lines.text());
  }

 private:
  void add_another_tool(const agentd::context& c, Lines& lines) {
    auto row = agentd::sized<agentd_tool>();
    row.name = agentd::as_str("another");
    row.description = agentd::as_str("answers");
    row.input_schema_json = agentd::as_str(R"({"type":"object"})");
    row.fn = &Services::another;
    lines.say("add", tools_->add(tools_, c.token(), &row));
    lines.say("add again", tools_->add(tools_, c.token(), &row));
    row.name = agentd::as_str("brief");
    lines.say("add brief", tools_->add(tools_, c.token(), &row));
    lines.say("remove", tools_->remove(tools_, c.token(), agentd::as_str("brief")));
    lines.say("remove again", tools_->remove(tools_, c.token(), agentd::as_str("brief")));
  }
  static agentd_status AGENTD_CALL another(void*, const agentd_call* raw) noexcept {
    agentd::call c(*raw, nullptr);
    return c.output("another was called");
  }

  const agentd_tools* tools_;
  agentd::tasks tasks_;
  agentd::field_key name_, argument_, missing_;
  std::string config_;
  std::atomic<bool> asked_{false};
  agentd::task task_;
};
AGENTD_HOOK(Services, "test.services", "1.0.0")
