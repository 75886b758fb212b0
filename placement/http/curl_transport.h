// The real HttpTransport: curl's multi interface on the libuv loop.
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

#include <memory>

#include "placement/http/http.h"
#include "placement/options.h"
#include "state/base/result.h"

namespace reclaim::placement {

class CurlTransport : public HttpTransport {
 public:
  // Fails with Errc::invalid where cafile, certfile or keyfile cannot be read.
  [[nodiscard]] static Result<std::unique_ptr<CurlTransport>> create(uv_loop_t* loop,
                                                                     const Options& options);

 private:
  class Impl;
};

}  // namespace reclaim::placement
