#include "tests/exhaustive/happenings.h"

#include <algorithm>
#include <array>

namespace reclaim::exhaustive {
namespace {

constexpr std::array<std::string_view, kExtraCount> kExtras{
    "remade", "second", "cyborg", "unmanaged", "maintenance", "hold",  "steps",
    "disown", "enrol",  "ledger", "stop",      "reboot",      "clock", "reading"};

struct Row {
  Happening happening;
  std::string_view text;
  std::optional<Extra> extra = {};
};

constexpr std::array<Row, kHappeningCount> kRows{{
    {Happening::crash, "the worker dies and comes back"},
    {Happening::lose_put, "the answer to the PUT on its way is lost"},
    {Happening::land_put, "the PUT whose answer was lost is made"},
    {Happening::lose_answer, "the answer to the next record is lost"},
    {Happening::forget, "Redis forgets its last minute"},
    {Happening::begin, "a tenancy begins"},
    {Happening::end, "the tenancy ends"},
    {Happening::swap, "another drive is put in"},
    {Happening::reserve, "an operator reserves by hand"},
    {Happening::unreserve, "an operator un-reserves by hand"},
    {Happening::touch, "the provider's generation moves"},
    {Happening::abort, "an operator says abort"},
    {Happening::clean, "an operator says clean"},
    {Happening::lose_power, "the host loses its power, and Redis all since the erase was recorded"},
    {Happening::forge, "somebody else writes the record"},
    {Happening::restore_erasing, "the worker comes back to a record put back: erasing"},
    {Happening::restore_releasing, "the worker comes back to a record put back: releasing"},
    {Happening::restore_available, "the worker comes back to a record put back: available"},
    {Happening::remake, "Nova makes the provider anew", Extra::remade},
    {Happening::second_comes, "a second provider comes", Extra::second},
    {Happening::second_goes, "the second provider goes", Extra::second},
    {Happening::second_begins, "a tenancy by the second provider begins", Extra::second},
    {Happening::second_ends, "the tenancy by the second provider ends", Extra::second},
    {Happening::maintain_cyborg, "Cyborg has it maintaining", Extra::cyborg},
    {Happening::enable_cyborg, "Cyborg has it enabled", Extra::cyborg},
    {Happening::report, "Cyborg's agent un-reserves it", Extra::cyborg},
    {Happening::maintain, "an operator begins maintenance", Extra::maintenance},
    {Happening::end_maintenance, "an operator ends maintenance", Extra::maintenance},
    {Happening::approve, "an operator says unhold", Extra::hold},
    {Happening::name_steps, "an operator names a step", Extra::steps},
    {Happening::remove_entry, "its device_spec entry is removed", Extra::disown},
    {Happening::disown, "an operator says disown", Extra::disown},
    {Happening::put_entry_back, "its device_spec entry is put back", Extra::disown},
    {Happening::enrol, "an operator enrols the drive", Extra::enrol},
    {Happening::fill_disk, "the ledger's disk is full", Extra::ledger},
    {Happening::free_disk, "the ledger's disk has space again", Extra::ledger},
    {Happening::stop, "the worker is told to stop", Extra::stop},
    {Happening::reboot, "the host reboots", Extra::reboot},
    {Happening::set_back, "the clock is set back by ten minutes", Extra::clock},
    {Happening::set_ahead, "the clock is set ahead by a day", Extra::clock},
    {Happening::visit, "a tenancy that nobody hears of", Extra::reading},
    {Happening::slip_away, "the tenancy ends, and nobody hears of it", Extra::reading},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows.at(i).happening) != i) return false;
  }
  return true;
}
static_assert(in_order());

const Row& row_of(Happening happening) {
  return kRows.at(static_cast<std::size_t>(happening));
}

}  // namespace

std::string_view to_string(Extra extra) {
  return kExtras.at(static_cast<std::size_t>(extra));
}

std::optional<Extras> parse_extras(std::string_view names) {
  Extras extras;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(','), names.size());
    const auto* const at = std::find(kExtras.begin(), kExtras.end(), names.substr(0, end));
    if (at == kExtras.end()) return std::nullopt;
    extras.insert(static_cast<Extra>(at - kExtras.begin()));
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return extras;
}

bool is_another_world(Extra extra) {
  return extra == Extra::cyborg || extra == Extra::unmanaged || extra == Extra::hold;
}

std::string_view to_string(Happening happening) {
  return row_of(happening).text;
}

std::size_t counts_as(Happening happening) {
  return happening < Happening::forge || happening > Happening::restore_available ? 1 : 2;
}

std::optional<Extra> extra_of(Happening happening) {
  return row_of(happening).extra;
}

}  // namespace reclaim::exhaustive
