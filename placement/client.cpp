#include "placement/client.h"

#include <fmt/core.h>

#include <utility>

#include "placement/keystone/keystone.h"
#include "placement/lookups.h"
#include "placement/read_again.h"
#include "placement/register_device.h"

namespace reclaim::placement {

Result<std::unique_ptr<Client>> Client::create(Options options, HttpTransport& transport,
                                               Timers& timers, const Clock& clock, Logger& logger) {
  if (auto good = check_options(options); !good.ok()) return std::move(good).error();
  return std::unique_ptr<Client>(new Client(std::move(options), transport, timers, clock, logger));
}

Client::Client(Options options, HttpTransport& transport, Timers& timers, const Clock& clock,
               Logger& logger)
    : options_(options),
      logger_(logger),
      api_(kPlacement, std::move(options), Ports{transport, timers, clock, logger}) {}

void Client::list_tree_again(Tree known, Callback<Tree> done) {
  ListTree listing(options_, root_, std::move(known));
  api_.converse(std::move(listing), [this, done = std::move(done)](Result<Tree> tree) {
    if (tree.ok()) {
      root_ = Root{tree->root_uuid, tree->root_name};
    } else if (tree.error().code == Errc::not_found) {
      root_.reset();
    }
    done(std::move(tree));
  });
}

void Client::list_rows(Callback<std::vector<ProviderRow>> done) {
  api_.converse(ask_rows(options_, root_ ? root_->uuid : std::string()), std::move(done));
}

void Client::read(const std::string& provider_uuid, Callback<ProviderView> done) {
  api_.converse(ReadProvider(options_, provider_uuid), std::move(done));
}

void Client::read_again(const ProviderView& known, Callback<ProviderView> done) {
  api_.converse(ReadAgain(options_, known), std::move(done));
}

void Client::read_inventories(const std::string& provider_uuid,
                              Callback<std::vector<Inventory>> done) {
  api_.converse(ask_inventories(options_, provider_uuid), std::move(done));
}

void Client::read_consumers(const std::string& provider_uuid,
                            Callback<std::vector<std::string>> done) {
  api_.converse(ask_consumers(options_, provider_uuid), std::move(done));
}

void Client::describe_consumer(const std::string& consumer, Callback<Consumer> done) {
  api_.converse(ask_consumer(options_, consumer), std::move(done));
}

void Client::find(const std::string& name, Callback<std::string> done) {
  api_.converse(ask_for_name(options_, name), std::move(done));
}

void Client::set_reserved(const ProviderView& view, std::int64_t reserved,
                          Callback<ProviderView> done) {
  api_.converse(SetReserved(options_, view, reserved), std::move(done));
}

void Client::register_device(const NewDevice& device, Callback<ProviderView> done) {
  api_.converse(RegisterDevice(options_, device),
                [this, done = std::move(done)](Result<Registered> registered) {
                  if (!registered.ok()) return done(std::move(registered).error());
                  note_left_out(registered->traits_left_out);
                  done(std::move(registered->view));
                });
}

void Client::known_traits(std::vector<std::string> traits,
                          Callback<std::vector<std::string>> done) {
  api_.converse(ask_known_traits(options_, traits), std::move(done));
}

// Once a trait and process: the same Placement will say the same of every drive.
void Client::note_left_out(const std::vector<std::string>& traits) {
  for (const std::string& trait : traits) {
    if (!left_out_.insert(trait).second) continue;
    logger_.warning(log_name::kPlacement,
                    fmt::format("this Placement does not know the trait {} and gets along without "
                                "it; os-traits has the HW_NVME traits from 3.9.0 on",
                                trait));
  }
}

void Client::log_in(Callback<LoginFacts> done) {
  api_.log_in(std::move(done));
}

}  // namespace reclaim::placement
