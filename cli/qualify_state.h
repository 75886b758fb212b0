// The file in which a qualification remembers how far it is, one a drive, below
// STATE_PATH/qualify: a later run goes on from it. Blocking; thread: any, one at a time.
#pragma once

#include <optional>
#include <string>

#include "nvme/qualify/qualification.h"
#include "state/base/result.h"

namespace reclaim::cli {

class QualifyState final {
 public:
  QualifyState(const std::string& state_path, const std::string& serial);

  // Nothing: none was begun. Errc::invalid names the file, and what is wrong with it.
  [[nodiscard]] Result<std::optional<nvme::Qualification>> load() const;
  [[nodiscard]] Status save(const nvme::Qualification& qualification) const;
  void remove() const;
  [[nodiscard]] std::string path() const { return folder_ + "/" + name_; }

 private:
  std::string folder_;
  std::string name_;
};

}  // namespace reclaim::cli
