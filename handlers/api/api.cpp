// A request's way through the API: who calls, by which microversion, what for, may they, and then
// the answer out of the fleet's view.
#include "handlers/api/api.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "handlers/api/arqs.h"
#include "handlers/api/certificate_list.h"
#include "handlers/api/chunked_response.h"
#include "handlers/api/device_list.h"
#include "handlers/api/device_page.h"
#include "handlers/api/devices.h"
#include "handlers/api/error.h"
#include "handlers/api/fleet.h"
#include "handlers/api/metrics.h"
#include "handlers/api/orders.h"
#include "handlers/api/readiness.h"
#include "handlers/api/resource_rules.h"
#include "handlers/api/route.h"
#include "handlers/api/version.h"
#include "state/base/check.h"
#include "state/base/log.h"
#include "state/base/loopback.h"
#include "state/base/text.h"
#include "state/base/uuid.h"

namespace reclaim::api {
namespace {

// One request on its way.
struct Call {
  Request request;
  Route route;
  Result<Negotiated> negotiated = Negotiated{};  // the error: a 406's text
  placement::Identity who;
  std::string accepts;  // of an order that accepts a drive: which
  std::string reason;   // of one that gives a reason
  std::string steps;    // of one that names clean steps: their names
  Once<Response> done;

  // The address at which the client reached us.
  [[nodiscard]] std::string base_url() const { return request.base_url + route.mount; }
};
using CallPtr = std::shared_ptr<Call>;

Response json_response(int status, std::string body) {
  Response response;
  response.status = status;
  response.headers.push_back({"Content-Type", std::string(kJsonContentType)});
  response.body = std::move(body);
  return response;
}

Response fault(int status, std::string_view detail) {
  return json_response(status, error_body(status, reason_phrase(status), detail));
}

Response metrics_response(std::string text, bool open) {
  Response response;
  response.headers.push_back(
      {"Content-Type", std::string(open ? kOpenMetricsType : kPrometheusType)});
  response.headers.push_back({"Vary", "Accept"});
  response.body = std::move(text);
  if (open) response.body += kOpenMetricsEnd;
  return response;
}

// All values of the header in one list, as a repeated one is to be read.
std::string folded(const Request& request, std::string_view name) {
  std::string all;
  for (const Header& header : request.headers) {
    if (!same_ignoring_case(header.name, name)) continue;
    if (!all.empty()) all += ",";
    all += header.value;
  }
  return all;
}

}  // namespace

class Api::Impl final : public std::enable_shared_from_this<Api::Impl> {
 public:
  Impl(Ports ports, Policy policy, Options options)
      : ports_(ports),
        policy_(std::move(policy)),
        options_(std::move(options)),
        fleet_(ports.store, ports.worker_metrics, ports.clock, {options_.fleet_view_ms}),
        readiness_(ports.store, ports.clock, options_.fleet_view_ms),
        pieces_(std::make_shared<ChunkedResponse>(ports.turns)) {
    CHECK(ports_.tokens != nullptr || !options_.authenticate);
  }

  void handle(Request request, Once<Response> done) {
    const auto call = std::make_shared<Call>();
    call->request = std::move(request);
    call->done = std::move(done);
    call->negotiated = negotiate(folded(call->request, kVersionHeader));
    auto route = parse_route(call->request.target);
    if (!route) {
      // The audit names where the request was going.
      const std::string_view target = call->request.target;
      auto path = parse_route(target.substr(0, target.find('?')));
      if (path) call->route = *std::move(path);
      return answer(*call, fault(400, route.error().what));
    }
    call->route = *std::move(route);
    const Resource resource = call->route.resource;
    if (resource == Resource::healthz || resource == Resource::readyz) return health(call);
    if (!options_.authenticate && !is_loopback(host_of_url(call->request.base_url))) {
      // A page in a browser of this host, whose name was made to resolve to loopback.
      return answer(*call, fault(403,
                                 "without authentication only this host is answered, by the name "
                                 "localhost, 127.0.0.1 or [::1]"));
    }
    if (resource == Resource::root || resource == Resource::version) return discovery(call);
    if (resource == Resource::metrics) return metrics(call);
    authenticate(call);
  }

  void use(Policy policy) { policy_ = std::move(policy); }

 private:
  // Anybody may ask which versions there are, in whatever version.
  void discovery(const CallPtr& call) {
    if (call->request.method != "GET") return answer(*call, wrong_method(*call));
    if (call->route.resource == Resource::version) {
      return answer(*call, json_response(200, version_document(call->base_url())));
    }
    // Proxies ask this to see whether this node serves.
    readiness_.of_redis([this, call](const std::string& why_not) {
      answer(*call, why_not.empty() ? json_response(200, root_document(call->base_url()))
                                    : fault(503, why_not));
    });
  }

  // Open to anybody: it says nothing but whether this process lives, and can answer.
  void health(const CallPtr& call) {
    if (call->request.method != "GET") return answer(*call, wrong_method(*call));
    if (call->route.resource == Resource::healthz) {
      return answer(*call, json_response(200, R"({"status": "ok"})"));
    }
    readiness_.of_all([this, call](const std::string& why_not) {
      answer(*call,
             why_not.empty() ? json_response(200, R"({"status": "ready"})") : fault(503, why_not));
    });
  }

  // Prometheus has no token.
  void metrics(const CallPtr& call) {
    if (call->request.method != "GET") return answer(*call, wrong_method(*call));
    if (!options_.metrics) {
      return answer(*call, fault(404, "metrics are off: set [api] metrics = true"));
    }
    fleet_.hosts([this, call](Result<std::shared_ptr<const std::vector<HostInfo>>> hosts) {
      if (!hosts) return answer(*call, redis_fault(*call, hosts.error()));
      fleet_.devices([this, call, hosts = *hosts](Result<std::shared_ptr<const Devices>> devices) {
        if (!devices) return answer(*call, redis_fault(*call, devices.error()));
        fleet_.worker_texts([this, call, hosts,
                             devices = *devices](Result<std::shared_ptr<const WorkerTexts>> texts) {
          if (!texts) return answer(*call, redis_fault(*call, texts.error()));
          const std::string accept = folded(call->request, "Accept");
          const bool open = accepts_openmetrics(accept);
          const auto page = std::make_shared<MetricsPage>(
              MetricsPage::Fleet{*hosts, devices, *texts}, ports_.clock.now().wall,
              options_.heartbeat_max_ms, open);
          pieces_->make([this, call, page, open] {
            if (page->go_on()) return true;
            answer(*call, metrics_response(page->take(), open));
            return false;
          });
        });
      });
    });
  }

  static Response wrong_method(const Call& call) {
    const std::string_view allowed = allowed_methods(call.route.resource);
    Response response =
        fault(405, fmt::format("{} is not what can be done here; accepted: {}",
                               printable_excerpt(call.request.method, 40), allowed));
    response.headers.push_back({"Allow", std::string(allowed)});
    return response;
  }

  // ------------------------------------------------------------------------- who, how, may they

  void authenticate(const CallPtr& call) {
    if (!options_.authenticate) {
      call->who.roles = {"admin", "manager", "member", "reader"};
      return admit(call);
    }
    // Two of one name are not a token: of the two, somebody before us may have judged the other
    // one.
    const std::string token = folded(call->request, "X-Auth-Token");
    if (token.empty()) {
      return unauthorized(*call,
                          "The request you have made requires authentication: it has no "
                          "X-Auth-Token");
    }
    const std::string service_token = folded(call->request, "X-Service-Token");
    ports_.tokens->validate(
        token, service_token, [weak = weak_from_this(), call](Result<placement::Identity> who) {
          const auto self = weak.lock();
          if (!self) return call->done.drop();
          if (who || who.error().code == Errc::refused) self->readiness_.keystone_answered();
          if (who) {
            call->who = *std::move(who);
            return self->admit(call);
          }
          if (who.error().code == Errc::refused) {
            return self->unauthorized(*call,
                                      "The request you have made requires authentication: its "
                                      "token is unknown, has expired or is not good for this");
          }
          self->ports_.log.warning(
              log_name::kApi, "a token cannot be validated",
              {{"why", who.error().what}, {"request_id", call->request.request_id}});
          self->readiness_.keystone_failed();
          self->answer(*call, fault(503, "Keystone is unavailable; retry later"));
        });
  }

  void unauthorized(const Call& call, std::string_view detail) {
    Response response = fault(401, detail);
    response.headers.push_back(
        {"WWW-Authenticate", fmt::format("Keystone uri=\"{}\"", options_.www_authenticate_uri)});
    answer(call, std::move(response));
  }

  void admit(const CallPtr& call) {
    if (!call->negotiated) return answer(*call, fault(406, call->negotiated.error().what));
    if (auto refused = why_not(*call)) return answer(*call, *std::move(refused));
    switch (call->route.resource) {
      case Resource::devices:
        return list_devices(call);
      case Resource::device:
      case Resource::cleaning:
      case Resource::steps:
      case Resource::clean:
      case Resource::unhold:
      case Resource::disown:
      case Resource::retire:
      case Resource::abort:
      case Resource::enrol:
      case Resource::enable:
      case Resource::disable:
        return one_device(call);
      case Resource::certificates:
        return certificates(call);
      case Resource::certificate:
        return one_certificate(call);
      case Resource::arqs:
      case Resource::arq:
        return arqs(call);
      case Resource::root:
      case Resource::version:
      case Resource::healthz:
      case Resource::readyz:
      case Resource::metrics:
      case Resource::nothing:
        break;
    }
    CHECK(false);
  }

  [[nodiscard]] std::optional<Response> why_not(const Call& call) const {
    const Resource resource = call.route.resource;
    if (resource == Resource::nothing) {
      return fault(404,
                   "there is nothing here; there are /v2/devices, /v2/accelerator_requests and "
                   "/v2/certificates, and what is below them");
    }
    if (call.request.method != method_of(resource)) return wrong_method(call);
    if (const Microversion needed = needed_by(resource); call.negotiated->version < needed) {
      return fault(406, fmt::format("Request not acceptable. The minimal required API version "
                                    "should be {}; {} was asked for",
                                    to_string(needed), to_string(call.negotiated->version)));
    }
    const std::string_view rule = rule_of(resource);
    // An admin of a domain, or of the system, is no admin of the fleet (Cyborg's scope_types).
    if (options_.authenticate && call.who.project_id.empty()) {
      return fault(403,
                   fmt::format("{} is for tokens of a project, and this one has another scope: get "
                               "one with --os-project-name",
                               rule));
    }
    if (auto denied = why_denied(rule, call)) return denied;
    if (resource == Resource::clean && names_steps(call.request.body)) {
      if (auto denied = why_denied(kRuleOfSteps, call)) return denied;
    }
    if (!takes_parameters(resource) && !call.route.parameters.empty()) {
      return fault(400, fmt::format("Unknown argument: '{}'; none is accepted here",
                                    printable_excerpt(call.route.parameters[0].first, 40)));
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Response> why_denied(std::string_view rule, const Call& call) const {
    if (policy_.allows(std::string(rule), call.who, own(call.who))) return std::nullopt;
    return fault(403, fmt::format("Access was denied to the following resource: {}", rule));
  }

  // The facts that rules may judge by: as in Cyborg, the caller's own project and user. A fact that
  // a token does not have is none.
  static Target own(const placement::Identity& who) {
    Target target;
    if (!who.project_id.empty()) target["project_id"] = who.project_id;
    if (!who.user_id.empty()) target["user_id"] = who.user_id;
    return target;
  }

  // The one way out: whoever asked, and whatever became of it.
  void answer(const Call& call, Response response) {
    auto& headers = response.headers;
    headers.push_back({"Vary", std::string(kVersionHeader) + ", X-Auth-Token"});
    headers.push_back({"OpenStack-API-Minimum-Version", to_string(kVersionMin)});
    headers.push_back({"OpenStack-API-Maximum-Version", to_string(kVersionMax)});
    if (call.negotiated) {
      headers.push_back({std::string(kVersionHeader), call.negotiated->service_type + " " +
                                                          to_string(call.negotiated->version)});
    }
    response.user_id = call.who.user_id;
    response.project_id = call.who.project_id;
    if (orders_something(call.route.resource) && call.request.method == "POST") {
      audit(call, response);
    }
    call.done(std::move(response));
  }

  // -------------------------------------------------------------------------------- the devices

  void list_devices(const CallPtr& call) {
    auto query = parse_device_query(call->route.parameters, call->negotiated->version);
    if (!query) return answer(*call, fault(400, query.error().what));
    auto show = [this, call, query = *query](Result<std::shared_ptr<const Devices>> devices) {
      if (!devices) return answer(*call, redis_fault(*call, devices.error()));
      if (query.in_pages()) return device_page(call, query, **devices);
      const auto list = std::make_shared<DeviceList>(**devices, query.filter, form_for(*call));
      pieces_->make([this, call, list] {
        if (list->go_on()) return true;
        answer(*call, json_response(200, list->take()));
        return false;
      });
    };
    fleet_.devices_of(query->filter.hostname, std::move(show));
  }

  void device_page(const CallPtr& call, const DeviceQuery& query, const Devices& devices) {
    const auto page = std::make_shared<DevicePage>(devices, query, form_for(*call),
                                                   call->base_url() + "/v2/devices");
    pieces_->make([this, call, page] {
      if (page->go_on()) return true;
      auto body = page->take();
      answer(*call, body ? json_response(200, *std::move(body)) : fault(400, body.error().what));
      return false;
    });
  }

  // The form in which this caller may see a device.
  [[nodiscard]] DeviceForm form_for(const Call& call) const {
    return device_form(call.negotiated->version,
                       policy_.allows(kRuleOfReasons, call.who, own(call.who)), call.base_url());
  }

  static Response no_such_device(const Call& call) {
    return fault(404,
                 fmt::format("Device not found with uuid={}", printable_excerpt(call.route.id)));
  }

  void one_device(const CallPtr& call) {
    // Nothing is read for what cannot be there.
    if (!looks_like_uuid(lower(call->route.id))) return answer(*call, no_such_device(*call));
    fleet_.find(
        lower(call->route.id), [this, call](Result<std::shared_ptr<const Fleet::Found>> found) {
          if (!found) return answer(*call, redis_fault(*call, found.error()));
          if (*found == nullptr) return answer(*call, no_such_device(*call));
          const Record& record = (*found)->record;
          if (orders_something(call->route.resource)) return order(call, **found);
          answer(*call, json_response(200, body_of(call->route.resource, record, form_for(*call))));
        });
  }

  void order(const CallPtr& call, const Fleet::Found& found) {
    const OrderCall& kind = *order_call(call->route.resource);
    if (kind.kind == OrderKind::unhold && !call->who.is_in_person()) {
      return answer(*call, fault(403, options_.authenticate ? kOwnToken : kNobodyKnown));
    }
    const WallMs now = ports_.clock.now().wall;
    Order order;
    order.order = to_string(kind.kind);
    order.address = to_string(found.record.address);
    auto why = read_body(kind, call->request.body, found.record, order);
    if (!why) why = why_not_order(kind, order, found, now, options_.heartbeat_max_ms);
    if (!why && kind.kind == OrderKind::enrol) why = name_drive(found.record, order);
    if (why) return answer(*call, fault(why->status, why->detail));
    // Beside a service's token an expired one is good, and each host has both.
    if (is_an_operators(order, found.record) && !call->who.service_roles.empty()) {
      return answer(*call, fault(403, "use a token of your own, without an X-Service-Token"));
    }
    if (overrides_an_operator(order, found.record)) {
      if (auto denied = why_denied(kRuleOfError, *call)) return answer(*call, *denied);
    }
    // Tokens of two projects are one person: who approves is counted.
    order.who = fmt::format("keystone user {} of domain {}", word(call->who.user_id),
                            word(call->who.user_domain_id));
    if (!options_.authenticate) order.who = "anybody, by an API with auth = none";
    order.request_id = call->request.request_id;
    order.issued_at = now;
    if (ports_.seal) ports_.seal(found.record.host, order);
    if (accepts_something(order) && order.mac.empty()) return answer(*call, no_key(kind));
    call->accepts = order.serial.empty() ? order.hardware : order.serial;
    call->reason = order.reason;
    call->steps = names_of_steps(order);
    ports_.store.push_order(
        found.record.host, order,
        [weak = weak_from_this(), call, status = kind.accepted](Result<Ok> pushed) {
          const auto self = weak.lock();
          if (!self) return call->done.drop();
          if (!pushed) return self->answer(*call, self->redis_fault(*call, pushed.error()));
          Response accepted;
          accepted.status = status;
          self->answer(*call, std::move(accepted));
        });
  }

  // The command that gives the order on the host; of the orders that need a key.
  static std::string_view command_of(OrderKind kind) {
    if (kind == OrderKind::enrol) return "set ADDRESS --enrol";
    if (kind == OrderKind::disown) return "disown ADDRESS --reason TEXT";
    if (kind == OrderKind::retire) return "retire ADDRESS --as WORD --reason TEXT";
    return kind == OrderKind::clean ? "clean ADDRESS --steps FILE" : "unhold ADDRESS";
  }

  static Response no_key(const OrderCall& kind) {
    return fault(503,
                 fmt::format("this node of the API has no key that the worker would believe: set "
                             "[security] order_key_file to the master key here and to each host's "
                             "own there, or run `reclaim device {}` as root on the host",
                             command_of(kind.kind)));
  }

  // Logs who did it, on which device, and what came of it; refused attempts as well.
  void audit(const Call& call, const Response& response) {
    const std::string outcome =
        response.status < 300 ? "accepted" : fmt::format("refused with {}", response.status);
    const std::string device = printable_excerpt(call.route.id);
    ports_.log.info(
        log_name::kApiAudit,
        fmt::format("{} of device {} by user {} of project {}: {}", order_name(call.route.resource),
                    device, word(call.who.user_id), word(call.who.project_id), outcome),
        {{"device", device},
         {"accepts", word(call.accepts)},
         {"reason", word(call.reason)},
         {"steps", word(call.steps)},
         {"user_id", word(call.who.user_id)},
         {"project_id", word(call.who.project_id)},
         {"outcome", outcome},
         {"request_id", call.request.request_id}});
  }

  static std::string word(const std::string& id) {
    return id.empty() ? "-" : printable_excerpt(id);
  }

  // ---------------------------------------------------------------------------- the certificates

  void certificates(const CallPtr& call) {
    auto query = parse_certificate_query(call->route.parameters);
    if (!query) return answer(*call, fault(400, query.error().what));
    auto show = [this, call, query = *query](Result<std::shared_ptr<const Devices>> devices) {
      if (!devices) return answer(*call, redis_fault(*call, devices.error()));
      std::make_shared<CertificateList>(ports_.certificates, ports_.log, **devices, query,
                                        call->base_url() + "/v2/certificates")
          ->run([weak = weak_from_this(), call](Result<std::string> body) {
            const auto self = weak.lock();
            if (!self) return call->done.drop();
            if (body) return self->answer(*call, json_response(200, *std::move(body)));
            const bool bad = body.error().code == Errc::invalid;
            self->answer(*call, bad ? fault(400, body.error().what)
                                    : self->redis_fault(*call, body.error()));
          });
    };
    fleet_.devices_of(query->hostname, std::move(show));
  }

  void one_certificate(const CallPtr& call) {
    const std::string id = lower(call->route.id);
    if (!looks_like_uuid(id)) return answer(*call, no_such_certificate(*call));
    const auto hostname = parse_certificate_host(call->route.parameters);
    if (!hostname) return answer(*call, fault(400, hostname.error().what));
    auto look = [this, call, id](Result<std::shared_ptr<const Devices>> devices) {
      if (!devices) return answer(*call, redis_fault(*call, devices.error()));
      find_certificate(ports_.certificates, ports_.log, **devices, id,
                       [weak = weak_from_this(), call](const Result<FoundCertificate>& found) {
                         const auto self = weak.lock();
                         if (!self) return call->done.drop();
                         self->answer(*call, found ? sealed_text(*call, *found)
                                                   : self->redis_fault(*call, found.error()));
                       });
    };
    fleet_.devices_of(*hostname, std::move(look));
  }

  static Response sealed_text(const Call& call, const FoundCertificate& found) {
    if (!found.doubt.empty()) return fault(409, found.doubt);
    if (!found.text.empty()) return json_response(200, found.text);
    return found.damage.empty() ? no_such_certificate(call) : fault(404, found.damage);
  }

  static Response no_such_certificate(const Call& call) {
    return fault(404, fmt::format("no device has {} as its newest certificate; older ones are on "
                                  "their host: `reclaim certificate show ID`",
                                  printable_excerpt(call.route.id)));
  }

  // ----------------------------------------------------------------------------------- the ARQs

  void arqs(const CallPtr& call) {
    const bool all = call->route.resource == Resource::arqs;
    if (!all && !looks_like_uuid(lower(call->route.id))) return answer(*call, no_such_arq(*call));
    auto filter = all ? parse_arq_filter(call->route.parameters) : Result<ArqFilter>(ArqFilter{});
    if (!filter) return answer(*call, fault(400, filter.error().what));
    // Cyborg's scoping: whoever is not an admin sees the own project's, whatever the rule lets
    // pass.
    if (!policy_.allows("admin_api", call->who, own(call->who))) {
      filter->project = call->who.project_id;
    }
    fleet_.arqs([this, call, filter = *filter](Result<std::shared_ptr<const Arqs>> arqs) {
      if (!arqs) return answer(*call, redis_fault(*call, arqs.error()));
      if (call->route.resource == Resource::arq) {
        return answer(*call, one_arq(*call, filter, **arqs));
      }
      const auto list =
          std::make_shared<ArqList>(*arqs, filter, call->negotiated->version, call->base_url());
      pieces_->make([this, call, filter, list] {
        if (list->go_on()) return true;
        answer(*call, arq_list(filter, *list));
        return false;
      });
    });
  }

  static Response arq_list(const ArqFilter& filter, ArqList& list) {
    auto body = list.take();
    if (body) return json_response(200, *std::move(body));
    return fault(
        423, fmt::format("host {} says that ARQs of instance {} are not resolved yet: ask again",
                         list.unresolved_on(), *filter.instance));
  }

  // Another project's is not found, as if there were none.
  static Response one_arq(const Call& call, const ArqFilter& filter, const Arqs& arqs) {
    const auto [first, last] = arqs.equal_range(lower(call.route.id));
    const auto told = told_of(first, last, filter.project);
    if (told.empty()) return no_such_arq(call);
    if (told.size() > 1) return fault(409, doubt_of(told));
    return json_response(200, arq_body(*told[0], call.negotiated->version, call.base_url()));
  }

  static Response no_such_arq(const Call& call) {
    return fault(404,
                 fmt::format("ExtArq not found with uuid={}", printable_excerpt(call.route.id)));
  }

  // The answer to a caller when Redis is in trouble; the rest is in the log.
  Response redis_fault(const Call& call, const Error& error) {
    if (error.code == Errc::conflict) return fault(409, error.what);
    ports_.log.warning(log_name::kApi, "Redis does not answer the API",
                       {{"why", error.what}, {"request_id", call.request.request_id}});
    if (is_of_what_is_stored(error) || error.code == Errc::limit) return fault(503, error.what);
    return fault(503, "Redis cannot be asked, and nothing else knows the devices: try again");
  }

  const Ports ports_;
  Policy policy_;
  const Options options_;
  Fleet fleet_;
  Readiness readiness_;
  const std::shared_ptr<ChunkedResponse> pieces_;
};

Api::Api(Ports ports, Policy policy, Options options)
    : impl_(std::make_shared<Impl>(ports, std::move(policy), std::move(options))) {}

Api::~Api() = default;

void Api::handle(Request request, Once<Response> done) {
  impl_->handle(std::move(request), std::move(done));
}

void Api::use(Policy policy) {
  impl_->use(std::move(policy));
}

}  // namespace reclaim::api
