// One request to a service and all it takes: a session, another one when the token was refused, and
// for reads a bounded number of retries. And the login that makes a session. Both are sans-I/O:
// they say what to do next, are told what came of it, and never do anything themselves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "placement/http/http.h"
#include "placement/keystone/keystone.h"
#include "placement/keystone/microversion.h"
#include "placement/keystone/service.h"
#include "placement/options.h"
#include "state/base/clock.h"
#include "state/base/result.h"

namespace reclaim::placement {

// The purpose of a request; the key of the request counters.
enum class RequestKind {
  token,          // Keystone
  versions,       // the service, without a token, once a process
  find_root,      // the root provider by name
  list_tree,      // all providers of the tree
  list_by_trait,  // those of them that have a trait
  inventories,
  allocations,
  set_inventory,
  register_device,  // class, provider, traits and first inventory of a device
  traits,           // which of them there are
  arqs,             // Cyborg
  devices,
  deployables,
  validate,  // a caller's token
};
inline constexpr int kRequestKinds = 14;
[[nodiscard]] std::string_view to_string(RequestKind kind);

enum class Method { get, put, post };
[[nodiscard]] std::string_view to_string(Method method);

// A request that a conversation wants sent. `path` is relative to the endpoint and already encoded.
struct ApiRequest {
  RequestKind kind = RequestKind::versions;
  std::string path;
  std::string body;
  Method method = Method::get;
  std::vector<HttpHeader> headers = {};  // beside those of every request
  [[nodiscard]] bool writes() const { return method != Method::get; }
};

// The session that authorises requests, until `renew_at` or until the service says 401.
struct Session {
  std::string token;
  std::string endpoint;  // without trailing slash
  Microversion microversion;
  MonoMs renew_at;
  bool bare_version = false;            // the version's header has the number alone
  std::vector<std::string> roles = {};  // of the token, as Keystone names them
};

// The steps of an exchange: each says what to do next. Exactly one of the on_...() functions
// answers each.
struct Send {
  RequestKind kind = RequestKind::versions;
  HttpRequest request;
};
struct Pause {
  int delay_ms = 0;
};
struct NeedSession {
  std::string rejected_token;  // not this one; empty: any that is still good
};
template <typename T>
struct Finished {
  Result<T> result;
};

// Delays that double from the first to a cap, for a bounded number of retries.
class Backoff final {
 public:
  Backoff(int retries, int first_delay_ms, int delay_max_ms)
      : left_(retries), delay_ms_(first_delay_ms), delay_max_ms_(delay_max_ms) {}
  // The pause before the next try, at least `asked_s` of Retry-After (RFC 9110, 10.2.3), half a
  // minute at most: whoever waits asks again later anyway. Not for a login, behind which a write
  // may wait.
  [[nodiscard]] std::optional<Pause> next(std::int64_t asked_s = 0);

 private:
  int left_;
  int delay_ms_;
  int delay_max_ms_;
};

// The token, then the service's version document, if it has one.
class Login final {
 public:
  using Step = std::variant<Send, Pause, Finished<Session>>;

  // `former` spares the version document as long as the endpoint stays the same and the service had
  // all we want.
  Login(Options options, std::optional<Session> former, const Service& service = kPlacement);

  [[nodiscard]] Step start();
  [[nodiscard]] Step on_answer(const Result<HttpResponse>& answer, Now now);
  [[nodiscard]] Step on_pause_over();

 private:
  [[nodiscard]] Step send();
  [[nodiscard]] Step retry_or_fail(Error error, Backoff& backoff);
  [[nodiscard]] Step on_token(const HttpResponse& response, Now now);
  [[nodiscard]] Step on_versions(const HttpResponse& response);

  Options options_;
  const Service& service_;
  std::optional<Session> former_;
  Session session_;
  bool has_token_ = false;
  Backoff connect_;
  Backoff status_;
};

// One request. The answer is handed on whatever its status; triage() says what it means. Errors:
// unavailable (known not done), unknown (a write that may have been done), limit, invalid, and
// refused where the login was.
class Exchange final {
 public:
  using Step = std::variant<Send, Pause, NeedSession, Finished<HttpResponse>>;

  Exchange(const Options& options, ApiRequest request, const Service& service = kPlacement);

  [[nodiscard]] const ApiRequest& request() const { return request_; }
  [[nodiscard]] Step start();
  [[nodiscard]] Step on_session(const Result<Session>& session);
  [[nodiscard]] Step on_answer(Result<HttpResponse> answer);
  [[nodiscard]] Step on_pause_over();

 private:
  [[nodiscard]] Step send();
  [[nodiscard]] Step on_transport_error(Error error);

  const Service& service_;
  ApiRequest request_;
  Session session_;
  bool reauthenticated_ = false;
  Backoff connect_;
  Backoff status_;
};

// Judges an answer by its status: 2xx is the answer itself, anything else an error in an operator's
// words with the service's own detail and request id. A write answered 5xx is unknown: a proxy may
// have given up on a request that went through. An answer that is an error already is passed on.
[[nodiscard]] Result<HttpResponse> triage(const ApiRequest& request, Result<HttpResponse> answer,
                                          const Service& service = kPlacement);

// The service's own words, from Placement's {"errors": [{"detail": …, "code": …}]}, Keystone's
// {"error": {"message": …}} or Cyborg's {"error_message": …}; empty where the answer has none.
struct ErrorDetail {
  std::string detail;
  std::string code;
  std::string max_version;
};
[[nodiscard]] ErrorDetail error_detail(const HttpResponse& response);

}  // namespace reclaim::placement
