// A HttpTransport that tells how each request ended and how long it took, for the worker's metrics.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "placement/http/http.h"
#include "state/base/clock.h"

namespace reclaim::placement {

// Thread: the loop's. Transport and clock outlive it.
class MeasuredTransport final : public HttpTransport {
 public:
  // `outcome`: the class of the status ("2xx"), or the kind of the error.
  using Measured = std::function<void(std::string_view outcome, std::int64_t ms)>;

  MeasuredTransport(HttpTransport& transport, const Clock& clock, Measured measured)
      : transport_(transport), clock_(clock), measured_(std::move(measured)) {}

  void send(HttpRequest request, Callback<HttpResponse> done) override {
    constexpr int kClassSize = 100;
    transport_.send(std::move(request),
                    [measured = measured_, &clock = clock_, began = clock_.now().mono,
                     done = std::move(done)](Result<HttpResponse> response) {
                      measured(response ? fmt::format("{}xx", response->status / kClassSize)
                                        : std::string(to_string(response.error().code)),
                               clock.now().mono.ms - began.ms);
                      done(std::move(response));
                    });
  }

 private:
  HttpTransport& transport_;
  const Clock& clock_;
  Measured measured_;
};

}  // namespace reclaim::placement
