// SPDX-License-Identifier: Apache-2.0
// handlers_setup.cc - what the daemon works with: hooks and their traces, plugins, models, settings, spending.
#include "core/account/ledger.h"
#include "core/codec/json.h"
#include "core/config/config_keys.h"
#include "core/conversation/receipt.h"
#include "core/hooks/event.h"
#include "core/serve/handlers.h"

namespace agentd::serve {
namespace {

constexpr std::uint64_t kTracesUsual = 200, kTracesMax = 10'000;

// Values that may have a key or a password.
bool is_secret(std::string_view key) {
  return key.starts_with("network.") || key.starts_with("providers.") || key.find("key") != std::string_view::npos;
}

// "2026-01-31", a day that there may be.
bool is_day(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00";
  if (text.size() != kForm.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (kForm[i] == '-' ? text[i] != '-' : text[i] < '0' || text[i] > '9') return false;
  const std::string_view month = text.substr(5, 2), day = text.substr(8, 2);
  return month >= "01" && month <= "12" && day >= "01" && day <= "31";
}

void write_value(JsonWriter& out, ValueType type, const ConfigValue& value) {
  out.key("value");
  if (type == ValueType::kAny) return (void)out.raw(value.json.empty() ? "null" : value.json);
  if (type != ValueType::kList) return (void)out.string(value.text);
  out.begin_array();
  for (const std::string& item : value.items) out.string(item);
  out.end_array();
}

}  // namespace

void list_hooks(Daemon& daemon, RouteCall call) {
  JsonWriter out;
  out.begin_object().key("hooks").begin_array();
  for (const auto& workplace : daemon.workplaces().all())
    for (const Subscription& hook : workplace->hooks().subscriptions()) {
      out.begin_object().member("name", hook.name).member("event", find_event(hook.event)->name);
      out.member("kind", workplace->hooks().kind_of(hook.name)).optional("plugin", hook.plugin);
      out.member("project", workplace->project().root).member("fails_closed", hook.on_failure != FailurePolicy::kOpen);
      out.member("shadow", hook.shadow).optional("sha256", hook.bytes_digest).end_object();
    }
  out.end_array().end_object();
  reply_json(call, 200, out.text());
}

void list_traces(Daemon& daemon, RouteCall call) {
  const auto id = conversation_of(call);
  if (!id) return;
  const std::uint64_t after = call.asked_number("after", 0);
  const std::uint64_t limit = std::min(call.asked_number("limit", kTracesUsual), kTracesMax);
  std::uint64_t at = 0, shown = 0;
  JsonWriter out;
  out.begin_object().key("traces").begin_array();
  const auto read = daemon.store().receipts(*id, [&](const HookReceipt& receipt) {
    if (++at <= after) return true;
    if (shown == limit) return false;
    ++shown;
    out.raw(write_receipt(receipt));
    return true;
  });
  if (!read && (read.error().code != Code::kNotFound || !info_of(daemon, *id))) return reply_error(call, read.error());
  out.end_array();
  if (shown == limit) out.member("next", after + shown);
  out.end_object();
  reply_json(call, 200, out.text());
}

void list_plugins(Daemon& daemon, RouteCall call) {
  JsonWriter out;
  out.begin_object().key("plugins").begin_array();
  for (const auto& workplace : daemon.workplaces().all())
    for (const PluginState& plugin : workplace->hooks().plugins()) {
      out.begin_object().member("id", plugin.id).member("name", plugin.name).optional("version", plugin.version);
      out.member("project", workplace->project().root).optional("path", plugin.path).optional("sha256", plugin.sha256);
      out.optional("isolation", plugin.isolation).member("state", name_of(plugin.state)).optional("why", plugin.why);
      out.end_object();
    }
  out.end_array().key("services").begin_array();
  for (const ServiceRegistry::Offer& offer : daemon.runtime().registry().all()) {
    out.begin_object().member("interface", offer.interface_id).member("provider", offer.provider);
    out.optional("project_id", offer.project_id);
    out.member("used", offer.used).end_object();
  }
  out.end_array().end_object();
  reply_json(call, 200, out.text());
}

void list_models(Daemon& daemon, RouteCall call) {
  const ModelSettings& in_use = daemon.runtime().model_settings();
  const std::int64_t now = daemon.runtime().clock().wall_ms();
  JsonWriter out;
  out.begin_object().member("provider", in_use.provider).member("model", in_use.model).key("models").begin_array();
  for (const ModelInfo& info : daemon.runtime().agent_parts().models.models()) {
    if (info.pattern.empty()) continue;
    out.begin_object().member("pattern", info.pattern).optional("provider", info.provider);
    out.member("window", info.window).member("max_output", info.max_output);
    out.optional("retires", info.retires).optional("successor", info.successor);
    out.member("retired", is_retired(info, now)).end_object();
  }
  out.end_array().end_object();
  reply_json(call, 200, out.text());
}

void show_usage(Daemon& daemon, RouteCall call) {
  const auto since = call.asked("since");
  if (since && !is_day(*since))
    return call.exchange->reply(error_reply(400, "bad_request", "'since' is a day such as 2026-01-31"));
  const auto rows = Ledger(daemon.store(), {}).rows(since.value_or(""));
  if (!rows) return reply_error(call, rows.error());
  JsonWriter out;
  out.begin_object().key("days").begin_array();
  for (const LedgerRow& day : rows->readable)
    for (const Spending& spent : day.spent) {
      out.begin_object().member("date", day.key).member("provider", spent.provider).member("model", spent.model);
      out.member("requests", spent.requests);
      write_usage_figures(out, spent.usage);
      out.end_object();
    }
  out.end_array().end_object();
  reply_json(call, 200, out.text());
}

void show_config(Daemon& daemon, RouteCall call) {
  const Config& config = daemon.runtime().config();
  JsonWriter out;
  out.begin_object().key("settings").begin_array();
  for (const KeySpec& key : config_keys()) {
    if (key.name.find('*') != std::string_view::npos || !config.is_set(key.name)) continue;
    const Candidate in_use = config.candidates(key.name).back();
    out.begin_object().member("key", key.name).member("from", config.origin(key.name));
    if (!is_secret(key.name)) write_value(out, key.type, in_use.value);
    out.end_object();
  }
  out.end_array().end_object();
  reply_json(call, 200, out.text());
}

}  // namespace agentd::serve
