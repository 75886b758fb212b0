#include "state/device/machine_dot.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "state/device/machine.h"

namespace reclaim {
namespace {

using S = Stage;
using T = Trigger;

constexpr std::array<std::pair<Stage, Trigger>, 20> kMain{{
    {S::available, T::allocation_seen},
    {S::allocated, T::dirty_seen},
    {S::pending_cleaning, T::admitted},
    {S::guarding, T::guards_passed},
    {S::rechecking, T::still_burned},
    {S::preparing, T::steps_done},
    {S::baselining, T::baseline_taken},
    {S::erasing, T::erased},
    {S::verifying, T::verified},
    {S::restoring, T::driver_restored},
    {S::looking, T::look_ok},
    {S::releasing, T::released},
    // It waits.
    {S::guarding, T::guards_wait},
    {S::rechecking, T::placement_changed},
    {S::looking, T::release_withheld},
    // It ends in error, and an operator begins anew.
    {S::preparing, T::step_failed},
    {S::erasing, T::erase_failed},
    {S::verifying, T::verify_failed},
    {S::verifying, T::verified_unfit},
    {S::error, T::operator_clean},
}};

bool is_shown(const Row& row, MachineView view) {
  return view == MachineView::all ||
         std::find(kMain.begin(), kMain.end(), std::pair(row.from, row.on)) != kMain.end();
}

std::string style_of(const Row& row, MachineView view) {
  std::string style;
  if (row.effect == EffectKind::release) style += ", color=green";
  if (view == MachineView::all) return style;
  if (row.to == Stage::error) style += ", color=red";
  const bool waits =
      row.on == T::guards_wait || row.on == T::placement_changed || row.on == T::release_withheld;
  if (waits) style += ", style=dashed";
  // An edge that leads back does not say what stands above.
  if (row.to < row.from) style += ", constraint=false";
  return style;
}

}  // namespace

std::string render_machine_dot(MachineView view) {
  const auto rows = machine_rows();
  const auto uses = [&](Stage stage) {
    return std::any_of(rows.begin(), rows.end(), [&](const Row& row) {
      return is_shown(row, view) && (row.from == stage || row.to == stage);
    });
  };
  std::string out = "digraph reclaim {\n";
  // The main way leads from above to below, so that it fits a page.
  out += view == MachineView::main ? "  rankdir=TB;\n  newrank=true;\n" : "  rankdir=LR;\n";
  out += "  node [shape=box, style=rounded];\n";
  if (view == MachineView::main) out += "  available;\n  allocated;\n  pending_cleaning;\n";
  out += "  subgraph cluster_cleaning {\n    label=\"cleaning\";\n";
  for (std::size_t i = 0; i < kStageCount; ++i) {
    const auto stage = static_cast<Stage>(i);
    if (is_busy(stage) && uses(stage)) out += fmt::format("    {};\n", to_string(stage));
  }
  out += "  }\n";
  for (const Row& row : rows) {
    if (!is_shown(row, view)) continue;
    out += fmt::format("  {} -> {} [label=\"{}\"{}];\n", to_string(row.from), to_string(row.to),
                       to_string(row.on), style_of(row, view));
  }
  return out + "}\n";
}

}  // namespace reclaim
