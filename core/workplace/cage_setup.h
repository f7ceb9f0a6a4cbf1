// SPDX-License-Identifier: Apache-2.0
#pragma once
// cage_setup.h - builds the sandbox of commands from the configuration (sandbox.*), which a project cannot set.
//
// Threading: thread-safe.

#include <memory>
#include <string>
#include <vector>

#include "core/cage/cage.h"
#include "core/config/config.h"
#include "core/runtime/surroundings.h"

namespace agentd {

// The settings for commands that work in these roots. `kept`: kept_paths().
cage::CageSettings cage_settings(const ProcessSurroundings& surroundings, const Config& config, const std::string& home,
                                 const std::vector<std::string>& roots, std::vector<std::string> kept);

// cage::check_settings() of these settings.
Result<void> check_cage_settings(const ProcessSurroundings& surroundings, const Config& config,
                                 const std::string& home);

// The layer that the settings want on this machine. kUnavailable: none holds, with the reasons and what to do.
Result<cage::Layer> cage_layer(const Config& config, const cage::Layers& layers);

// The sandbox around commands: null where the settings say off. It is made for the first command; where none can be,
// each is refused with the reason.
std::unique_ptr<CommandCage> make_cage(cage::CageSettings settings, const Config& config);

// True where the settings switch it off.
bool cage_is_off(const Config& config);
// The warning at the start of each run then.
inline constexpr std::string_view kCageOffText =
    "commands of tools run without a sandbox, with all your rights: sandbox.layer is off";

}  // namespace agentd
