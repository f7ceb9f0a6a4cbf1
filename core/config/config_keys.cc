// SPDX-License-Identifier: Apache-2.0
#include "core/config/config_keys.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

namespace agentd {
namespace {

constexpr double kMany = 1e12;

constexpr KeySpec kKeys[] = {
    {"provider", ValueType::kText, "anthropic",
     "Who answers: a provider of models, or scripted, which replays a file. A model's name may name it too: "
     "openai/gpt-6.1-sol. Unset, a model that the table knows goes to its vendor.",
     "anthropic|openai|google|deepseek|mistral|groq|xai|openrouter|ollama|lmstudio|llamacpp|vllm|scripted"},
    {"model", ValueType::kText, "", "The model's name; empty means the provider's default."},
    {"fallback", ValueType::kList, "",
     "Models that are asked in this order, each as VENDOR/NAME or a name of the same provider, when the one before is "
     "overloaded, limited, broken, not to be reached or out of credit. Hooks judge each of them anew."},
    {"models.aliases.*", ValueType::kText, "",
     "The model that a name of yours stands for, as VENDOR/NAME or a name of the same provider; good wherever a model "
     "is named. Hooks and records have the model's own name."},
    {"base_url", ValueType::kText, "", "Where the provider is reached; empty means its public address."},
    {"max_output_tokens", ValueType::kWhole, "16384", "The longest answer that is asked for.", {}, 1, kMany},
    {"thinking_tokens",
     ValueType::kWhole,
     "0",
     "Budget for models that think within a budget; 0 means that they do not think. For other "
     "models it "
     "is turned into an effort.",
     {},
     0,
     kMany},
    {"effort", ValueType::kChoice, "default",
     "How hard the model thinks; default: as the provider has it; none: as little as the model "
     "can. What "
     "a model takes: 'agentd models'.",
     "default|none|low|medium|high|xhigh|max"},
    {"context_window",
     ValueType::kWhole,
     "0",
     "The model's window in tokens; 0 means what the model table says (models.yaml, 'agentd "
     "models').",
     {},
     0,
     kMany},
    {"tokens.counter", ValueType::kChoice, "auto",
     "How tokens are counted before the provider reports them. simple: bytes / 4; bpe: byte pairs, "
     "by the "
     "encoding of the model table (cl100k_base without one); auto: bpe for models with an encoding "
     "in the "
     "table, else simple.",
     "auto|simple|bpe"},
    {"system_prompt_file", ValueType::kText, "", "A file whose text replaces the built-in system prompt."},
    {"instructions", ValueType::kBool, "true",
     "AGENTS.md, or CLAUDE.md where there is none, is sent along: of agentd's home, of every directory from the "
     "project's root down to the current one, and of those whose files tools touch; with what it imports "
     "(docs/reference/instructions.md)."},
    {"max_turns", ValueType::kWhole, "0", "Turns of one run; 0 means no limit.", {}, 0, 1e6},

    {"budget.run_usd",
     ValueType::kFraction,
     "0",
     "US dollars that a run may cost, with its subagents, summaries and hooks' threads; 0 means no limit. The most "
     "that a request can cost is set aside before it is sent; a model without a price is not asked.",
     {},
     0,
     1e6},
    {"budget.run_tokens",
     ValueType::kWhole,
     "0",
     "Tokens that a run may send and receive, those read from a cache included; 0 means no limit.",
     {},
     0,
     kMany},
    {"budget.conversation_usd",
     ValueType::kFraction,
     "0",
     "US dollars that all runs of one conversation may cost together; 0 means no limit. A run that goes on with it has "
     "what is left.",
     {},
     0,
     1e6},
    {"budget.conversation_tokens",
     ValueType::kWhole,
     "0",
     "Tokens that all runs of one conversation may send and receive together; 0 means no limit.",
     {},
     0,
     kMany},
    {"budget.day_usd",
     ValueType::kFraction,
     "0",
     "US dollars that all runs of a day (UTC) may cost together; 0 means no limit.",
     {},
     0,
     1e6},
    {"budget.day_tokens",
     ValueType::kWhole,
     "0",
     "Tokens that all runs of a day (UTC) may send and receive together; 0 means no limit.",
     {},
     0,
     kMany},
    {"budget.hook_call_tokens",
     ValueType::kWhole,
     "1000000",
     "Tokens that the model calls of one plugin - its summaries and threads - may send and receive within one call of "
     "the plugin; the request that would pass it is refused. 0 means no limit.",
     {},
     0,
     kMany},
    {"budget.hook_run_tokens",
     ValueType::kWhole,
     "5000000",
     "The same within one run, whatever calls of the plugin it was in.",
     {},
     0,
     kMany},

    {"compaction.auto", ValueType::kBool, "true",
     "Whether a full context is compacted by itself; off leaves `agentd compact` and overflow."},
    {"compaction.checkpoint_at",
     ValueType::kFraction,
     "0.70",
     "The fill at which hooks hear context_threshold.",
     {},
     0.01,
     1},
    {"compaction.compact_at", ValueType::kFraction, "0.80", "The fill at which the context is compacted.", {}, 0.01, 1},
    {"compaction.force_at",
     ValueType::kFraction,
     "0.95",
     "The fill at which a hook's veto no longer counts.",
     {},
     0.01,
     1},
    {"compaction.strategy", ValueType::kChoice, "default",
     "full: one summary; tail: a summary and the newest messages; users: also all user texts; "
     "default: tail "
     "when automatic, full on request.",
     "default|full|tail|users"},
    {"compaction.keep_percent",
     ValueType::kWhole,
     "40",
     "How much of the window the newest messages may keep, in percent.",
     {},
     1,
     90},
    {"compaction.model", ValueType::kText, "", "The model that summarises; empty means the provider's cheap one."},
    {"compaction.summary_tokens",
     ValueType::kWhole,
     "4096",
     "How many tokens a summary may have. One that is longer is asked for once more, shorter; what "
     "is cut then, too, is no summary on request, and is applied as degraded when the context is "
     "full.",
     {},
     256,
     1e6},
    {"compaction.output_reserve",
     ValueType::kWhole,
     "16384",
     "Tokens of the window that are kept free for the answer.",
     {},
     0,
     kMany},

    {"recipes.project_compact", ValueType::kBool, "false",
     "Whether a trusted project's own recipe compact takes the place of yours."},

    {"hooks.dirs",
     ValueType::kList,
     "",
     "More directories with hooks, beside /etc/agentd/hooks and hooks in the home directory; one "
     "that does not exist is a warning.",
     {},
     0,
     0,
     true},
    {"hooks.disable", ValueType::kList, "", "Names or globs of hooks that are not loaded.", {}, 0, 0, true},
    {"hooks.allow",
     ValueType::kList,
     "",
     "Names or globs of the hooks that may be loaded; empty means all. hooks.disable beats it, and "
     "the bundled "
     "tools need none.",
     {},
     0,
     0,
     true},
    {"hooks.order", ValueType::kList, "",
     "Names in the order in which they are asked; \"*\" stands for the others. Beats priority."},
    {"hooks.trace", ValueType::kBool, "false", "Whether every answer of a hook is shown with its time."},
    {"hooks.isolation", ValueType::kChoice, "process",
     "Where native hooks run that are not bundled: in a process of their own, in one for each "
     "conversation, or "
     "in agentd itself, whose memory they then share.",
     "process|in-process|process-per-conversation"},
    {"hooks.worker_memory_mb",
     ValueType::kWhole,
     "512",
     "How many MiB of memory the process of one hook may take.",
     {},
     16,
     1'048'576},
    {"hooks.deadline_ms",
     ValueType::kWhole,
     "30000",
     "How long a hook may take that names no time, unless its dialect has one.",
     {},
     1,
     3.6e6},
    {"hooks.max_calls",
     ValueType::kWhole,
     "0",
     "Calls that one hook gets in one run; 0 means no limit. One that is over a limit is not asked any more, which is "
     "told once; one that fails closed fails.",
     {},
     0,
     1e9},
    {"hooks.max_seconds",
     ValueType::kWhole,
     "0",
     "Seconds that the calls of one hook may take in one run, together.",
     {},
     0,
     1e9},
    {"hooks.max_children",
     ValueType::kWhole,
     "0",
     "Processes of one hook that may have to be ended in one run, because they outlived its call.",
     {},
     0,
     1e9},
    {"hooks.guards",
     ValueType::kList,
     "",
     "Names of hooks, or of their files, that fail closed: one that is missing, broken or not trusted blocks.",
     {},
     0,
     0,
     true},
    {"hooks.adapt",
     ValueType::kList,
     "",
     "Settings of other tools whose hooks run in place: PATH, or DIALECT:PATH; yours must be there and readable, and "
     "what of them is not carried over is told. A mistake where something can be blocked stops the run.",
     {},
     0,
     0,
     true},
    {"hooks.allow_hosts",
     ValueType::kList,
     "",
     "Hosts beside this machine that webhooks may reach: name, *.domain or name:port.",
     {},
     0,
     0,
     true},
    {"hooks.pass_environment",
     ValueType::kList,
     "",
     "Variables of agentd's own environment that hooks get beside PATH, HOME and the like.",
     {},
     0,
     0,
     true},
    {"hooks.dev", ValueType::kBool, "false",
     "Whether changed hooks in your own directories run without 'agentd hooks trust'."},
    {"hooks.*.enabled", ValueType::kBool, "",
     "Switches one hook on or off; bundled hooks need it to run. On under a name that no hook has "
     "is an error."},
    {"hooks.*.config", ValueType::kAny, "", "What the hook gets as its own configuration."},
    {"hooks.*.grant", ValueType::kList, "",
     "What the hook gets of what its manifest asks for: compactor, thread_factory, store (in your "
     "own directories "
     "usual unless this is set), agentd.workspace/1, agentd.process/1, and a project's hook its "
     "capabilities."},
    {"hooks.*.on_failure", ValueType::kChoice, "", "What a failure of the hook means: open goes on, closed blocks.",
     "open|closed"},
    {"hooks.*.authority", ValueType::kChoice, "",
     "Whether the hook's veto of a compaction holds when the window is nearly full: final, or the "
     "third "
     "in a row no longer counts.",
     "normal|final"},
    {"hooks.*.isolation", ValueType::kChoice, "", "Where this hook runs; beats hooks.isolation, for bundled hooks too.",
     "process|in-process|process-per-conversation"},
    {"hooks.*.sandbox", ValueType::kChoice, "",
     "What the hook's own process may do: what its manifest asks for, which is usual, or all that "
     "you may.",
     "manifest|off"},
    {"hooks.*.shadow", ValueType::kBool, "", "Whether the hook is asked and traced, and its verdict not used."},
    {"hooks.*.priority",
     ValueType::kWhole,
     "",
     "The hook's place among the others: a higher one is asked earlier.",
     {},
     -32768,
     32767},
    {"hooks.*.max_calls",
     ValueType::kWhole,
     "",
     "The hook's own limit, or that of each hook of a file, instead of hooks.max_calls.",
     {},
     0,
     1e9},
    {"hooks.*.max_seconds", ValueType::kWhole, "", "The hook's own limit, instead of hooks.max_seconds.", {}, 0, 1e9},
    {"hooks.*.max_children", ValueType::kWhole, "", "The hook's own limit, instead of hooks.max_children.", {}, 0, 1e9},
    {"hooks.*.timeout_ms",
     ValueType::kWhole,
     "",
     "How long the hook may take, whatever the event allows.",
     {},
     1,
     3.6e6},

    {"agents.enabled", ValueType::kBool, "false", "Whether the model is offered the tool task, which runs a subagent."},
    {"agents.model", ValueType::kText, "",
     "The model of subagents, as VENDOR/NAME or a name of the same provider; empty means that of the conversation."},

    {"permissions.mode", ValueType::kChoice, "ask",
     "What happens to a tool call that changes something and that no rule names.", "ask|allow|deny"},
    {"permissions.allow",
     ValueType::kList,
     "",
     "Names or globs of tools that run without a question; see docs/guide/permissions.md.",
     {},
     0,
     0,
     true},
    {"permissions.deny",
     ValueType::kList,
     "",
     "Names or globs of tools that never run; beats allow. A name that no tool has is an error.",
     {},
     0,
     0,
     true},
    {"workspace.roots", ValueType::kList, "",
     "Directories that tools may touch, the first is where they start; each must exist. Empty "
     "means the "
     "current one and the project's root."},

    {"network.ca_file", ValueType::kText, "",
     "A file of certificates (PEM) that servers' are checked against, in place of the system's."},
    {"network.client_cert", ValueType::kText, "",
     "A certificate (PEM) that is shown to servers and proxies which ask for one."},
    {"network.client_key", ValueType::kText, "",
     "The key (PEM, without a passphrase) of network.client_cert; empty means that it is in the same file."},
    {"network.proxy", ValueType::kText, "",
     "The proxy of all requests but those to this machine; NO_PROXY names more that need none. Empty means what "
     "HTTPS_PROXY, HTTP_PROXY and ALL_PROXY say."},
    {"network.retries_per_run",
     ValueType::kWhole,
     "20",
     "Attempts after the first that all requests of a run may make together, its subagents and summaries included.",
     {},
     0,
     1000},

    {"log.level", ValueType::kChoice, "warning", "The least that the diagnostic log takes.",
     "debug|info|warning|error|off"},
    {"log.file", ValueType::kText, "", "The diagnostic log; empty means agentd.log in the home directory."},

    {"scripted.file", ValueType::kText, "", "The file that the scripted provider replays."},
    {"scripted.record", ValueType::kText, "", "A file to which the scripted provider writes each request."},
    {"scripted.state", ValueType::kText, "", "A file in which the scripted provider keeps its place from run to run."},
    {"providers.anthropic.base_url",
     ValueType::kText,
     "https://api.anthropic.com",
     "Where Anthropic's API is reached: https, or http on this machine; base_url beats it. "
     "ANTHROPIC_BASE_URL counts where nothing else is set.",
     {},
     0,
     0,
     false,
     "ANTHROPIC_BASE_URL"},
    {"providers.anthropic.api_key_env", ValueType::kText, "ANTHROPIC_API_KEY",
     "The environment variable that holds the key. Without a key ANTHROPIC_AUTH_TOKEN is sent as a "
     "bearer "
     "token."},
    {"providers.anthropic.betas", ValueType::kList, "",
     "Names for the anthropic-beta header. One that the model table knows for the model widens its "
     "window: "
     "context-1m-2025-08-07."},
    {"providers.anthropic.cache", ValueType::kChoice, "5m",
     "How long Anthropic keeps what requests have in common: 5m, 1h (a write costs more, and serves after a pause), or "
     "off.",
     "5m|1h|off"},
    {"providers.anthropic.max_retries",
     ValueType::kWhole,
     "2",
     "Attempts after the first for rate limits, overload and network failures.",
     {},
     0,
     20},
    {"providers.anthropic.idle_timeout_ms",
     ValueType::kWhole,
     "300000",
     "How long the provider may send nothing at all before the call counts as failed.",
     {},
     1,
     3.6e6},
    {"providers.anthropic.total_timeout_ms",
     ValueType::kWhole,
     "3600000",
     "How long one request may take in all, with its attempts and waits, however its answer drips. An answer that "
     "broke off and is asked for again as a whole is another request.",
     {},
     1,
     8.64e7},
    {"providers.openai.base_url",
     ValueType::kText,
     "https://api.openai.com/v1",
     "Where OpenAI's API is reached: https, or http on this machine; base_url beats it. OPENAI_BASE_URL counts where "
     "nothing else is set.",
     {},
     0,
     0,
     false,
     "OPENAI_BASE_URL"},
    {"providers.openai.api_key_env", ValueType::kText, "OPENAI_API_KEY",
     "The environment variable that holds the key."},
    {"providers.google.base_url",
     ValueType::kText,
     "https://generativelanguage.googleapis.com",
     "Where Gemini's API is reached: https, or http on this machine; base_url beats it. GOOGLE_GEMINI_BASE_URL counts "
     "where nothing else is set.",
     {},
     0,
     0,
     false,
     "GOOGLE_GEMINI_BASE_URL"},
    {"providers.google.api_key_env", ValueType::kText, "GEMINI_API_KEY",
     "The environment variable that holds the key. Without one GOOGLE_API_KEY is looked at."},
    {"providers.*.kind", ValueType::kChoice, "openai",
     "Whose format the server speaks: that of OpenAI, as most do, Anthropic's or Google's.", "openai|anthropic|google"},
    {"providers.*.base_url", ValueType::kText, "",
     "Where the server is reached: https, or http on this machine. Vendors that agentd knows have their own."},
    {"providers.*.api_key_env", ValueType::kText, "",
     "The environment variable that holds the server's key; empty: none is sent, or that of a vendor whom agentd "
     "knows."},
    {"providers.*.api", ValueType::kChoice, "auto",
     "Of OpenAI's two formats: responses, chat (Chat Completions), or what suits the server.", "auto|responses|chat"},
    {"providers.*.max_retries",
     ValueType::kWhole,
     "2",
     "Attempts after the first for rate limits, overload and network failures.",
     {},
     0,
     20},
    {"providers.*.idle_timeout_ms",
     ValueType::kWhole,
     "300000",
     "How long the server may send nothing at all before the call counts as failed.",
     {},
     1,
     3.6e6},
    {"providers.*.total_timeout_ms",
     ValueType::kWhole,
     "3600000",
     "How long one request may take in all, with its attempts and waits, however its answer drips. An answer that "
     "broke off and is asked for again as a whole is another request.",
     {},
     1,
     8.64e7},
};

// "*" stands for at least one character and may hold dots: hooks of one file are called "guard.1".
bool matches(std::string_view pattern, std::string_view name) {
  const std::size_t star = pattern.find('*');
  const std::string_view head = pattern.substr(0, star), tail = pattern.substr(star + 1);
  return name.size() > head.size() + tail.size() && name.substr(0, head.size()) == head &&
         name.substr(name.size() - tail.size()) == tail;
}

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.12g", value);
  return text;
}

std::string range_text(const KeySpec& key) {
  if (key.high >= kMany) return " from " + number_text(key.low);
  return " from " + number_text(key.low) + " to " + number_text(key.high);
}

std::string choices_text(const KeySpec& key) {
  const std::vector<std::string> names = split(key.choices, '|');
  if (names.size() == 1) return "'" + names[0] + "'";
  std::string out = "one of ";
  for (std::size_t i = 0; i < names.size(); ++i) out += (i == 0 ? "" : ", ") + names[i];
  return out;
}

}  // namespace

std::span<const KeySpec> config_keys() { return kKeys; }

const KeySpec* find_key(std::string_view name) {
  for (const KeySpec& key : kKeys)
    if (key.name == name) return &key;
  for (const KeySpec& key : kKeys)
    if (key.name.find('*') != std::string_view::npos && matches(key.name, name)) return &key;
  return nullptr;
}

std::string_view free_part(std::string_view name) {
  const KeySpec* const key = find_key(name);
  const std::size_t star = key == nullptr ? std::string_view::npos : key->name.find('*');
  if (star == std::string_view::npos) return {};
  return name.substr(star, name.size() - (key->name.size() - 1));
}

std::vector<std::string> key_parts(std::string_view name) {
  const std::string_view free = free_part(name);
  if (free.empty()) return split(name, '.');
  const auto at = static_cast<std::size_t>(free.data() - name.data());
  std::vector<std::string> out = split(name.substr(0, at - 1), '.');
  out.emplace_back(free);
  for (std::string& part : split(name.substr(std::min(at + free.size() + 1, name.size())), '.'))
    out.push_back(std::move(part));
  return out;
}

std::span<const std::string_view> other_variables() {
  static constexpr std::string_view kNames[] = {"AGENTD_HOME",         "AGENTD_RUN",         "AGENTD_EVENT",
                                                "AGENTD_CONV_ID",      "AGENTD_HOOK",        "AGENTD_HOOK_PATH",
                                                "AGENTD_CONTEXT_USED", "AGENTD_CONTEXT_MAX", "AGENTD_CONTEXT_PERCENT"};
  return kNames;
}

std::string environment_name(const KeySpec& key) {
  if (key.name.find('*') != std::string_view::npos) return {};
  std::string out(kOwnPrefix);
  for (const char c : key.name) out += c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> out;
  if (text.empty()) return out;
  for (;;) {
    const std::size_t at = text.find(separator);
    out.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return out;
    text.remove_prefix(at + 1);
  }
}

std::string type_text(const KeySpec& key) {
  switch (key.type) {
    case ValueType::kText:
      return "text";
    case ValueType::kBool:
      return "true or false";
    case ValueType::kWhole:
      return "a whole number" + range_text(key);
    case ValueType::kFraction:
      return "a number" + range_text(key);
    case ValueType::kChoice:
      return choices_text(key);
    case ValueType::kList:
      return "a list";
    case ValueType::kAny:
      return "anything";
  }
  return "text";
}

}  // namespace agentd
