// SPDX-License-Identifier: Apache-2.0
#include "core/acp/choices.h"

#include <algorithm>
#include <iterator>

#include "core/base/bytes.h"

namespace agentd::acp {
namespace {

constexpr std::string_view kMode = "mode", kModel = "model", kEffort = "effort", kUsual = "default";

struct Value {
  std::string id, name, description{};
};

struct ModeRow {
  PermissionRules::Mode mode;
  std::string_view name, description;
};
constexpr ModeRow kModes[] = {
    {PermissionRules::Mode::kAsk, "Ask", "asks before a tool changes anything or runs a command"},
    {PermissionRules::Mode::kAcceptEdits, "Accept edits", "changes files of the workspace without asking"},
    {PermissionRules::Mode::kPlan, "Plan", "reads only, and describes what it would do"},
    {PermissionRules::Mode::kAllow, "Allow", "runs every tool without asking, but for what the rules deny"},
};

std::string model_of(const Runtime& runtime, const Choices& choices) {
  return choices.model.empty() ? runtime.model_settings().model : choices.model;
}

std::vector<Value> modes() {
  std::vector<Value> out;
  for (const ModeRow& row : kModes)
    out.push_back({std::string(name_of(row.mode)), std::string(row.name), std::string(row.description)});
  return out;
}

void add(std::vector<Value>& values, Value value) {
  const bool there = std::any_of(values.begin(), values.end(), [&](const Value& each) { return each.id == value.id; });
  if (!there && !value.id.empty()) values.push_back(std::move(value));
}

// The one in force, those of the settings, and those of its provider that the table knows.
std::vector<Value> models(Runtime& runtime, const Choices& choices) {
  std::vector<Value> out;
  const ModelSettings& settings = runtime.model_settings();
  add(out, {settings.model, settings.model});
  for (const std::string& name : settings.fallbacks) add(out, {name, name});
  for (const std::string& alias : runtime.config().model_aliases()) add(out, {alias, alias, runtime.real_model(alias)});
  const ModelTable& table = runtime.agent_parts().models;
  const std::int64_t now = runtime.clock().wall_ms();
  for (const ModelInfo& info : table.models())
    if (info.provider == settings.provider && !info.pattern.empty() && !info.assumed && !is_retired(info, now))
      add(out, {info.pattern, info.pattern});
  add(out, {choices.model, choices.model});
  return out;
}

std::vector<Value> efforts(Runtime& runtime, const Choices& choices) {
  const ModelInfo info = runtime.agent_parts().models.find(runtime.real_model(model_of(runtime, choices)));
  std::vector<Value> out;
  if (info.efforts.empty()) return out;
  out.push_back({std::string(kUsual), "As the settings say"});
  for (const std::string& effort : info.efforts) out.push_back({effort, effort});
  return out;
}

void write_option(JsonWriter& out, std::string_view id, std::string_view name, std::string_view category,
                  std::string_view current, const std::vector<Value>& values) {
  out.begin_object().member("type", "select").member("id", id).member("name", name);
  out.member("category", category).member("currentValue", current).key("options").begin_array();
  for (const Value& value : values) {
    out.begin_object().member("value", value.id).member("name", value.name);
    out.optional("description", value.description).end_object();
  }
  out.end_array().end_object();
}

Result<void> check(std::string_view option, std::string_view value, const std::vector<Value>& values) {
  const auto is_it = [&](const Value& each) { return each.id == value; };
  if (std::any_of(values.begin(), values.end(), is_it)) return {};
  if (values.empty()) return Error{Code::kNotFound, "the model has no option " + std::string(option)};
  std::vector<std::string> ids;
  for (const Value& each : values) ids.push_back(each.id);
  return Error{Code::kInvalid, "the option " + std::string(option) + " has no value '" + one_line(value, 80) +
                                   "'; it has " + join(ids, ", ")};
}

}  // namespace

Choices first_choices(const Runtime& runtime) {
  Choices out;
  const auto mode = find_permission_mode(runtime.config().text("permissions.mode"));
  const auto is_it = [&](const ModeRow& row) { return mode && row.mode == *mode; };
  if (std::any_of(std::begin(kModes), std::end(kModes), is_it)) out.mode = *mode;
  return out;
}

void write_options(JsonWriter& out, Runtime& runtime, const Choices& choices) {
  out.key("configOptions").begin_array();
  write_option(out, kMode, "Mode", "mode", name_of(choices.mode), modes());
  write_option(out, kModel, "Model", "model", model_of(runtime, choices), models(runtime, choices));
  if (const auto values = efforts(runtime, choices); !values.empty())
    write_option(out, kEffort, "Effort", "thought_level", choices.effort.empty() ? kUsual : choices.effort, values);
  out.end_array();
}

void write_modes(JsonWriter& out, const Choices& choices) {
  out.key("modes").begin_object().member("currentModeId", name_of(choices.mode)).key("availableModes").begin_array();
  for (const Value& value : modes())
    out.begin_object()
        .member("id", value.id)
        .member("name", value.name)
        .member("description", value.description)
        .end_object();
  out.end_array().end_object();
}

Result<void> choose(Choices& choices, Runtime& runtime, std::string_view option, std::string_view value) {
  if (option == kMode) {
    AGENTD_TRY_VOID(check(option, value, modes()));
    choices.mode = *find_permission_mode(value);
    return {};
  }
  if (option == kModel) {
    AGENTD_TRY_VOID(check(option, value, models(runtime, choices)));
    choices.model = std::string(value);
    // Another model may not know the effort.
    if (!check(kEffort, choices.effort, efforts(runtime, choices))) choices.effort.clear();
    return {};
  }
  if (option == kEffort) {
    AGENTD_TRY_VOID(check(option, value, efforts(runtime, choices)));
    choices.effort = value == kUsual ? std::string() : std::string(value);
    return {};
  }
  return Error{Code::kNotFound, "there is no option '" + one_line(option, 80) + "'; there are mode, model and effort"};
}

}  // namespace agentd::acp
