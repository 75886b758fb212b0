#include "state/device/record.h"

#include <fmt/core.h>

#include "state/base/enum_names.h"
#include "state/base/fields.h"
#include "state/base/log.h"
#include "state/device/record_fields.h"

namespace reclaim {
namespace {

constexpr auto kFlows = enum_names<Flow::cyborg>("nova", "cyborg");
constexpr auto kStarts = enum_names<CleanStart::ordered>("automatic", "awaited", "ordered");
constexpr auto kSources = enum_names<InstanceSource::arq>("not_seen", "allocation", "arq");

// Checks that the fields fit each other: what was written together is read together.
void check(field::TextReader& reader, const Fields& fields, const Record& record) {
  if (reader.problem()) return;
  if (const std::string& state = fields.at("device_state");
      state != to_string(device_state(record.stage))) {
    return reader.fail(
        Error{Errc::invalid, fmt::format("field 'device_state' is '{}', but stage '{}' "
                                         "means '{}'; both were written together, so "
                                         "one was changed by hand",
                                         printable_excerpt(state), to_string(record.stage),
                                         to_string(device_state(record.stage)))});
  }
  if (record.epoch > kStoredEpochMax) {
    return reader.wrong("epoch", fields.at("epoch"), fmt::format("at most {}", kStoredEpochMax));
  }
  if (!record.cleanable() && record.stage != Stage::available && record.stage != Stage::allocated) {
    reader.fail(Error{
        Errc::invalid,
        fmt::format(
            "field 'stage' is '{}', but a device of another type than {} that no device_spec entry "
            "lists is available or allocated",
            to_string(record.stage), kTypeNvme)});
  }
  if (record.is_drive() && record.by_steps) {
    reader.wrong("by_steps", fields.at("by_steps"), fmt::format("false of type {}", kTypeNvme));
  }
}

}  // namespace

std::string_view to_string(Flow flow) {
  return kFlows[flow];
}

Result<Flow> parse_flow(std::string_view text) {
  if (const auto flow = kFlows.find(text)) return *flow;
  return Error{Errc::invalid, fmt::format("'{}' is not a flow; {} are", printable_excerpt(text),
                                          kFlows.list(" and "))};
}

std::string_view to_string(CleanStart start) {
  return kStarts[start];
}

Result<CleanStart> parse_clean_start(std::string_view text) {
  if (const auto start = kStarts.find(text)) return *start;
  return Error{Errc::invalid,
               fmt::format("'{}' is none of {}", printable_excerpt(text), kStarts.list(" and "))};
}

std::string_view to_string(InstanceSource source) {
  return kSources[source];
}

Result<InstanceSource> parse_instance_source(std::string_view text) {
  if (const auto source = kSources.find(text)) return *source;
  return Error{Errc::invalid,
               fmt::format("'{}' is none of {}", printable_excerpt(text), kSources.list(" and "))};
}

Fields encode_record(const Record& record) {
  return field::to_texts(record);
}

Result<Record> decode_record(const Fields& fields) {
  Record record;
  field::TextReader reader(fields);
  visit_fields(reader, record);
  check(reader, fields, record);
  if (reader.problem()) return *reader.problem();
  return record;
}

}  // namespace reclaim
