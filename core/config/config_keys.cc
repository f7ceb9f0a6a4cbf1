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
     "The provider: a vendor's name, or scripted, which replays a file. A model's name may include it: "
     "openai/gpt-6.1-sol. If unset, a model in the model table goes to its vendor.",
     "anthropic|openai|google|deepseek|mistral|groq|xai|openrouter|ollama|lmstudio|llamacpp|vllm|scripted"},
    {"model", ValueType::kText, "", "The model's name; empty means the provider's default."},
    {"fallback", ValueType::kList, "",
     "Fallback models, in order, each as VENDOR/NAME or a name of the same provider; used when the one before is "
     "overloaded, rate-limited, failing, unreachable or out of credit. Hooks are called again for each."},
    {"models.aliases.*", ValueType::kText, "",
     "The model behind an alias of yours, as VENDOR/NAME or a name of the same provider; valid wherever a model is "
     "named. Hooks and records show the model's own name."},
    {"base_url", ValueType::kText, "",
     "The address of one provider; empty means its public one. On the command line it is that of the provider that is "
     "asked; in a file or the environment that of `provider`, or of the vendor of a `model` there, which counts more "
     "than "
     "a `provider` of a weaker place. Other providers keep their addresses (docs/reference/models.md)."},
    {"max_output_tokens", ValueType::kWhole, "16384", "The longest answer to request, in tokens.", {}, 1, kMany},
    {"thinking_tokens",
     ValueType::kWhole,
     "0",
     "Budget for models that take a thinking budget; 0 disables thinking. For other models it is converted to an "
     "effort.",
     {},
     0,
     kMany},
    {"effort", ValueType::kChoice, "default",
     "How hard the model thinks; default: the provider's setting; none: as little as the model can. 'agentd models' "
     "lists what a model takes.",
     "default|none|low|medium|high|xhigh|max"},
    {"context_window",
     ValueType::kWhole,
     "0",
     "The model's window in tokens; 0 means the model table's value (models.yaml, 'agentd models').",
     {},
     0,
     kMany},
    {"tokens.counter", ValueType::kChoice, "auto",
     "How tokens are counted before the provider reports them. simple: bytes / 4; bpe: byte pairs, by the encoding of "
     "the model table (cl100k_base without one); auto: bpe for models with an encoding in the table, else simple.",
     "auto|simple|bpe"},
    {"system_prompt_file", ValueType::kText, "", "A file whose text replaces the built-in system prompt."},
    {"instructions", ValueType::kBool, "true",
     "Sends AGENTS.md, or else CLAUDE.md, with its imports: from agentd's home, from every directory between the "
     "project's root and the current one, and from directories whose files tools touch "
     "(docs/reference/instructions.md)."},
    {"max_turns", ValueType::kWhole, "0", "Turns of one run; 0 means no limit.", {}, 0, 1e6},

    {"budget.run_usd",
     ValueType::kFraction,
     "0",
     "US dollars that a run may cost, with its subagents, summaries and hooks' threads; 0 means no limit. The most "
     "that a request can cost is reserved before it is sent; a model without a price is not used.",
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
     "US dollars that all runs of one conversation may cost together; 0 means no limit. A run that continues it has "
     "the rest.",
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
     "Tokens that one plugin's model calls - its summaries and threads - may send and receive within one call of the "
     "plugin; an answer is cut to what is left, and a request that leaves nothing for one is refused. 0 means no "
     "limit.",
     {},
     0,
     kMany},
    {"budget.hook_run_tokens",
     ValueType::kWhole,
     "5000000",
     "The same within one run, over all calls of the plugin.",
     {},
     0,
     kMany},

    {"compaction.auto", ValueType::kBool, "true",
     "Compacts a full context automatically; off leaves `agentd compact` and overflow."},
    {"compaction.checkpoint_at",
     ValueType::kFraction,
     "0.70",
     "The fill at which hooks receive context_threshold.",
     {},
     0.01,
     1},
    {"compaction.compact_at", ValueType::kFraction, "0.80", "The fill at which the context is compacted.", {}, 0.01, 1},
    {"compaction.force_at", ValueType::kFraction, "0.95", "The fill at which a hook's veto is ignored.", {}, 0.01, 1},
    {"compaction.strategy", ValueType::kChoice, "default",
     "full: one summary; tail: a summary and the newest messages; users: also all user texts; default: tail when "
     "automatic, full on request.",
     "default|full|tail|users"},
    {"compaction.keep_percent",
     ValueType::kWhole,
     "40",
     "How much of the window the newest messages may keep, in percent.",
     {},
     1,
     90},
    {"compaction.model", ValueType::kText, "",
     "The model that writes summaries; empty means the provider's cheap one."},
    {"compaction.summary_tokens",
     ValueType::kWhole,
     "4096",
     "The longest summary, in tokens. A longer one is requested once more, shorter; if that is cut too, a requested "
     "compaction fails and an automatic one is applied as degraded.",
     {},
     256,
     1e6},
    {"compaction.output_reserve",
     ValueType::kWhole,
     "16384",
     "Tokens of the window that are reserved for the answer.",
     {},
     0,
     kMany},

    {"recipes.project_compact", ValueType::kBool, "false",
     "Lets a trusted project's own recipe compact replace yours."},

    {"hooks.dirs",
     ValueType::kList,
     "",
     "More directories with hooks, besides /etc/agentd/hooks and hooks in the home directory; a missing one is a "
     "warning.",
     {},
     0,
     0,
     true},
    {"hooks.disable", ValueType::kList, "", "Names or globs of hooks that are not loaded.", {}, 0, 0, true},
    {"hooks.allow",
     ValueType::kList,
     "",
     "Names or globs of the hooks that may be loaded; empty means all. hooks.disable takes precedence; bundled tools "
     "are always loaded.",
     {},
     0,
     0,
     true},
    {"hooks.order", ValueType::kList, "",
     "Names in the order in which they are called; \"*\" stands for the others. Overrides priority."},
    {"hooks.trace", ValueType::kBool, "false", "Shows every hook's answer and how long it took."},
    {"hooks.isolation", ValueType::kChoice, "process",
     "Where native hooks that are not bundled run: each in a process of its own, in one per conversation, or in "
     "agentd's own process, sharing its memory.",
     "process|in-process|process-per-conversation"},
    {"hooks.worker_memory_mb",
     ValueType::kWhole,
     "512",
     "MiB of memory that the process of one hook may use.",
     {},
     16,
     1'048'576},
    {"hooks.deadline_ms",
     ValueType::kWhole,
     "30000",
     "The time limit of a hook that sets none, unless its dialect has one.",
     {},
     1,
     3.6e6},
    {"hooks.max_calls",
     ValueType::kWhole,
     "0",
     "Calls per hook and run; 0 means no limit. A hook over a limit is not called again, which is reported once; one "
     "that fails closed fails.",
     {},
     0,
     1e9},
    {"hooks.max_seconds",
     ValueType::kWhole,
     "0",
     "Seconds that all calls of one hook may take in one run.",
     {},
     0,
     1e9},
    {"hooks.max_children",
     ValueType::kWhole,
     "0",
     "Processes of one hook per run that may be killed because they outlived its call.",
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
     "Settings files of other tools whose hooks run in place: PATH, or DIALECT:PATH. Your own must exist and be "
     "readable; hooks that cannot be converted are reported. A mistake in a hook that can block stops the run.",
     {},
     0,
     0,
     true},
    {"hooks.allow_hosts",
     ValueType::kList,
     "",
     "Hosts besides this machine that webhooks may reach: name, *.domain or name:port.",
     {},
     0,
     0,
     true},
    {"hooks.pass_environment",
     ValueType::kList,
     "",
     "Environment variables that hooks get in addition to PATH, HOME and other basic ones.",
     {},
     0,
     0,
     true},
    {"hooks.sandbox", ValueType::kChoice, "asked",
     "The hooks whose programs run in the sandbox of commands: those that ask for it by their key sandbox; project: "
     "those of the project, too; all. Without a sandbox they do not run. Native hooks have their own.",
     "asked|project|all"},
    {"hooks.dev", ValueType::kBool, "false",
     "Runs changed hooks in your own directories without 'agentd hooks trust'."},
    {"hooks.*.enabled", ValueType::kBool, "",
     "Enables or disables one hook; bundled hooks run only if enabled. Enabling a name that no hook has is an error."},
    {"hooks.*.config", ValueType::kAny, "", "The hook's own configuration."},
    {"hooks.*.grant", ValueType::kList, "",
     "Services from its manifest that the hook gets: compactor, thread_factory, store (granted to hooks in your own "
     "directories unless this is set), agentd.workspace/1, agentd.process/1, agentd.provide/1, agentd.services/1; for "
     "a project's hook also its capabilities."},
    {"hooks.*.on_failure", ValueType::kChoice, "", "The effect of the hook's failure: open continues, closed blocks.",
     "open|closed"},
    {"hooks.*.authority", ValueType::kChoice, "",
     "How long the hook may veto compactions of a nearly full window: normal ignores its third veto in a row, final "
     "never.",
     "normal|final"},
    {"hooks.*.isolation", ValueType::kChoice, "",
     "Where this hook runs; overrides hooks.isolation, also for bundled hooks.",
     "process|in-process|process-per-conversation"},
    {"hooks.*.sandbox", ValueType::kChoice, "",
     "The rights of the hook's process. Native: manifest (default) and on allow what its manifest asks for. Others: on "
     "runs its programs in the sandbox of commands, manifest (default) leaves that to its key sandbox and to "
     "hooks.sandbox. off allows all that you may do.",
     "manifest|on|off"},
    {"hooks.*.shadow", ValueType::kBool, "", "Shadow mode: the hook is called and traced, its answer is ignored."},
    {"hooks.*.priority",
     ValueType::kWhole,
     "",
     "The hook's place among the others: hooks with a higher priority are called earlier.",
     {},
     -32768,
     32767},
    {"hooks.*.max_calls",
     ValueType::kWhole,
     "",
     "The limit of this hook, or of each hook of a file, instead of hooks.max_calls.",
     {},
     0,
     1e9},
    {"hooks.*.max_seconds", ValueType::kWhole, "", "The limit of this hook, instead of hooks.max_seconds.", {}, 0, 1e9},
    {"hooks.*.max_children",
     ValueType::kWhole,
     "",
     "The limit of this hook, instead of hooks.max_children.",
     {},
     0,
     1e9},
    {"hooks.*.timeout_ms", ValueType::kWhole, "", "The hook's time limit; overrides the event's.", {}, 1, 3.6e6},

    {"services.*", ValueType::kText, "",
     "The plugin that provides a service, by its id or name: services.memory for agentd.memory/1. If unset, the first "
     "that offers it is used, agentd itself before plugins (core); a project's plugin offers only what it is named "
     "for."},

    {"agents.enabled", ValueType::kBool, "false", "Offers the model the tool task, which runs a subagent."},
    {"agents.model", ValueType::kText, "",
     "The model of subagents, as VENDOR/NAME or a name of the same provider; empty means the conversation's."},

    {"sessions.active_runs",
     ValueType::kWhole,
     "1000",
     "Runs, compactions and undos of one process that may be active at the same time. Further ones wait for their "
     "turn, which passes from project to project; a subagent shares the place of its parent.",
     {},
     1,
     1e6},
    {"sessions.queued_runs",
     ValueType::kWhole,
     "10000",
     "Runs that may wait for their turn; a further one ends as busy, with the time after which to try again. 0: none "
     "waits.",
     {},
     0,
     1e6},
    {"sessions.open",
     ValueType::kWhole,
     "100000",
     "Sessions that may be open in one process; opening a further one ends as busy.",
     {},
     1,
     1e7},
    {"sessions.posted_messages",
     ValueType::kWhole,
     "1000",
     "Messages that one session may hold until its run takes them; a further one is refused as busy.",
     {},
     1,
     1e6},

    {"acp.client_files", ValueType::kBool, "false",
     "Reads files from an editor whose text there is not saved, as far as it says so (docs/guide/editors.md)."},
    {"acp.client_terminals", ValueType::kBool, "false",
     "Runs commands in terminals of an editor that offers them: with its rights, without the sandbox."},

    {"mcp.servers.*", ValueType::kAny, "",
     "A server of the Model Context Protocol, whose tools the model gets: command, args and env, or url and headers "
     "(docs/guide/mcp.md). 'agentd mcp add' writes one without editing this file."},
    {"mcp.project_servers", ValueType::kBool, "true",
     "Looks for servers in the project's .mcp.json. None is started before 'agentd mcp trust NAME'."},
    {"mcp.editor_sandbox", ValueType::kBool, "true",
     "Runs the servers that an editor names in the sandbox of commands, where they have no network."},
    {"mcp.start_wait_ms",
     ValueType::kWhole,
     "3000",
     "How long the first request of a process waits for servers that start; the tools of slower ones come with a later "
     "turn.",
     {},
     0,
     600000},
    {"mcp.server.tools",
     ValueType::kList,
     "",
     "Tools that 'agentd mcp' and /mcp offer in addition to those that only read: names, in which * stands for "
     "anything. A call that a rule asks about is denied anyway (docs/reference/mcp.md).",
     {},
     0,
     0,
     true},

    {"serve.address", ValueType::kText, "127.0.0.1",
     "The address on which 'agentd serve' listens: one of this machine's own (127.0.0.1, ::1). Empty means the unix "
     "socket alone."},
    {"serve.port", ValueType::kWhole, "9090", "The port of it; 0 means any free one.", {}, 0, 65'535},
    {"serve.socket", ValueType::kBool, "true", "Listens on the unix socket agentd.sock in the home directory, too."},
    {"serve.park_minutes",
     ValueType::kWhole,
     "10",
     "An unused session of 'agentd serve' ends after so long; the conversation is opened again by its next "
     "message.",
     {},
     1,
     1e6},
    {"serve.drain_seconds",
     ValueType::kWhole,
     "30",
     "The time that runs get to end when 'agentd serve' is ended; then they are cancelled.",
     {},
     0,
     86'400},
    {"serve.import_mb",
     ValueType::kWhole,
     "64",
     "The largest file that a client of 'agentd serve' may import as a conversation, in MiB.",
     {},
     1,
     256},
    {"serve.uncaged", ValueType::kBool, "false",
     "Lets 'agentd serve' use permissions.mode allow although commands have no sandbox."},

    {"lifecycle.checkpoint_threshold_percent",
     ValueType::kWhole,
     "0",
     "The fill, in percent, at which a checkpoint is made and hooks receive context_threshold; 0 means "
     "compaction.checkpoint_at.",
     {},
     0,
     99},
    {"lifecycle.auto_checkpoint_on_clear", ValueType::kBool, "true",
     "Makes a checkpoint before a conversation is cleared."},
    {"lifecycle.auto_resume_on_start", ValueType::kBool, "false",
     "Begins a new conversation as the project's newest checkpoint, at lifecycle.resume_level and without asking a "
     "model; otherwise chat only tells that there is one."},
    {"lifecycle.resume_level", ValueType::kChoice, "context",
     "The part of a checkpoint with which a conversation resumes: all messages, a summary and the newest messages, or "
     "a summary.",
     "full|context|summary"},
    {"lifecycle.verify_before_clear", ValueType::kBool, "false",
     "Asks before /clear starts a new conversation; where there is no terminal to ask on, /clear is refused."},

    {"memory.refine", ValueType::kBool, "true",
     "Lets a model refine what earlier sessions left, one at a time while agentd run or chat works: the model that "
     "hooks.session_memory.config.model names, else a cheap one of the vendor that the conversation was with. The "
     "provider scripted is asked only if a model is named."},

    {"permissions.mode", ValueType::kChoice, "ask",
     "The decision about a tool call that changes something and matches no rule: ask; run edits of files in the "
     "workspace "
     "and ask about the rest; refuse all but tools that read; run; refuse.",
     "ask|accept_edits|plan|allow|deny"},
    {"permissions.unanswered", ValueType::kChoice, "deny",
     "A question without a person to answer it: deny the call, or end the run until 'agentd approve'.", "deny|wait"},
    {"permissions.wait_hours",
     ValueType::kWhole,
     "24",
     "Hours that a waiting tool call can be answered; then it counts as denied.",
     {},
     1,
     8'760},
    {"permissions.allow",
     ValueType::kList,
     "",
     "Rules for calls that run without asking: TOOL or TOOL(ARGUMENT); see docs/guide/permissions.md.",
     {},
     0,
     0,
     true},
    {"permissions.ask",
     ValueType::kList,
     "",
     "Rules for calls that a person is always asked about; overrides allow.",
     {},
     0,
     0,
     true},
    {"permissions.deny",
     ValueType::kList,
     "",
     "Rules for calls that never run; overrides ask and allow. A rule that can match nothing is an error.",
     {},
     0,
     0,
     true},
    {"workspace.roots", ValueType::kList, "",
     "Directories that tools may use; they start in the first. Each must exist. Empty means the current directory and "
     "the project's root."},

    {"sandbox.layer", ValueType::kChoice, "auto",
     "The sandbox around commands of tools: auto takes the strongest that this machine can make, bubblewrap before "
     "landlock; off runs them with all your rights. If it cannot be made, no command runs (docs/guide/sandbox.md).",
     "auto|bubblewrap|landlock|off"},
    {"sandbox.network",
     ValueType::kList,
     "",
     "Hosts that commands may reach: example.org, *.example.org, example.org:8080; without a port 80 and 443. Empty "
     "means no network; all, alone, means yours.",
     {},
     0,
     0,
     true},
    {"sandbox.local_sockets", ValueType::kBool, "false",
     "Commands may use local sockets (AF_UNIX), and reach programs that listen in the workspace and in the other "
     "directories that they may use: a terminal multiplexer or a database there obeys outside of the sandbox. In the "
     "layer bubblewrap alone; landlock refuses them in any case."},
    {"sandbox.readable", ValueType::kList, "", "Further files and directories that commands may read.", {}, 0, 0, true},
    {"sandbox.writable", ValueType::kList, "", "Further directories that commands may change.", {}, 0, 0, true},
    {"sandbox.caches", ValueType::kList, "",
     "Caches of the home directory that commands may read, instead of those of the known package managers. A command "
     "writes to a cache of its own."},

    {"network.ca_file", ValueType::kText, "",
     "A file of CA certificates (PEM), used instead of the system's. A file of this section that cannot be read is an "
     "error at the start."},
    {"network.client_cert", ValueType::kText, "",
     "A client certificate (PEM) for servers and proxies that request one."},
    {"network.client_key", ValueType::kText, "",
     "The key (PEM, without a passphrase) of network.client_cert; empty means it is in the same file."},
    {"network.proxy", ValueType::kText, "",
     "The proxy for all requests except those to this machine and to hosts in NO_PROXY. Empty means HTTPS_PROXY, "
     "HTTP_PROXY or ALL_PROXY."},
    {"network.retries_per_run",
     ValueType::kWhole,
     "20",
     "Retries that all requests of a run may make together, including subagents and summaries.",
     {},
     0,
     1000},

    {"secrets.scrub", ValueType::kBool, "true",
     "Replaces secrets in what tools put out by placeholders, before a hook, the model or the log sees them "
     "(docs/guide/secrets.md)."},
    {"secrets.scrub_input", ValueType::kBool, "false", "Does the same with your messages."},
    {"secrets.disable",
     ValueType::kList,
     "",
     "Kinds of secrets that are not looked for, as they are named in placeholders.",
     {},
     0,
     0,
     true},
    {"secrets.rules", ValueType::kAny, "",
     "Secrets of your own: a list of {id, pattern}. The pattern is an RE2 expression; its first group, if it has one, "
     "is the secret."},

    {"receipts.keep_days",
     ValueType::kWhole,
     "90",
     "Days for which the answers of hooks are kept ('agentd hooks trace'); older ones are removed when a session ends. "
     "0 "
     "means for ever.",
     {},
     0,
     36'500},

    {"log.level", ValueType::kChoice, "warning", "The lowest level written to the diagnostic log.",
     "debug|info|warning|error|off"},
    {"log.file", ValueType::kText, "", "The diagnostic log; empty means agentd.log in the home directory."},

    {"scripted.file", ValueType::kText, "", "The file that the scripted provider replays."},
    {"scripted.record", ValueType::kText, "", "A file to which the scripted provider writes each request."},
    {"scripted.state", ValueType::kText, "", "A file in which the scripted provider keeps its position between runs."},
    {"providers.anthropic.base_url",
     ValueType::kText,
     "https://api.anthropic.com",
     "The address of Anthropic's API: https, or http on this machine; a base_url of this provider overrides it. "
     "ANTHROPIC_BASE_URL is "
     "used if nothing else is set.",
     {},
     0,
     0,
     false,
     "ANTHROPIC_BASE_URL"},
    {"providers.anthropic.api_key_env", ValueType::kVariable, "ANTHROPIC_API_KEY",
     "The environment variable that holds the key. Without a key ANTHROPIC_AUTH_TOKEN is sent as a bearer token."},
    {"providers.anthropic.betas", ValueType::kList, "",
     "Names for the anthropic-beta header. Some widen the window of models whose table entry lists them: "
     "context-1m-2025-08-07."},
    {"providers.anthropic.cache", ValueType::kChoice, "5m",
     "How long Anthropic caches the common beginning of requests: 5m, 1h (writes cost more, but survive a pause), or "
     "off.",
     "5m|1h|off"},
    {"providers.anthropic.max_retries",
     ValueType::kWhole,
     "2",
     "Retries after rate limits, overload and network failures.",
     {},
     0,
     20},
    {"providers.anthropic.idle_timeout_ms",
     ValueType::kWhole,
     "300000",
     "How long the provider may send nothing before the call fails.",
     {},
     1,
     3.6e6},
    {"providers.anthropic.total_timeout_ms",
     ValueType::kWhole,
     "3600000",
     "How long one request may take in total, including retries and waits. Requesting an interrupted answer again is "
     "another request.",
     {},
     1,
     8.64e7},
    {"providers.openai.base_url",
     ValueType::kText,
     "https://api.openai.com/v1",
     "The address of OpenAI's API: https, or http on this machine; a base_url of this provider overrides it. "
     "OPENAI_BASE_URL is used if "
     "nothing else is set.",
     {},
     0,
     0,
     false,
     "OPENAI_BASE_URL"},
    {"providers.openai.api_key_env", ValueType::kVariable, "OPENAI_API_KEY",
     "The environment variable that holds the key."},
    {"providers.google.base_url",
     ValueType::kText,
     "https://generativelanguage.googleapis.com",
     "The address of Gemini's API: https, or http on this machine; a base_url of this provider overrides it. "
     "GOOGLE_GEMINI_BASE_URL is "
     "used if nothing else is set.",
     {},
     0,
     0,
     false,
     "GOOGLE_GEMINI_BASE_URL"},
    {"providers.google.api_key_env", ValueType::kVariable, "GEMINI_API_KEY",
     "The environment variable that holds the key. Without one, GOOGLE_API_KEY is used."},
    {"providers.*.kind", ValueType::kChoice, "openai",
     "The API format of the server: openai (most servers), anthropic or google.", "openai|anthropic|google"},
    {"providers.*.base_url", ValueType::kText, "",
     "The server's address: https, or http on this machine. Known vendors have a default."},
    {"providers.*.api_key_env", ValueType::kVariable, "",
     "The environment variable that holds the server's key; empty means a known vendor's own variable, or no key."},
    {"providers.*.api", ValueType::kChoice, "auto",
     "Which of OpenAI's two formats is used: responses, chat (Chat Completions), or auto for the server's own.",
     "auto|responses|chat"},
    {"providers.*.max_retries",
     ValueType::kWhole,
     "2",
     "Retries after rate limits, overload and network failures.",
     {},
     0,
     20},
    {"providers.*.idle_timeout_ms",
     ValueType::kWhole,
     "300000",
     "How long the server may send nothing before the call fails.",
     {},
     1,
     3.6e6},
    {"providers.*.total_timeout_ms",
     ValueType::kWhole,
     "3600000",
     "How long one request may take in total, including retries and waits. Requesting an interrupted answer again is "
     "another request.",
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
    case ValueType::kVariable:
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
