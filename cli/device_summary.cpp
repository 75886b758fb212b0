#include "cli/device_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "cli/device_order.h"
#include "cli/fleet_status.h"
#include "handlers/drive_wear.h"
#include "handlers/survey/admission.h"
#include "handlers/survey/device_kind.h"
#include "handlers/survey/host_pause.h"
#include "handlers/survey/plan.h"
#include "handlers/survey/taken.h"

namespace reclaim::cli {
namespace {

// The time is to the second: the record has more.
std::string since_text(const Record& record, WallMs now) {
  if (record.stage_since.ms == 0) return {};
  return fmt::format(" for {}, since {}", age_text((now.ms - record.stage_since.ms) / 1000),
                     to_iso8601_seconds(record.stage_since));
}

std::string device_text(const Record& record) {
  std::vector<std::string> parts{record.model.empty() ? record.type : record.model};
  if (!record.serial.empty()) parts.push_back("serial " + record.serial);
  if (record.capacity_bytes > 0) parts.push_back(size_text(record.capacity_bytes));
  if (record.flow == Flow::cyborg) parts.emplace_back("Cyborg's");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string why_of(const Record& record) {
  if (!record.damage.empty()) return record.damage;
  if (!record.cleanable()) return std::string(kNotListed);
  if (const std::string note = note_of(record); !note.empty()) return note;
  switch (device_state(record.stage)) {
    case DeviceState::available:
      return record.certificate_id.empty() ? "nobody has it; no erasure of it is on record"
                                           : "nobody has it; its last erasure is certified";
    case DeviceState::allocated:
      return record.consumer().empty() ? "it is bound" : "an instance has it";
    case DeviceState::pending_cleaning:
      return "its tenancy has ended; its cleaning begins at the next look";
    case DeviceState::cleaning:
      return record.clean_step.starts_with("hold.") ? "its plan waits for an operator's word"
                                                    : "its tenancy has ended";
    case DeviceState::error:
      return "not recorded";
  }
  return {};
}

// Names the command that ends it, or what an operator has to decide.
std::string what_to_do(const Record& record, const std::string& host) {
  const std::string device =
      to_string(record.address) + (record.host == host ? "" : " --host " + record.host);
  const DeviceState state = device_state(record.stage);
  if (!record.cleanable()) return "nothing, or give it an entry in [devices] device_spec";
  if (is_taken_in_error(record)) {
    return fmt::format(
        "delete the instance that has it, or ask its tenant to; when it is free: reclaim device "
        "clean {}",
        device);
  }
  if (is_erased_and_retired(record)) {
    return fmt::format("take it out; or use it after all: reclaim device set {} --enrol", device);
  }
  if (state == DeviceState::error) {
    return fmt::format("remove the cause, then: reclaim device clean {}", device);
  }
  if (record.clean_step.starts_with("hold.")) {
    return fmt::format("approve it: reclaim device unhold {}", device);
  }
  if (state == DeviceState::cleaning) return "nothing: reclaim watch follows it";
  if (has_anothers_dirt(record)) {
    return "decide whether the instance may keep it (docs/metrics.md, ReclaimDirtyAllocated); it "
           "is cleaned when its tenancy has ended";
  }
  if (record.maintenance) {
    return fmt::format("give it back: reclaim device set {} --maintenance off", device);
  }
  if (record.waiting_for == kMaintenanceOver) return "nothing";
  if (record.held) return "nothing; to offer it again, un-reserve it in Placement";
  if (state == DeviceState::allocated) return "nothing: it is cleaned when its tenancy has ended";
  if (record.waiting_for.starts_with(kPaused)) {
    return fmt::format("nothing, or end the pause: reclaim host resume {}", record.host);
  }
  if (state == DeviceState::pending_cleaning) {
    return record.clean_start == CleanStart::awaited
               ? fmt::format("begin it: reclaim device clean {}", device)
               : "end what it waits for: reclaim plan --guards shows each check";
  }
  return record.waiting_for.empty() ? "nothing" : "what is said above";
}

std::string tenant_text(const Record& record) {
  const std::string instance = tenant_of(record);
  std::vector<std::string> parts;
  if (!instance.empty()) parts.push_back("instance " + instance);
  if (!instance.empty() && !record.project.empty()) parts.push_back("project " + record.project);
  if (const std::string arq = arq_of(record); !arq.empty()) parts.push_back("ARQ " + arq);
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string cleaning_text(const Record& record) {
  if (!is_busy(record.stage)) return {};
  std::string text = fmt::format("{} {:.0f} %", record.clean_step, record.progress_percent);
  if (record.progress_eta_s >= 0) text += fmt::format(", about {} s left", record.progress_eta_s);
  if (!record.progress_message.empty()) text += ", " + record.progress_message;
  return text;
}

std::string certificate_text(const Record& record) {
  if (record.certificate_id.empty()) return {};
  return fmt::format("{}, of {}", record.certificate_id, to_iso8601_seconds(record.certificate_at));
}

}  // namespace

std::string note_of(const Record& record) {
  std::string note;
  if (record.maintenance) {
    const bool on_offer = record.stage == Stage::available && !record.held;
    note = on_offer ? "maintenance, not reserved yet" : "maintenance, reserved";
  } else if (record.held && record.waiting_for != kMaintenanceOver) {
    note = "held by an operator";
  }
  if (record.cyborg_status == "maintaining") {
    note += note.empty() ? "disabled in Cyborg" : ", disabled in Cyborg";
  }
  const bool is_error = record.stage == Stage::error || has_anothers_dirt(record);
  const std::string& text = is_error ? record.last_error : record.waiting_for;
  if (!text.empty()) note += note.empty() ? text : ": " + text;
  return note;
}

std::string tenant_of(const Record& record) {
  return record.stage == Stage::available ? std::string() : record.instance;
}

std::string arq_of(const Record& record) {
  return record.stage == Stage::available ? std::string() : record.arq;
}

Fields device_summary(const Record& record, WallMs now, const std::string& host) {
  Fields fields;
  const auto add = [&fields](const char* name, std::string text) {
    if (!text.empty()) fields.emplace_back(name, std::move(text));
  };
  add("address", fmt::format("{} of host {}", to_string(record.address), record.host));
  add("device", device_text(record));
  add("state", fmt::format("{}{}", to_string(device_state(record.stage)), since_text(record, now)));
  add("why", why_of(record));
  add("what to do", what_to_do(record, host));
  add("cleaning", cleaning_text(record));
  add("tenant", tenant_text(record));
  add("wear", wear_text(wear_of(record.findings)));
  add("certificate", certificate_text(record));
  add("provider", record.provider);
  return fields;
}

}  // namespace reclaim::cli
