// TokenCache: what Keystone said of tokens, by a key that does not tell them. Good and refused ones
// are kept apart, so that a flood of bad tokens pushes out no good one. No I/O, no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>

#include "placement/keystone/token_answers.h"
#include "state/base/clock.h"

namespace reclaim::placement {

// A bounded map from which the entry not used for longest goes first.
template <typename T>
class LeastRecent final {
 public:
  explicit LeastRecent(std::size_t max) : max_(max) {}

  // The entry, now the most recent; nullptr: none.
  [[nodiscard]] const T* find(const std::string& key) {
    const auto at = by_key_.find(key);
    if (at == by_key_.end()) return nullptr;
    order_.splice(order_.begin(), order_, at->second);
    return &at->second->value;
  }
  void put(const std::string& key, T value) {
    erase(key);
    if (max_ == 0) return;
    if (order_.size() == max_) erase(std::string(order_.back().key));
    order_.push_front({key, std::move(value)});
    by_key_.emplace(key, order_.begin());
  }
  void erase(const std::string& key) {
    const auto at = by_key_.find(key);
    if (at == by_key_.end()) return;
    order_.erase(at->second);
    by_key_.erase(at);
  }
  [[nodiscard]] std::size_t size() const { return order_.size(); }

 private:
  struct Entry {
    std::string key;
    T value;
  };
  std::size_t max_;
  std::list<Entry> order_;
  std::unordered_map<std::string, typename std::list<Entry>::iterator> by_key_;
};

class TokenCache final {
 public:
  struct Limits {
    std::int64_t good_ms = 0;
    std::int64_t refused_ms = 0;
    std::size_t good_max = 0;
    std::size_t refused_max = 0;
  };
  explicit TokenCache(Limits limits)
      : limits_(limits), good_(limits.good_max), refused_(limits.refused_max) {}

  // Answers what is known: an identity, a refusal, or nothing. `allow_expired` as the entry was put
  // in.
  [[nodiscard]] std::optional<Result<Identity>> find(const std::string& key, bool allow_expired,
                                                     Now now);
  void put_good(const std::string& key, const SubjectToken& token, bool allow_expired, Now now);
  void put_refused(const std::string& key, const Error& why, Now now);

 private:
  struct Good {
    SubjectToken token;
    MonoMs until;
  };
  struct Refused {
    Error why;
    MonoMs until;
  };

  Limits limits_;
  LeastRecent<Good> good_;
  LeastRecent<Refused> refused_;
};

}  // namespace reclaim::placement
