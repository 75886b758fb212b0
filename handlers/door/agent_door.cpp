#include "handlers/door/agent_door.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "handlers/api/error.h"
#include "handlers/api/json.h"
#include "state/base/log.h"
#include "state/base/text.h"

namespace reclaim::door {
namespace {

using api::JsonWriter;
using api::put_key;
using api::put_member;

constexpr std::string_view kDrives = "/v1/drives";
constexpr std::string_view kOwner = "OWNER_CYBORG";
constexpr std::string_view kSince = "since_ms=";

api::Response json_response(int status, std::string body) {
  api::Response response;
  response.status = status;
  response.headers.push_back({"Content-Type", std::string(api::kJsonContentType)});
  response.body = std::move(body);
  return response;
}

api::Response fault(int status, std::string_view what) {
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  writer.StartObject();
  put_member(writer, "error", what);
  writer.EndObject();
  return json_response(status, api::text_of(buffer));
}

void put_ms(JsonWriter& writer, std::string_view key, WallMs at) {
  put_key(writer, key);
  writer.Int64(at.ms);
}

void put_bool(JsonWriter& writer, std::string_view key, bool value) {
  put_key(writer, key);
  writer.Bool(value);
}

using Known = std::set<std::string>;

void put_traits(JsonWriter& writer, const ReportedDrive& drive, const Known& known) {
  put_key(writer, "traits");
  if (!drive.traits) {
    writer.Null();
    return;
  }
  writer.StartArray();
  for (const std::string& trait : *drive.traits) {
    if (known.contains(trait)) api::put(writer, trait);
  }
  writer.EndArray();
}

void put_drive(JsonWriter& writer, const ReportedDrive& drive, const Known& known) {
  writer.StartObject();
  put_member(writer, "address", to_string(drive.address));
  put_member(writer, "state", to_string(drive.state));
  put_ms(writer, "state_since_ms", drive.state_since);
  put_member(writer, "vendor", drive.vendor_id);
  put_member(writer, "product_id", drive.product_id);
  put_member(writer, "model", drive.model);
  put_member(writer, "serial", drive.serial);
  put_member(writer, "resource_class", drive.resource_class);
  put_traits(writer, drive, known);
  put_member(writer, "action", drive.action);
  put_bool(writer, "managed", drive.managed);
  put_member(writer, "provider", drive.provider);
  put_member(writer, "status", drive.status);
  put_bool(writer, "held", drive.held);
  put_bool(writer, "handed_over", drive.handed_over);
  put_bool(writer, "clean", drive.clean);
  put_bool(writer, "offered", drive.offered);
  put_ms(writer, "cleaned_ms", drive.cleaned_at);
  put_ms(writer, "looked_ms", drive.looked_at);
  writer.EndObject();
}

// The drives that a request is for, and what it asks.
struct Target {
  std::optional<PciAddress> address;  // nothing: all drives
  bool cleanup = false;
  std::optional<WallMs> since;
};

std::optional<WallMs> since_of(std::string_view query) {
  if (!query.starts_with(kSince)) return std::nullopt;
  query.remove_prefix(kSince.size());
  std::int64_t ms = 0;
  const auto [end, error] = std::from_chars(query.data(), query.data() + query.size(), ms);
  if (error != std::errc() || end != query.data() + query.size() || ms < 0) return std::nullopt;
  return WallMs{ms};
}

Result<Target> parse_target(std::string_view text) {
  const Error nothing{Errc::not_found,
                      "there is nothing here; there are /v1/drives, /v1/drives/ADDRESS and "
                      "/v1/drives/ADDRESS/cleanup"};
  std::string_view path = take_until(text, '?');
  Target target;
  if (!text.empty()) {
    target.since = since_of(text);
    if (!target.since) {
      return Error{Errc::invalid, "the one argument that is accepted is since_ms=MILLISECONDS"};
    }
  }
  if (!path.starts_with(kDrives)) return nothing;
  path.remove_prefix(kDrives.size());
  if (path.empty() || path == "/") return target;
  if (path.front() != '/') return nothing;
  path.remove_prefix(1);
  const auto address = parse_pci_address(take_until(path, '/'));
  if (!address) return Error{Errc::invalid, address.error().what};
  target.address = *address;
  if (path.empty()) return target;
  if (path != "cleanup") return nothing;
  target.cleanup = true;
  return target;
}

}  // namespace

class AgentDoor::Impl final : public std::enable_shared_from_this<AgentDoor::Impl> {
 public:
  Impl(std::string host, Ports ports) : host_(std::move(host)), ports_(std::move(ports)) {}

  void handle(const api::Request& request, Once<api::Response> done) {
    const auto target = parse_target(request.target);
    if (!target) {
      const bool unknown = target.error().code == Errc::not_found;
      return done(fault(unknown ? 404 : 400, target.error().what));
    }
    const std::string_view method = target->cleanup ? "POST" : "GET";
    if (request.method != method) {
      api::Response wrong = fault(405, fmt::format("accepted here: {}", method));
      wrong.headers.push_back({"Allow", std::string(method)});
      return done(std::move(wrong));
    }
    if (const std::string why = ports_.why_not_ready(); !why.empty()) return done(fault(503, why));
    if (!target->address) return list(std::move(done));
    const auto drive = find(*target->address);
    if (!drive) {
      return done(fault(404, fmt::format("{} is no drive of Cyborg's that a device_spec entry of "
                                         "this host matches",
                                         to_string(*target->address))));
    }
    if (target->cleanup) return cleanup(*drive, request.request_id, std::move(done));
    if (target->since && drive->looked_at <= *target->since) ports_.look_soon();
    done(json_response(200, one(*drive)));
  }

 private:
  [[nodiscard]] std::optional<ReportedDrive> find(const PciAddress& address) const {
    for (ReportedDrive& drive : ports_.drives()) {
      if (drive.address == address) return std::move(drive);
    }
    return std::nullopt;
  }

  [[nodiscard]] std::string one(const ReportedDrive& drive) const {
    rapidjson::StringBuffer buffer;
    JsonWriter writer(buffer);
    put_drive(writer, drive, known_);
    return api::text_of(buffer);
  }

  // Placement is asked each time: traits come with an upgrade of it.
  void list(Once<api::Response> done) {
    std::vector<std::string> wanted{std::string(kOwner)};
    for (const ReportedDrive& drive : ports_.drives()) {
      for (const std::string& trait : drive.traits.value_or(std::vector<std::string>{})) {
        if (std::find(wanted.begin(), wanted.end(), trait) == wanted.end()) wanted.push_back(trait);
      }
    }
    ports_.known_traits(wanted, [weak = weak_from_this(),
                                 done = std::move(done)](Result<std::vector<std::string>> known) {
      const auto self = weak.lock();
      if (!self) return done.drop();
      if (!known) {
        return done(
            fault(503, "Placement does not say which traits it knows: " + known.error().what));
      }
      self->known_ = Known(known->begin(), known->end());
      if (!self->known_.contains(std::string(kOwner))) {
        return done(fault(503,
                          "this Placement does not know the trait OWNER_CYBORG: install a "
                          "newer os-traits beside it and restart it"));
      }
      done(json_response(200, self->all()));
    });
  }

  [[nodiscard]] std::string all() const {
    rapidjson::StringBuffer buffer;
    JsonWriter writer(buffer);
    writer.StartObject();
    put_member(writer, "host", host_);
    put_ms(writer, "now_ms", ports_.clock.now().wall);
    put_key(writer, "drives");
    writer.StartArray();
    for (const ReportedDrive& drive : ports_.drives()) put_drive(writer, drive, known_);
    writer.EndArray();
    writer.EndObject();
    return api::text_of(buffer);
  }

  // The time that is told is before the order: what is known of later is an answer to it.
  void cleanup(const ReportedDrive& drive, const std::string& request_id,
               Once<api::Response> done) {
    const WallMs asked = ports_.clock.now().wall;
    auto answered = [done = std::move(done), asked](Result<Ok> taken) {
      if (!taken) return done(fault(503, "the order is not taken: " + taken.error().what));
      rapidjson::StringBuffer buffer;
      JsonWriter writer(buffer);
      writer.StartObject();
      put_ms(writer, "asked_ms", asked);
      writer.EndObject();
      done(json_response(202, api::text_of(buffer)));
    };
    ports_.order_cleanup(drive.address, request_id, std::move(answered));
  }

  const std::string host_;
  const Ports ports_;
  Known known_;  // as Placement said last
};

AgentDoor::AgentDoor(std::string host, Ports ports)
    : impl_(std::make_shared<Impl>(std::move(host), std::move(ports))) {}

AgentDoor::~AgentDoor() = default;

void AgentDoor::handle(api::Request request, Once<api::Response> done) {
  impl_->handle(request, std::move(done));
}

}  // namespace reclaim::door
