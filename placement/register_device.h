// Registering a device with Placement, sans-I/O as the conversations beside it: resource class,
// provider, traits and, last, its one inventory with reserved = 1. What is there already is read
// first, so that it can begin anywhere and be repeated: a crash between any two requests leaves
// nothing that could be scheduled.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "placement/conversations.h"

namespace reclaim::placement {

struct Registered {
  ProviderView view;
  std::vector<std::string> traits_left_out;  // those this Placement's os-traits does not know
};

// Requests: twelve for a device that is new, six for one that is registered already. A 409, whether
// of a generation or of a name, and Placement's 500 of traits that another changed meanwhile are
// answered by reading all again, a bounded number of times. A write whose answer never came ends
// the conversation with Errc::unknown: the next one finds out.
class RegisterDevice final {
 public:
  using Value = Registered;
  using Step = ConversationStep<Registered>;

  RegisterDevice(const Options& options, NewDevice device);

  [[nodiscard]] Step start();
  [[nodiscard]] Step on_answer(Result<HttpResponse> answer);

 private:
  enum class Asked {
    known_traits,
    find,
    create_class,
    create_provider,
    traits,
    inventories,
    put_traits,
    put_inventory,
  };

  [[nodiscard]] Step ask(Asked what, std::string path, std::string body = "");
  [[nodiscard]] Step find();
  [[nodiscard]] Step create_class();
  [[nodiscard]] Step read_traits();
  [[nodiscard]] Step read_inventories();
  [[nodiscard]] Step make_what_is_missing();
  [[nodiscard]] Step read_back();
  [[nodiscard]] Step again(Error error);
  [[nodiscard]] Step on_failed(Error error);
  [[nodiscard]] Step on_known_traits(const HttpResponse& response);
  [[nodiscard]] Step on_found(const HttpResponse& response);
  [[nodiscard]] Step on_traits(const HttpResponse& response);
  [[nodiscard]] Step on_inventories(const HttpResponse& response);
  [[nodiscard]] Step on_read_back(ReadProvider::Step step);
  [[nodiscard]] Step stop(Errc code, std::string_view why) const;

  const Options& options_;
  NewDevice device_;
  std::vector<std::string> left_out_;
  Asked asked_ = Asked::known_traits;
  ApiRequest request_;
  int rounds_left_;
  int trait_writes_left_;
  bool class_there_ = false;
  std::string provider_;  // the UUID of the provider found or made
  TraitsAnswer traits_;
  InventoriesAnswer inventories_;
  bool inventory_written_ = false;
  std::optional<ReadProvider> full_read_;
};

}  // namespace reclaim::placement
