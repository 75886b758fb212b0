// The real HttpTransport and Pauses: curl's multi interface on the libuv loop.
//
// Thread: the loop's; names are resolved on curl's own thread. Owns its connections, which are kept
// alive between requests. Callbacks outstanding at destruction are dropped. Must not be destroyed
// from within one of its callbacks.
//
// TLS is verified unless options.insecure. Redirects are not followed, compressed answers not asked
// for, and the environment's proxies (http_proxy) ignored: a daemon's token must not go through
// whatever proxy a shell happened to name. Where a proxy is needed, endpoint_override and auth_url
// name it.
#pragma once

#include <uv.h>

#include <functional>
#include <map>
#include <memory>

#include "placement/http/http.h"
#include "placement/options.h"
#include "state/base/result.h"
#include "state/base/uv.h"

namespace reclaim::placement {

class CurlTransport final : public HttpTransport {
 public:
  // Fails with Errc::invalid where cafile, certfile or keyfile cannot be read.
  [[nodiscard]] static Result<std::unique_ptr<CurlTransport>> create(uv_loop_t* loop,
                                                                     const Options& options);
  ~CurlTransport() override;
  CurlTransport(const CurlTransport&) = delete;
  CurlTransport& operator=(const CurlTransport&) = delete;

  void send(HttpRequest request, std::function<void(Result<HttpResponse>)> done) override;

 private:
  class Impl;
  explicit CurlTransport(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// One loop timer a pause. Pauses outstanding at destruction are dropped.
class UvPauses final : public Pauses {
 public:
  explicit UvPauses(uv_loop_t* loop) : loop_(loop) {}
  UvPauses(const UvPauses&) = delete;
  UvPauses& operator=(const UvPauses&) = delete;

  void after(int delay_ms, std::function<void()> wake) override;

 private:
  uv_loop_t* loop_;
  std::map<std::uint64_t, std::unique_ptr<uv::Timer>> timers_;
  std::uint64_t next_ = 0;
};

}  // namespace reclaim::placement
