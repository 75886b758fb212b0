#include "tests/bench/fleet/counting_placement.h"

#include <fmt/core.h>

#include "state/base/json.h"
#include "state/base/text.h"
#include "tests/bench/fleet/shelf_drives.h"

namespace reclaim::fleet {
namespace {

constexpr std::string_view kToken = "token";
constexpr std::int64_t kTokenLifeMs = 3'600'000;

// The host, and which of its drives plus one; 0 is its root.
std::string uuid_of(std::size_t host, std::size_t number) {
  return fmt::format("{:08x}-0000-4000-8000-{:012x}", host + 1, number);
}

struct Named {
  std::size_t host = 0;
  std::size_t number = 0;
};

std::optional<Named> named_by(std::string_view uuid) {
  if (uuid.size() != 36) return std::nullopt;
  const std::size_t host = std::strtoul(std::string(uuid.substr(0, 8)).c_str(), nullptr, 16);
  const std::size_t number = std::strtoul(std::string(uuid.substr(24)).c_str(), nullptr, 16);
  if (host == 0) return std::nullopt;
  return Named{host - 1, number};
}

std::string resource_class() {
  return fmt::format("CUSTOM_PCI_{:04X}_{:04X}", kVendor, kProduct);
}

// Nova folds the address to upper case.
std::string provider_name(std::size_t host, std::size_t drive) {
  std::string address = to_string(address_of(drive));
  for (char& c : address) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return fmt::format("{}_{}", host_name(host), address);
}

std::string row(std::size_t host, std::size_t number, std::string_view name,
                std::int64_t generation) {
  const std::string root = uuid_of(host, 0);
  const std::string parent = number == 0 ? "null" : fmt::format("\"{}\"", root);
  return fmt::format(R"({{"uuid":"{}","name":"{}","generation":{},"parent_provider_uuid":{},)"
                     R"("root_provider_uuid":"{}"}})",
                     uuid_of(host, number), name, generation, parent, root);
}

api::Response json_answer(int status, std::string body) {
  return {status, {{"Content-Type", "application/json"}}, std::move(body), {}, {}};
}

// As Placement words it.
api::Response error(int status, std::string_view code, std::string_view detail) {
  return json_answer(
      status, fmt::format(R"({{"errors":[{{"status":{},"code":"{}","detail":"{}"}}]}})", status,
                          code, detail));
}

std::string_view parameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    std::string_view part = take_until(query, '&');
    if (part.starts_with(name) && part.size() > name.size() && part[name.size()] == '=') {
      return part.substr(name.size() + 1);
    }
  }
  return {};
}

}  // namespace

std::string consumer_of(std::size_t host, std::size_t drive) {
  return fmt::format("{:08x}-0000-4000-9000-{:012x}", host + 1, drive + 1);
}

std::string host_name(std::size_t host) {
  return fmt::format("compute-{:05}", host + 1);
}

std::uint64_t Asked::placement() const {
  std::uint64_t sum = 0;
  for (const auto& [kind, count] : kinds) sum += kind == kToken ? 0 : count;
  return sum;
}

std::uint64_t Asked::keystone() const {
  const auto found = kinds.find(std::string(kToken));
  return found == kinds.end() ? 0 : found->second;
}

CountingPlacement::CountingPlacement(std::size_t hosts, std::size_t drives, Released on_released)
    : hosts_(hosts), on_released_(std::move(on_released)), began_ns_(uv_hrtime()) {
  for (Host& host : hosts_) host.providers.resize(drives);
  thread_.call([this, hosts] {
    listener::HttpServerOptions options;
    options.bind = {"127.0.0.1:0"};
    options.connections_max = hosts * 8 + 64;
    options.idle_timeout_ms = 3'600'000;
    auto made = listener::HttpServer::create(
        thread_.raw(), options,
        [this](const api::Request& request, Once<api::Response> done) { done(answer(request)); },
        clock_, log_);
    CHECK(made.ok());
    server_ = *std::move(made);
    url_ = server_->addresses().front();
  });
}

CountingPlacement::~CountingPlacement() {
  thread_.call([this] { server_.reset(); });
}

void CountingPlacement::count(const std::string& kind) {
  asked_.kinds[kind] += 1;
  if (kind == kToken) return;
  const std::size_t second = (uv_hrtime() - began_ns_) / 1'000'000'000;
  if (asked_.by_second.size() <= second) asked_.by_second.resize(second + 1);
  asked_.by_second[second] += 1;
}

api::Response CountingPlacement::answer(const api::Request& request) {
  std::string_view query = request.target;
  const std::string_view path = take_until(query, '?');
  if (path == "/v3/auth/tokens") {
    count(std::string(kToken));
    const WallMs now = clock_.now().wall;
    api::Response response = json_answer(
        201, fmt::format(R"({{"token":{{"issued_at":"{}","expires_at":"{}","roles":)"
                         R"([{{"name":"service"}}],"catalog":[{{"type":"placement","name":)"
                         R"("placement","endpoints":[{{"interface":"internal","region":"one",)"
                         R"("region_id":"one","url":"{}/placement"}}]}}]}}}})",
                         to_iso8601(now), to_iso8601(WallMs{now.ms + kTokenLifeMs}), url_));
    response.headers.push_back({"X-Subject-Token", "fleet"});
    return response;
  }
  if (path == "/placement/") {
    count("versions");
    return json_answer(200,
                       R"({"versions":[{"id":"v1.0","min_version":"1.0","max_version":"1.39"}]})");
  }
  if (path == "/placement/resource_providers") return list(query);
  constexpr std::string_view kProviders = "/placement/resource_providers/";
  if (path.starts_with(kProviders)) return of_provider(request, path.substr(kProviders.size()));
  constexpr std::string_view kConsumers = "/placement/allocations/";
  if (path.starts_with(kConsumers)) return of_consumer(path.substr(kConsumers.size()));
  count("other");
  return error(404, "placement.undefined_code", "nothing is known by that path");
}

api::Response CountingPlacement::list(std::string_view query) {
  std::string rows;
  const auto done = [&rows] {
    return json_answer(200, fmt::format(R"({{"resource_providers":[{}]}})", rows));
  };
  if (const std::string_view name = parameter(query, "name"); !name.empty()) {
    count("find_root");
    const std::size_t host =
        std::strtoul(std::string(name.substr(name.rfind('-') + 1)).c_str(), nullptr, 10);
    if (host >= 1 && host <= hosts_.size()) rows = row(host - 1, 0, name, 1);
    return done();
  }
  const std::string_view required = parameter(query, "required");
  count(required.empty() ? "list_tree" : "list_by_trait");
  const auto root = named_by(parameter(query, "in_tree"));
  if (!root || root->host >= hosts_.size()) return done();
  Host& host = hosts_[root->host];
  // All of its devices are Nova's one-time-use ones, and its root is none.
  if (required.empty()) rows = row(root->host, 0, host_name(root->host), 1);
  if (!required.empty() && !required.starts_with("HW_PCI_ONE_TIME_USE")) return done();
  if (required.find(",OWNER_CYBORG") != std::string_view::npos) return done();
  for (std::size_t i = 0; i < host.providers.size(); ++i) {
    if (!rows.empty()) rows += ",";
    rows += row(root->host, i + 1, provider_name(root->host, i), host.providers[i].generation);
  }
  host.listed = host.listed || required.empty();
  return done();
}

std::string CountingPlacement::allocations_of(std::size_t host, std::size_t from,
                                              std::size_t upto) const {
  std::string out;
  for (std::size_t i = from; i < upto; ++i) {
    if (!hosts_[host].providers[i].allocated) continue;
    if (!out.empty()) out += ",";
    out += fmt::format(R"("{}":{{"resources":{{"{}":1}}}})", consumer_of(host, i),
                       from + 1 == upto ? resource_class() : "VCPU");
  }
  return out;
}

// consumer_of() makes its UUIDs in the form of the providers'.
api::Response CountingPlacement::of_consumer(std::string_view uuid) {
  count("consumer");
  const auto named = named_by(uuid);
  const bool holds = named && named->host < hosts_.size() && named->number >= 1 &&
                     named->number <= hosts_[named->host].providers.size() &&
                     hosts_[named->host].providers[named->number - 1].allocated;
  if (!holds) return json_answer(200, R"({"allocations":{}})");
  return json_answer(
      200, fmt::format(R"({{"allocations":{{"{}":{{"resources":{{"{}":1}}}}}},)"
                       R"("project_id":"{}","user_id":"{}","consumer_type":"INSTANCE"}})",
                       uuid_of(named->host, named->number), resource_class(),
                       "5e1c0b7a3f0d4c5e9a8b7c6d5e4f3a2b", "0a1b2c3d4e5f60718293a4b5c6d7e8f9"));
}

api::Response CountingPlacement::of_provider(const api::Request& request, std::string_view path) {
  const auto named = named_by(take_until(path, '/'));
  const bool known =
      named && named->host < hosts_.size() && named->number <= hosts_[named->host].providers.size();
  if (request.method == "PUT") {
    if (!known || named->number == 0) return error(404, "placement.undefined_code", "no provider");
    return put_inventory(request, {named->host, named->number - 1});
  }
  count(std::string(path));
  if (!known) return error(404, "placement.undefined_code", "no provider");
  const Host& host = hosts_[named->host];
  // An instance holds its processors of the root, too.
  if (named->number == 0) {
    return json_answer(200,
                       fmt::format(R"({{"allocations":{{{}}},"resource_provider_generation":1}})",
                                   allocations_of(named->host, 0, host.providers.size())));
  }
  const Provider& provider = host.providers[named->number - 1];
  if (path == "allocations") {
    return json_answer(200,
                       fmt::format(R"({{"allocations":{{{}}},"resource_provider_generation":{}}})",
                                   allocations_of(named->host, named->number - 1, named->number),
                                   provider.generation));
  }
  return json_answer(
      200,
      fmt::format(R"({{"inventories":{{"{}":{{"total":1,"reserved":{},"min_unit":1,"max_unit":1,)"
                  R"("step_size":1,"allocation_ratio":1.0}}}},"resource_provider_generation":{}}})",
                  resource_class(), provider.reserved ? 1 : 0, provider.generation));
}

api::Response CountingPlacement::put_inventory(const api::Request& request, const Place& place) {
  Provider& provider = hosts_[place.host].providers[place.drive];
  const auto body = json::parse(request.body, request.body.size());
  if (!body) return error(400, "placement.undefined_code", "no JSON");
  const auto generation = json::get_int(*body, "resource_provider_generation");
  const auto reserved = json::get_int(*body, "reserved");
  if (!generation || !reserved) return error(400, "placement.undefined_code", "a field lacks");
  const bool conflict = *generation != provider.generation;
  count(conflict ? "put_conflict" : fmt::format("put_reserved_{}", *reserved));
  if (conflict) {
    return error(409, "placement.concurrent_update", "resource provider generation conflict");
  }
  provider.generation += 1;
  const bool released = provider.reserved && *reserved == 0;
  provider.reserved = *reserved != 0;
  if (released) on_released_(place);
  return json_answer(200, fmt::format(R"({{"total":1,"reserved":{},"min_unit":1,"max_unit":1,)"
                                      R"("step_size":1,"allocation_ratio":1.0,)"
                                      R"("resource_provider_generation":{}}})",
                                      *reserved, provider.generation));
}

void CountingPlacement::allocate(const std::vector<Place>& places) {
  thread_.call([&] {
    for (const Place& place : places) {
      Provider& provider = hosts_[place.host].providers[place.drive];
      CHECK(!provider.allocated && !provider.reserved);
      provider = {provider.generation + 2, true, true};
    }
  });
}

void CountingPlacement::deallocate(const std::vector<Place>& places) {
  thread_.call([&] {
    for (const Place& place : places) hosts_[place.host].providers[place.drive].allocated = false;
  });
}

Asked CountingPlacement::asked() {
  Asked out;
  thread_.call([&] { out = asked_; });
  return out;
}

std::size_t CountingPlacement::listed() {
  std::size_t out = 0;
  thread_.call([&] {
    for (const Host& host : hosts_) out += host.listed ? 1 : 0;
  });
  return out;
}

void CountingPlacement::forget_listed() {
  thread_.call([&] {
    for (Host& host : hosts_) host.listed = false;
  });
}

}  // namespace reclaim::fleet
