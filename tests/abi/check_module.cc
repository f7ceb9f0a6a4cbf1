// SPDX-License-Identifier: Apache-2.0
// check_module.cc - loads a module that some compiler made and sees that it acts.
//
//   check_module hello FILE    the template's hook, in whatever language
//   check_module throws FILE   throws.cpp
//
// Exit 0 when all is well; otherwise one line for each thing that is not.

#include <agentd/fake_host.hpp>

#include <dlfcn.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace {

using agentd::testing::fake_host;
using agentd::testing::outcome;

int failures = 0;

void expect(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "not so: %s\n", what);
  ++failures;
}

void check_entry(fake_host& host) {
  const outcome too_old = host.negotiate(0, 0);
  expect(too_old.status < 0 && !too_old.error.empty(), "an older host is declined with a sentence");
  const outcome next = host.negotiate(2u << 16, 2u << 16);
  expect(next.status < 0 && !next.error.empty(), "a host of the next major version is declined");
  expect(host.negotiate(1u << 16, (1u << 16) + 5).status == AGENTD_OK, "a newer minor version is taken");
}

void check_hello(fake_host& host) {
  expect(agentd::as_view(host.plugin()->id) == "org.example.hello", "the id is org.example.hello");
  const outcome shell = host.before_tool_call({.name = "bash"});
  expect(shell.text(AGENTD_ACT_BLOCK) == "no shell here", "bash is blocked");
  expect(host.before_tool_call({.name = "read_file"}).actions.empty(), "another tool is left alone");
  host.conversation.limit = 1000;
  host.conversation.used = 700;
  expect(host.agent_stop().actions.empty(), "70 % is not over 70 %");
  host.conversation.used = 701;
  expect(host.agent_stop().has(AGENTD_ACT_COMPACT), "over 70 % is compacted");
  host.conversation.limit = 0;
  expect(host.agent_stop().actions.empty(), "an unknown limit is never full");
}

void check_throws(fake_host& host) {
  const outcome memory = host.before_tool_call({.name = "memory"});
  expect(memory.status == AGENTD_E_NOMEM, "bad_alloc is AGENTD_E_NOMEM");
  const outcome number = host.before_tool_call({.name = "number"});
  expect(number.status == AGENTD_E_INTERNAL && !number.error.empty(), "7 is AGENTD_E_INTERNAL");
  const outcome text = host.before_tool_call({.name = "ls"});
  expect(text.status == AGENTD_E_INTERNAL, "a std::exception is AGENTD_E_INTERNAL");
  expect(text.error == "broken by ls", "what() is the text of the failure");
}

int check(std::string_view kind, agentd_entry entry) {
  fake_host host(entry);
  check_entry(host);
  expect(host.create().status == AGENTD_OK, "create() makes an instance");
  if (failures != 0) return 1;
  if (kind == "hello") check_hello(host);
  if (kind == "throws") check_throws(host);
  expect(host.destroy().status == AGENTD_OK, "destroy() works");
  for (const std::string& breach : host.breaches()) expect(false, breach.c_str());
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) return std::fprintf(stderr, "usage: check_module hello|throws FILE\n"), 2;
  void* const module = dlopen(words[2], RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 1;
  auto* const entry = reinterpret_cast<agentd_entry>(dlsym(module, AGENTD_ENTRY_SYMBOL));
  if (entry == nullptr) return std::fprintf(stderr, "no %s\n", AGENTD_ENTRY_SYMBOL), 1;
  return check(words[1], entry);
}
