// SPDX-License-Identifier: Apache-2.0
#pragma once
// layers.h - the kinds of sandbox, and which of them this machine can make.
//
// Landlock with seccomp needs no namespace, so it holds where those are switched off: in containers, and where a
// security module keeps them for named programs. Bubblewrap is stronger: what is closed is not there at all, and the
// command has a network, processes and a /tmp of its own.
//
// Threading: thread-safe.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace agentd::cage {

enum class Layer : std::uint8_t { kBubblewrap, kLandlock };

std::string_view name_of(Layer layer);  // "bubblewrap", "landlock"

struct LayerState {
  bool holds = false;
  std::string facts;  // where it holds: its version and what it does not guard
  std::string why;    // where it does not: one sentence without a full stop
  std::string cure;   // what to do about it, one line
};

struct Layers {
  LayerState bubblewrap, landlock;
  const LayerState& of(Layer layer) const { return layer == Layer::kBubblewrap ? bubblewrap : landlock; }
  // The strongest that holds.
  std::optional<Layer> best() const;
};

// Asks the machine: runs a command in each layer as it would be used. `helper` is the path of
// agentd-cage; empty = it is not installed, and nothing holds. The first call of a process asks, the others get its
// answer.
const Layers& probe(const std::string& helper);
// Asks again.
Layers probe_now(const std::string& helper);

// The path of bubblewrap; empty = it is not installed.
std::string bubblewrap_program();

}  // namespace agentd::cage
