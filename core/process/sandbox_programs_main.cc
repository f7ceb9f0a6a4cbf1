// SPDX-License-Identifier: Apache-2.0
// sandbox_programs_main.cc - writes the source of ground_program(), rest_program() and
// caged_program() to standard output while agentd
// is built.
#include <cstdio>
#include <string>

#include "core/process/sandbox_policy.h"

namespace agentd {
namespace {

bool write_program(const std::string& name, const std::vector<FilterInstruction>& program) {
  std::printf("constexpr FilterInstruction %s[] = {", name.c_str());
  for (const FilterInstruction& each : program)
    std::printf("{%u, %u, %u, %uu},", unsigned{each.code}, unsigned{each.jump_true}, unsigned{each.jump_false},
                unsigned{each.value});
  std::printf("};\n");
  return !program.empty();
}

void write_table(const char* name, const char* programs, std::size_t count) {
  std::printf("constexpr FilterProgram %s[] = {", name);
  for (std::size_t i = 0; i < count; ++i) std::printf("%s%zu, ", programs, i);
  std::printf("};\n");
}

// The capabilities of an index of either table; the tables differ in the meaning of the third bit.
OpenedCalls opened_at(std::size_t index, bool OpenedCalls::*third) {
  OpenedCalls out;
  out.network = (index & 1) != 0;
  out.processes = (index & 2) != 0;
  out.*third = (index & 4) != 0;
  out.files_write = (index & 8) != 0;
  return out;
}

bool write_ground(std::size_t index) {
  const OpenedCalls opened = opened_at(index, &OpenedCalls::files_read);
  return ground_index(opened) == index && write_program("kGround" + std::to_string(index), make_ground_program(opened));
}

bool write_rest(std::size_t index) {
  const OpenedCalls opened = opened_at(index, &OpenedCalls::own_limits);
  const long landlock = kLandlockAges.at(index / 16);
  return rest_index(opened, landlock) == index &&
         write_program("kRest" + std::to_string(index), make_rest_program(opened, landlock));
}

bool write_caged(std::size_t index) {
  CagedCalls calls;
  calls.apart = (index & 1) != 0;
  calls.guards_emptying = (index & 2) != 0;
  const bool local = index >= kCagedPrograms / 2;
  calls.local_sockets = local;
  calls.sockets = static_cast<CagedCalls::Sockets>((local ? index - kCagedPrograms / 2 : index) >> 2);
  return (caged_index(calls) == index || (local && !calls.apart)) &&
         write_program("kCaged" + std::to_string(index), make_caged_program(calls));
}

bool write_all() {
  std::printf("#include \"core/process/sandbox_programs.h\"\n\nnamespace agentd {\nnamespace {\n\n");
  for (std::size_t i = 0; i < kGroundPrograms; ++i)
    if (!write_ground(i)) return false;
  for (std::size_t i = 0; i < kRestPrograms; ++i)
    if (!write_rest(i)) return false;
  for (std::size_t i = 0; i < kCagedPrograms; ++i)
    if (!write_caged(i)) return false;
  write_table("kCaged", "kCaged", kCagedPrograms);
  write_table("kGround", "kGround", kGroundPrograms);
  write_table("kRest", "kRest", kRestPrograms);
  std::printf(
      "\n}  // namespace\n\n"
      "FilterProgram ground_program(const OpenedCalls& opened) {\n"
      "  return kGround[ground_index(opened)];\n}\n"
      "FilterProgram rest_program(const OpenedCalls& opened, long landlock) {\n"
      "  return kRest[rest_index(opened, landlock)];\n}\n"
      "FilterProgram caged_program(const CagedCalls& calls) {\n"
      "  return kCaged[caged_index(calls)];\n}\n\n}  // namespace agentd\n");
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
}

}  // namespace
}  // namespace agentd

int main() {
  if (agentd::write_all()) return 0;
  std::fprintf(stderr, "sandbox_programs: the system call filters could not be built\n");
  return 1;
}
