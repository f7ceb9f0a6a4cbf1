// SPDX-License-Identifier: Apache-2.0
#include "core/workplace/cage_setup.h"

#include <pwd.h>
#include <unistd.h>

#include <utility>

#include "core/base/mutex.h"
#include "core/workplace/hook_setup.h"

namespace agentd {
namespace {

// Without HOME: the keys there stay hidden all the same.
std::string home_of_this_user() {
  passwd row{}, *found = nullptr;
  std::string text(16 * 1024, '\0');
  if (::getpwuid_r(::geteuid(), &row, text.data(), text.size(), &found) != 0 || found == nullptr) return {};
  return found->pw_dir;
}

std::string expanded_place(const std::string& path, const std::string& user_home) {
  return path == "~" || path.starts_with("~/") ? user_home + path.substr(1) : path;
}

std::vector<std::string> paths(const Config& config, const std::string& key, const std::string& user_home) {
  std::vector<std::string> out;
  for (const std::string& each : config.list(key)) out.push_back(expanded_place(each, user_home));
  return out;
}

}  // namespace

cage::CageSettings cage_settings(const ProcessSurroundings& surroundings, const Config& config, const std::string& home,
                                 const std::vector<std::string>& roots, std::vector<std::string> kept) {
  cage::CageSettings out;
  out.helper = cage_program(surroundings.executable);
  out.user_home = surroundings.environment("HOME").value_or("");
  if (out.user_home.empty()) out.user_home = home_of_this_user();
  out.agentd_home = home;
  out.xdg_config = surroundings.environment("XDG_CONFIG_HOME").value_or("");
  out.path = surroundings.environment("PATH").value_or("");
  out.roots = roots;
  out.kept = std::move(kept);
  out.readable = paths(config, "sandbox.readable", out.user_home);
  out.writable = paths(config, "sandbox.writable", out.user_home);
  if (config.is_set("sandbox.caches")) out.caches = paths(config, "sandbox.caches", out.user_home);
  out.network = config.list("sandbox.network");
  out.all_network = out.network == std::vector<std::string>{"all"};
  if (out.all_network) out.network.clear();
  out.local_sockets = config.flag("sandbox.local_sockets");
  return out;
}

Result<void> check_cage_settings(const ProcessSurroundings& surroundings, const Config& config,
                                 const std::string& home) {
  return cage::check_settings(cage_settings(surroundings, config, home, {}, {}));
}

Result<cage::Layer> cage_layer(const Config& config, const cage::Layers& layers) {
  const std::string wish = config.text("sandbox.layer");
  if (wish == "auto") {
    if (const auto best = layers.best()) return *best;
    return Error{Code::kUnavailable, cage::no_layer_text(layers)};
  }
  const cage::Layer layer = wish == "landlock" ? cage::Layer::kLandlock : cage::Layer::kBubblewrap;
  const cage::LayerState& state = layers.of(layer);
  if (state.holds) return layer;
  return Error{Code::kUnavailable,
               "commands are not run: sandbox.layer is " + wish + ", and " + state.why + " (" + state.cure + ")"};
}

namespace {

// Most sessions run no command, and asking the machine takes longer than opening one.
class LazyCage final : public CommandCage {
 public:
  LazyCage(cage::CageSettings settings, Config config) : settings_(std::move(settings)), config_(std::move(config)) {}

  Result<CagedCommand> wrap(const std::vector<std::string>& argv, const std::string& cwd,
                            const std::vector<std::string>& environment) override {
    return made().wrap(argv, cwd, environment);
  }

 private:
  CommandCage& made() {
    const MutexLock lock(mutex_);
    if (!cage_) cage_ = make();
    return *cage_;
  }
  std::unique_ptr<CommandCage> make() const {
    const auto layer = cage_layer(config_, cage::probe(settings_.helper));
    if (!layer) return std::make_unique<cage::NoCage>(layer.error().message);
    auto made = cage::Cage::make(settings_, *layer);
    if (!made) return std::make_unique<cage::NoCage>("commands are not run: " + made.error().message);
    return std::move(*made);
  }

  const cage::CageSettings settings_;
  const Config config_;
  Mutex mutex_;
  std::unique_ptr<CommandCage> cage_ GUARDED_BY(mutex_);  // once made, it stays
};

}  // namespace

std::unique_ptr<CommandCage> make_cage(cage::CageSettings settings, const Config& config) {
  if (cage_is_off(config)) return nullptr;
  return std::make_unique<LazyCage>(std::move(settings), config);
}

bool cage_is_off(const Config& config) { return config.text("sandbox.layer") == "off"; }

}  // namespace agentd
