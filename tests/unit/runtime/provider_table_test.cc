// SPDX-License-Identifier: Apache-2.0
// The settings and the page of providers follow the table of providers.
#include "core/runtime/provider_table.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/base/file.h"
#include "core/config/config_keys.h"
#include "core/runtime/provider_setup.h"

namespace agentd {
namespace {

std::set<std::string> choices_of(std::string_view key) {
  std::set<std::string> out;
  std::string_view rest = find_key(key)->choices;
  while (!rest.empty()) {
    const std::size_t bar = std::min(rest.find('|'), rest.size());
    out.emplace(rest.substr(0, bar));
    rest.remove_prefix(std::min(bar + 1, rest.size()));
  }
  return out;
}

TEST(ProviderTable, IsWhatTheSettingsOffer) {
  std::set<std::string> names, formats;
  for (const ProviderRow& row : provider_rows()) EXPECT_TRUE(names.emplace(row.name).second) << row.name;
  for (const ProviderFormat& format : provider_formats()) formats.emplace(format.name);
  EXPECT_EQ(choices_of("provider"), names);
  EXPECT_EQ(choices_of("providers.*.kind"), formats);
  for (const ProviderRow& row : provider_rows())
    EXPECT_EQ(formats.contains(std::string(row.format)), row.name != kScripted) << row.name;
}

TEST(ProviderTable, HasTheDefaultsOfTheSettings) {
  for (const ProviderRow& row : provider_rows()) {
    const std::string section = "providers." + std::string(row.name) + ".";
    for (const auto& [setting, value] : {std::pair{"base_url", row.base_url}, {"api_key_env", row.key_variable}}) {
      const std::string_view standard = find_key(section + setting)->standard;
      EXPECT_TRUE(standard.empty() || standard == value) << row.name << ": " << standard;
    }
  }
}

TEST(ProviderTable, IsOnThePageOfModels) {
  const auto page = read_file(AGENTD_SOURCE_DIR "/docs/reference/models.md", 1u << 20);
  ASSERT_TRUE(page) << page.error().message;
  for (const ProviderRow& row : provider_rows())
    for (const std::string_view name : {row.name, row.key_variable, row.other_variable})
      EXPECT_TRUE(name.empty() || page->find("`" + std::string(name) + "`") != std::string::npos) << name;
}

TEST(ProviderTable, SetsUpEveryProviderWithoutAConfiguration) {
  const auto config = Config::load({});
  ASSERT_TRUE(config) << config.error().message;
  for (const ProviderRow& row : provider_rows()) {
    if (row.name == kScripted) continue;
    const auto setup = provider_setup(*config, ModelTable::embedded(), std::string(row.name));
    ASSERT_TRUE(setup) << setup.error().message;
    EXPECT_EQ(setup->url, row.base_url);
    EXPECT_EQ(setup->key_variable, row.key_variable);
    EXPECT_EQ(setup->format->name, row.format);
  }
}

}  // namespace
}  // namespace agentd
