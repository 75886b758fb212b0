#include "placement/cyborg/client.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "placement/keystone/keystone.h"

namespace reclaim::placement {
namespace {

// Cyborg asks for it by this very spelling (cyborg/api/hooks.py).
constexpr std::string_view kAdmin = "admin";

Status check_roles(const Session& session) {
  if (std::find(session.roles.begin(), session.roles.end(), kAdmin) != session.roles.end()) {
    return Ok{};
  }
  return Error{
      Errc::refused,
      fmt::format(
          "the service user has no role admin on its project (it has: {}), and "
          "Cyborg shows the accelerator requests of other projects to no other user",
          session.roles.empty() ? "none" : fmt::format("{}", fmt::join(session.roles, ", ")))};
}

}  // namespace

Result<std::unique_ptr<CyborgClient>> CyborgClient::create(CyborgOptions options, Ports ports) {
  if (auto good = check_options(options.session); !good.ok()) return std::move(good).error();
  return std::unique_ptr<CyborgClient>(new CyborgClient(std::move(options), ports));
}

CyborgClient::CyborgClient(CyborgOptions options, Ports ports)
    : options_(std::move(options)), clock_(ports.clock), api_(kCyborg, options_.session, ports) {}

void CyborgClient::read(const HostNames& names, Callback<CyborgView> done) {
  api_.later([this, names, done = std::move(done)]() mutable {
    api_.need_session("", [this, names,
                           done = std::move(done)](const Result<Session>& session) mutable {
      const Status good = session.ok() ? check_roles(*session) : Status(session.error());
      if (!good.ok()) return done(good.error().wrap("Cyborg"));
      api_.converse(ReadAccelerators(options_, names, clock_.now(), session->microversion, known_),
                    std::move(done));
    });
  });
}

void CyborgClient::log_in(Callback<LoginFacts> done) {
  api_.log_in(std::move(done));
}

}  // namespace reclaim::placement
