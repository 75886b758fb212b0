// Placement as a worker sees it that only observes ([reclaim] mode = observe): reads pass, writes
// are refused. What decides writes nothing then, by rules of its own; this holds where one is
// forgotten.
#pragma once

#include <string>
#include <vector>

#include "placement/providers.h"

namespace reclaim::placement {

inline constexpr const char* kNothingIsWritten =
    "[reclaim] mode = observe: nothing is written to Placement";

// Thread: the loop's. The providers outlive it.
class ObservedProviders final : public Providers {
 public:
  explicit ObservedProviders(Providers& providers) : providers_(providers) {}

  void list_tree_again(Tree known, Callback<Tree> done) override {
    providers_.list_tree_again(std::move(known), std::move(done));
  }
  void list_rows(Callback<std::vector<ProviderRow>> done) override {
    providers_.list_rows(std::move(done));
  }
  void read(const std::string& provider_uuid, Callback<ProviderView> done) override {
    providers_.read(provider_uuid, std::move(done));
  }
  void read_again(const ProviderView& known, Callback<ProviderView> done) override {
    providers_.read_again(known, std::move(done));
  }
  void read_inventories(const std::string& provider_uuid,
                        Callback<std::vector<Inventory>> done) override {
    providers_.read_inventories(provider_uuid, std::move(done));
  }
  void read_consumers(const std::string& provider_uuid,
                      Callback<std::vector<std::string>> done) override {
    providers_.read_consumers(provider_uuid, std::move(done));
  }
  void describe_consumer(const std::string& consumer, Callback<Consumer> done) override {
    providers_.describe_consumer(consumer, std::move(done));
  }
  void find(const std::string& name, Callback<std::string> done) override {
    providers_.find(name, std::move(done));
  }
  // Answered by a read, so that the answer comes later, as that of a write does.
  void set_reserved(const ProviderView& view, std::int64_t /*reserved*/,
                    Callback<ProviderView> done) override {
    providers_.read(view.uuid, [done = std::move(done)](const Result<ProviderView>& /*read*/) {
      done(Error{Errc::refused, kNothingIsWritten});
    });
  }
  void register_device(const NewDevice& device, Callback<ProviderView> done) override {
    providers_.find(device.name, [done = std::move(done)](const Result<std::string>& /*found*/) {
      done(Error{Errc::refused, kNothingIsWritten});
    });
  }

 private:
  Providers& providers_;
};

}  // namespace reclaim::placement
