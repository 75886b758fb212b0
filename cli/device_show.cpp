// reclaim device show.
#include <ostream>

#include "cli/commands.h"
#include "cli/complain.h"
#include "cli/device_summary.h"
#include "cli/record_cells.h"
#include "cli/records.h"
#include "cli/timeline_show.h"
#include "handlers/drive_wear.h"
#include "handlers/survey/plan.h"
#include "handlers/survey/strictest.h"
#include "state/base/text.h"
#include "state/device/tagged_device.h"

namespace reclaim::cli {
namespace {

// Leaves a field empty that is not known, for people. For programs it stays what it is.
void blank_what_is_unknown(Fields& fields) {
  for (auto& [name, value] : fields) {
    if (value == Cell(std::int64_t{-1})) value = Cell();
  }
}

// All that is recorded, and what follows from it.
Fields all_fields(Session& session, const Record& record) {
  Fields fields;
  for (auto& [name, value] : record_cells(record)) {
    // Long, and for machines; redis-cli shows them to whoever needs them.
    if (name == "baseline" || name == "enrolment" || name == "certificate_pending") continue;
    if (name == "instance") {
      fields.emplace_back(name, tenant_of(record));
      fields.emplace_back("last_instance", std::move(value));
    } else if (name == "arq") {
      fields.emplace_back(name, arq_of(record));
      fields.emplace_back("last_arq", std::move(value));
    } else {
      fields.emplace_back(name, std::move(value));
    }
  }
  if (!record.tags.empty()) {
    fields.emplace_back("tagged_device", RawJson{tagged_device(record)});
  }
  if (const auto method = erase_of(record.plan)) {
    fields.emplace_back("sanitization_class", std::string(nvme::sanitization_class(*method)));
  }
  if (record.host == session.settings().host) {
    const auto id = [](const std::string& hex) {
      return parse_hex<std::uint16_t>(hex).value_or(0);
    };
    const DevicePolicyLookup lookup = record.is_drive()
                                          ? config::device_policy_lookup(session.settings())
                                          : config::function_policy_lookup(session.settings());
    auto policy = lookup(id(record.vendor_id), id(record.product_id), record.address);
    if (policy) policy = raised_by_names(*std::move(policy), record.policies);
    fields.emplace_back("policy", policy ? describe_origin(*policy) : "");
    fields.emplace_back("verify", policy ? std::string(nvme::to_string(policy->rules.verify)) : "");
  }
  const std::string kept = said_to_be_kept(record.findings);
  if (!kept.empty() && is_busy(record.stage)) fields.emplace_back("not_returned", kept);
  return fields;
}

}  // namespace

int run_device_show(Session& session, const DeviceShowOptions& options, std::ostream& out,
                    std::ostream& err) {
  const auto record = find_device(session, or_this_host(session, options.host), options.device);
  if (!record) return complain(err, record.error());
  if (options.timeline) return show_timeline(session, *record, options.view, out, err);
  const bool table = options.view.format == Format::table;
  const bool brief = table && !options.all && options.view.columns.empty();
  Fields fields = brief
                      ? device_summary(*record, session.clock().now().wall, session.settings().host)
                      : all_fields(session, *record);
  if (table) blank_what_is_unknown(fields);
  const auto text = format_show(fields, options.view);
  if (!text) return complain(err, text.error());
  out << *text;
  if (brief) out << "all that is recorded: reclaim device show --all\n";
  return 0;
}

}  // namespace reclaim::cli
