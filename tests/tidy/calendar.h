// SPDX-License-Identifier: Apache-2.0
#pragma once
// calendar.h - the rule that what depends on the day has a test that runs on other days: tests/calendar/dates.txt has a
// row "SOURCE | PROGRAM | TESTS" for each source that reads the wall clock, and `ctest -L calendar` runs those tests.
//
// Threading: pure functions over the files.

#include <filesystem>

#include "tests/tidy/tree.h"

namespace tidy {

// Sources of core, plugins, providers and tests that read the date and have no row, rows whose source reads none, and
// tests of rows that their program does not have. A test of the built program reads the date as well if it names a
// model of core/tokens/models.json that retires.
Findings unlisted_dates(const std::filesystem::path& root);

}  // namespace tidy
