#include "state/device/named_steps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "state/base/embedded_json.h"
#include "state/base/json.h"
#include "state/base/log.h"
#include "state/device/order_args.h"

namespace reclaim {
namespace {

constexpr const char* kList = "clean_steps";

std::string at(std::size_t index) {
  return fmt::format("{}[{}]", kList, index);
}

Error wrong(std::string what) {
  return Error{Errc::invalid, std::move(what)};
}

Result<std::string> read_args(const rapidjson::Value& value, const std::string& where) {
  if (!value.IsObject()) return wrong(where + ".args is not an object");
  std::string text = json::to_text(value);
  if (text.size() > kNamedArgsBytesMax) {
    return Error{Errc::limit, fmt::format("{}.args has {} bytes, {} are allowed", where,
                                          text.size(), kNamedArgsBytesMax)};
  }
  return text;
}

Result<CleanStep> read_step(const rapidjson::Value& value, const std::string& where) {
  if (!value.IsObject()) return wrong(where + " is not an object");
  CleanStep step;
  step.args = "{}";
  step.by_hand = true;
  for (const auto& member : value.GetObject()) {
    const std::string name(member.name.GetString(), member.name.GetStringLength());
    if (name == "args") {
      auto args = read_args(member.value, where);
      if (!args) return args.error();
      step.args = *std::move(args);
    } else if (name == "interface" || name == "step") {
      if (!member.value.IsString()) return wrong(fmt::format("{}.{} is not a text", where, name));
      std::string& word = name == "step" ? step.step : step.interface;
      word.assign(member.value.GetString(), member.value.GetStringLength());
    } else {
      return wrong(fmt::format("{} has a member '{}'; accepted are interface, step and args", where,
                               printable_excerpt(name, 40)));
    }
  }
  if (step.interface.empty()) return wrong(where + ".interface is missing");
  if (step.step.empty()) return wrong(where + ".step is missing");
  return step;
}

std::string names(const std::vector<CleanStep>& steps) {
  std::vector<std::string> out;
  out.reserve(steps.size());
  for (const CleanStep& step : steps) out.push_back(name_of(step));
  return fmt::to_string(fmt::join(out, ", "));
}

}  // namespace

Result<std::vector<CleanStep>> parse_named_steps(std::string_view json_text) {
  const auto document = parse_shallow(json_text, kNamedStepsBytesMax);
  if (!document) return document.error();
  const rapidjson::Value* list = &*document;
  if (document->IsObject()) {
    for (const auto& member : document->GetObject()) {
      const std::string name(member.name.GetString(), member.name.GetStringLength());
      if (name != kList) {
        return wrong(fmt::format("it has a member '{}'; accepted is {}",
                                 printable_excerpt(name, 40), kList));
      }
    }
    list = json::find(*document, kList);
    if (list == nullptr) return wrong(fmt::format("{} is missing", kList));
  }
  if (!list->IsArray() || list->Empty()) {
    return wrong(fmt::format("{} is not a list of steps with at least one", kList));
  }
  if (list->Size() > kNamedStepsMax) {
    return Error{Errc::limit, fmt::format("{} has {} steps, {} are allowed", kList, list->Size(),
                                          kNamedStepsMax)};
  }
  std::vector<CleanStep> steps;
  for (const rapidjson::Value& each : list->GetArray()) {
    auto step = read_step(each, at(steps.size()));
    if (!step) return step.error();
    steps.push_back(*std::move(step));
  }
  return steps;
}

Status check_named_steps(const std::vector<CleanStep>& named,
                         const std::vector<CleanStep>& offered) {
  if (offered.empty()) {
    return wrong(
        fmt::format("{}: none can be named for this device: no device_spec entry matches "
                    "it, or its worker has not seen it since it was started; then issue "
                    "the order again in a moment",
                    kList));
  }
  for (std::size_t i = 0; i < named.size(); ++i) {
    const auto known =
        std::find_if(offered.begin(), offered.end(), [&step = named[i]](const CleanStep& other) {
          return other.interface == step.interface && other.step == step.step;
        });
    if (known == offered.end()) {
      return wrong(
          fmt::format("{}: '{}' is not a step that can be named for this device; there are "
                      "{} (the plan erases and verifies by itself)",
                      at(i), printable_excerpt(name_of(named[i]), 80), names(offered)));
    }
    if (Status good = check_ordered_args(named[i].args, known->args); !good) {
      return Error{good.error().code,
                   fmt::format("{}.args of {}: {}", at(i), name_of(*known), good.error().what)};
    }
  }
  return Ok{};
}

}  // namespace reclaim
