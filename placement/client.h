// Client: Providers over an HttpTransport, with Keystone behind it. Owns its session and the root
// provider once found.
//
// Thread: the loop's. Transport, timers, clock and logger outlive the client; callbacks that are
// outstanding when it is destroyed are dropped.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "placement/conversations.h"
#include "placement/http/http.h"
#include "placement/keystone/api_session.h"
#include "placement/options.h"
#include "placement/providers.h"
#include "state/base/clock.h"
#include "state/base/log.h"

namespace reclaim::placement {

class Client final : public Providers {
 public:
  // Fails with Errc::invalid, naming the option, where options cannot work.
  [[nodiscard]] static Result<std::unique_ptr<Client>> create(Options options,
                                                              HttpTransport& transport,
                                                              Timers& timers, const Clock& clock,
                                                              Logger& logger);
  ~Client() override = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void list_tree_again(Tree known, Callback<Tree> done) override;
  void read(const std::string& provider_uuid, Callback<ProviderView> done) override;
  void read_again(const ProviderView& known, Callback<ProviderView> done) override;
  void list_rows(Callback<std::vector<ProviderRow>> done) override;
  void read_inventories(const std::string& provider_uuid,
                        Callback<std::vector<Inventory>> done) override;
  void read_consumers(const std::string& provider_uuid,
                      Callback<std::vector<std::string>> done) override;
  void describe_consumer(const std::string& consumer, Callback<Consumer> done) override;
  void find(const std::string& name, Callback<std::string> done) override;
  void set_reserved(const ProviderView& view, std::int64_t reserved,
                    Callback<ProviderView> done) override;
  void register_device(const NewDevice& device, Callback<ProviderView> done) override;

  // Answers those of `traits` that Placement knows. One request.
  void known_traits(std::vector<std::string> traits, Callback<std::vector<std::string>> done);

  // Logs in if that has not been done, and says where to.
  void log_in(Callback<LoginFacts> done);

  [[nodiscard]] const RequestCounts& counts() const { return api_.counts(); }

 private:
  Client(Options options, HttpTransport& transport, Timers& timers, const Clock& clock,
         Logger& logger);

  void note_left_out(const std::vector<std::string>& traits);

  const Options options_;
  Logger& logger_;
  std::optional<Root> root_;
  std::set<std::string> left_out_;  // traits that Placement does not know, as logged
  ApiSession api_;
};

}  // namespace reclaim::placement
