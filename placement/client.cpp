#include "placement/client.h"

#include <utility>

#include "placement/keystone.h"

namespace reclaim::placement {

Result<std::unique_ptr<Client>> Client::create(Options options, HttpTransport& transport,
                                               Pauses& pauses, const Clock& clock, Logger& logger) {
  if (auto good = check_options(options); !good.ok()) return std::move(good).error();
  return std::unique_ptr<Client>(new Client(std::move(options), transport, pauses, clock, logger));
}

Client::Client(Options options, HttpTransport& transport, Pauses& pauses, const Clock& clock,
               Logger& logger)
    : options_(options),
      api_(kPlacement, std::move(options), Ports{transport, pauses, clock, logger}) {}

void Client::list_tree(Callback<Tree> done) {
  api_.converse(ListTree(options_, root_),
                Callback<Tree>([this, done = std::move(done)](Result<Tree> tree) {
                  if (tree.ok()) {
                    root_ = Root{tree->root_uuid, tree->root_name};
                  } else if (tree.error().code == Errc::not_found) {
                    root_.reset();
                  }
                  done(std::move(tree));
                }));
}

void Client::read(const std::string& provider_uuid, Callback<ProviderView> done) {
  api_.converse(ReadProvider(options_, provider_uuid), std::move(done));
}

void Client::set_reserved(const ProviderView& view, std::int64_t reserved,
                          Callback<ProviderView> done) {
  api_.converse(SetReserved(options_, view, reserved), std::move(done));
}

void Client::register_device(const NewDevice& device, Callback<ProviderView> done) {
  api_.later([name = device.name, done = std::move(done)] {
    done(Error{Errc::failed, "registering " + name + " is not done yet"});
  });
}

void Client::log_in(Callback<LoginFacts> done) {
  api_.log_in(std::move(done));
}

}  // namespace reclaim::placement
