// SPDX-License-Identifier: Apache-2.0
#include "plugins/workspace_tools/todo.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "plugins/workspace_tools/input.h"

namespace workspace_tools {
namespace {

using agentd::Code;
using agentd::Error;
using agentd::JsonView;
using agentd::Result;

constexpr std::size_t kTodosMax = 100;
constexpr std::size_t kContentBytesMax = 500;
constexpr Key kKeys[] = {{"todos", Key::Type::kList, true}};
constexpr Key kTodoKeys[] = {{"content", Key::Type::kFilledText, true},
                             {"status", Key::Type::kChoice, true, 0, 0, "pending, in_progress, completed"},
                             {"priority", Key::Type::kChoice, false, 0, 0, "high, medium, low"}};

std::size_t count_with(const std::vector<Todo>& todos, std::string_view status) {
  return static_cast<std::size_t>(
      std::count_if(todos.begin(), todos.end(), [&](const Todo& each) { return each.status == status; }));
}

Result<Todo> todo_of(JsonView from) {
  AGENTD_TRY_VOID(Input::check(from, kTodoKeys));
  Todo out{std::string(from["content"].string_or({})), std::string(from["status"].string_or({})),
           std::string(from["priority"].string_or("medium"))};
  if (agentd::is_blank(out.content)) return Error{Code::kInvalid, "\"content\" must not be blank"};
  if (out.content.size() > kContentBytesMax)
    return Error{Code::kInvalid, "\"content\" must have at most " + std::to_string(kContentBytesMax) + " bytes"};
  return out;
}

}  // namespace

Result<std::vector<Todo>> todos_of(std::string_view input_json) {
  AGENTD_TRY(const Input input, Input::parse(input_json, kKeys));
  const JsonView list = input.list("todos");
  if (list.size() > kTodosMax)
    return Error{Code::kInvalid, "\"todos\" must have at most " + std::to_string(kTodosMax) + " tasks"};
  std::vector<Todo> out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    auto each = todo_of(list.at(i));
    if (!each) return Error{Code::kInvalid, "task " + std::to_string(i + 1) + ": " + each.error().message};
    out.push_back(std::move(*each));
  }
  if (const std::size_t at_once = count_with(out, "in_progress"); at_once > 1)
    return Error{Code::kInvalid, std::to_string(at_once) + " tasks are in_progress: at most one may be"};
  return out;
}

std::string plan_json(const std::vector<Todo>& todos) {
  agentd::JsonWriter out;
  out.begin_object().key("plan").begin_array();
  for (const Todo& each : todos)
    out.begin_object()
        .member("content", each.content)
        .member("status", each.status)
        .member("priority", each.priority)
        .end_object();
  out.end_array().end_object();
  return std::string(out.text());
}

std::string counts_of(const std::vector<Todo>& todos) {
  return agentd::counted(todos.size(), "task") + ": " + std::to_string(count_with(todos, "completed")) +
         " completed, " + std::to_string(count_with(todos, "in_progress")) + " in progress, " +
         std::to_string(count_with(todos, "pending")) + " pending";
}

std::string reminder_of(const std::vector<Todo>& todos) {
  if (count_with(todos, "completed") == todos.size()) return {};
  std::string out = "The task list of this conversation, which todo_write keeps:";
  for (const Todo& each : todos) out += "\n- [" + each.status + "] " + each.content;
  return out;
}

}  // namespace workspace_tools
