#include "handlers/api/arqs.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "handlers/api/json.h"
#include "state/base/embedded_json.h"
#include "state/base/log.h"
#include "state/base/text.h"
#include "state/base/uuid.h"
#include "state/base/visible.h"

namespace reclaim::api {
namespace {

// A tenth of a millisecond, about.
constexpr std::size_t kArqsAPiece = 32;
constexpr std::size_t kArqBytes = 768;  // about what one takes in a list

constexpr std::array<std::string_view, 5> kHandleMembers{"domain", "bus", "device", "function",
                                                         "managed"};

// Cyborg's ARQ_BIND_STATES_STATUS_MAP: bound, or known never to be.
bool is_resolved(ArqState state) {
  return state == ArqState::bound || state == ArqState::bind_failed || state == ArqState::deleting;
}

// Cyborg wipes what bound it; we may still know, and show the same.
bool is_unbound(ArqState state) {
  return state == ArqState::initial || state == ArqState::unbound;
}

// It binds nothing, or nothing any more.
bool is_over(const Arq& arq) {
  return !arq.holds_device() || arq.released;
}

bool visible(const ArqRow& row, const std::optional<std::string>& project) {
  return !project || (!project->empty() && row.arq.project_id == *project);
}

void put_handle(JsonWriter& writer, const ArqRow& row, Microversion version) {
  const Arq& arq = row.arq;
  put_key(writer, "attach_handle_info");
  writer.StartObject();
  if (arq.address) {
    put_member(writer, "domain", fmt::format("{:04x}", arq.address->domain));
    put_member(writer, "bus", fmt::format("{:02x}", arq.address->bus));
    put_member(writer, "device", fmt::format("{:02x}", arq.address->slot));
    put_member(writer, "function", fmt::format("{:x}", arq.address->function));
  }
  const auto other = parse_shallow(arq.other_info, kArqBytesMax);
  if (other && other->IsObject()) {
    for (const auto& member : other->GetObject()) {
      const std::string_view name(member.name.GetString(), member.name.GetStringLength());
      const bool ours =
          std::find(kHandleMembers.begin(), kHandleMembers.end(), name) != kHandleMembers.end();
      if (ours) continue;
      put_key(writer, reclaim::visible(name));
      put_value(writer, member.value);
    }
  }
  if (version >= kVersionManaged && arq.attach_handle_type == "PCI") {
    put_key(writer, "managed");
    writer.Bool(row.managed);
  }
  writer.EndObject();
}

void put_arq(JsonWriter& writer, const ArqRow& row, Microversion version,
             const std::string& base_url) {
  ArqRow shown = row;
  if (is_unbound(row.arq.state)) {
    shown.arq.hostname.clear();
    shown.arq.device_rp_uuid.clear();
    shown.arq.instance_uuid.clear();
    shown.arq.attach_handle_type.clear();
    shown.arq.attach_handle_uuid.clear();
    shown.arq.address.reset();
    shown.arq.other_info.clear();
  }
  const Arq& arq = shown.arq;
  writer.StartObject();
  put_member(writer, "uuid", arq.uuid);
  put_member(writer, "state", to_string(arq.state));
  put_member_or_null(writer, "project_id", arq.project_id);
  put_member_or_null(writer, "device_profile_name", arq.device_profile_name);
  put_key(writer, "device_profile_group_id");
  writer.Int64(arq.device_profile_group_id);
  put_member_or_null(writer, "hostname", arq.hostname);
  put_member_or_null(writer, "device_rp_uuid", arq.device_rp_uuid);
  put_member_or_null(writer, "instance_uuid", arq.instance_uuid);
  put_member(writer, "attach_handle_type", arq.attach_handle_type);
  put_member_or_null(writer, "attach_handle_uuid", arq.attach_handle_uuid);
  put_handle(writer, shown, version);
  put_member_or_null(writer, "created_at", arq.created_at);
  put_member_or_null(writer, "updated_at", arq.updated_at);
  put_self_link(writer, base_url + "/v2/accelerator_requests/" + arq.uuid);
  writer.EndObject();
}

}  // namespace

Result<ArqFilter> parse_arq_filter(const Parameters& parameters) {
  ArqFilter filter;
  std::optional<std::string> bind_state;
  for (const auto& [name, value] : parameters) {
    if (name != "instance" && name != "bind_state") {
      return Error{Errc::invalid,
                   fmt::format("Unknown argument: '{}'; accepted are instance, bind_state",
                               printable_excerpt(name, 40))};
    }
    auto& wanted = name == "instance" ? filter.instance : bind_state;
    if (wanted) return Error{Errc::invalid, fmt::format("{} is given twice", name)};
    wanted = value;
  }
  if (filter.instance && !looks_like_uuid(*filter.instance)) {
    return Error{Errc::invalid, fmt::format("instance: Expected a uuid but received '{}'",
                                            printable_excerpt(*filter.instance))};
  }
  if (bind_state && *bind_state != "resolved") {
    return Error{Errc::invalid, fmt::format("bind_state = '{}'; accepted is resolved",
                                            printable_excerpt(*bind_state, 40))};
  }
  if (filter.instance) filter.instance = lower(*filter.instance);
  filter.resolved = bind_state.has_value();
  return filter;
}

std::vector<const ArqRow*> told_of(Arqs::const_iterator first, Arqs::const_iterator last,
                                   const std::optional<std::string>& project) {
  std::vector<const ArqRow*> binding;
  const ArqRow* heard_last = nullptr;
  for (; first != last; ++first) {
    const ArqRow& row = *first->second;
    if (!visible(row, project)) continue;
    if (!is_over(row.arq)) binding.push_back(&row);
    if (heard_last == nullptr || row.arq.heard_at > heard_last->arq.heard_at) heard_last = &row;
  }
  if (binding.empty() && heard_last != nullptr) binding.push_back(heard_last);
  return binding;
}

std::string doubt_of(const std::vector<const ArqRow*>& told) {
  std::vector<std::string_view> hosts;
  hosts.reserve(told.size());
  for (const ArqRow* row : told) hosts.push_back(row->host);
  return fmt::format(
      "hosts {} each say that it binds a device of theirs, and Cyborg knows which it "
      "is: GET /v2/accelerator_requests lists what each says",
      fmt::join(hosts, ", "));
}

ArqList::ArqList(std::shared_ptr<const Arqs> arqs, ArqFilter filter, Microversion version,
                 std::string base_url)
    : arqs_(std::move(arqs)),
      filter_(std::move(filter)),
      version_(version),
      base_url_(std::move(base_url)),
      next_(arqs_->begin()) {
  writer_.StartObject();
  put_key(writer_, "arqs");
  writer_.StartArray();
}

bool ArqList::go_on() {
  // Room is taken by the list that is being made, not by those that wait.
  if (next_ == arqs_->begin() && !filter_.instance && !filter_.project) {
    body_.reserve(arqs_->size() * kArqBytes);
  }
  for (std::size_t seen = 0; seen < kArqsAPiece && next_ != arqs_->end(); ++seen) {
    const auto last = arqs_->upper_bound(next_->first);
    for (const ArqRow* row : told_of(next_, last, filter_.project)) look_at(*row);
    if (!unresolved_on_.empty()) return false;
    next_ = last;
  }
  const bool more = next_ != arqs_->end();
  if (!more) {
    writer_.EndArray();
    writer_.EndObject();
  }
  body_.append(buffer_.GetString(), buffer_.GetSize());
  buffer_.Clear();
  return more;
}

void ArqList::look_at(const ArqRow& row) {
  const bool wanted = !filter_.instance ||
                      (!is_unbound(row.arq.state) && row.arq.instance_uuid == *filter_.instance);
  if (!wanted) return;
  if (!filter_.resolved || is_resolved(row.arq.state)) {
    return put_arq(writer_, row, version_, base_url_);
  }
  // A host may write of an instance that another one serves.
  if (filter_.instance && row.is_of_host) unresolved_on_ = row.host;
}

std::optional<std::string> ArqList::take() {
  if (!unresolved_on_.empty()) return std::nullopt;
  return std::move(body_);
}

std::string arq_body(const ArqRow& row, Microversion version, const std::string& base_url) {
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  put_arq(writer, row, version, base_url);
  return text_of(buffer);
}

}  // namespace reclaim::api
