#include "listener/amqp/options.h"

namespace reclaim::listener {

std::vector<std::string> notification_keys(const std::vector<std::string>& topics) {
  std::vector<std::string> out;
  for (const std::string& topic : topics) {
    for (const char* priority : {".info", ".error"}) out.push_back(topic + priority);
  }
  return out;
}

}  // namespace reclaim::listener
