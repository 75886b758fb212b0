#include "nvme/controller/namespace_layout.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace reclaim::nvme {
namespace {

constexpr std::string_view kSurface = "namespaces";
constexpr std::uint32_t kBlockBytesMax = 4096;  // of a disk of the kernel's: a page

StepFinding found(std::string text, bool reset = false) {
  return StepFinding{std::string(kSurface), std::move(text), reset};
}

std::string describe(const NamespaceState& ns) {
  std::string text =
      fmt::format("{}: {} bytes in blocks of {}", ns.nsid, ns.bytes(), ns.block_bytes);
  if (ns.metadata_bytes != 0) text += fmt::format(" with {} of metadata", ns.metadata_bytes);
  if (ns.protection != 0) text += fmt::format(", protection {:#x}", ns.protection);
  if ((ns.sharing & 1U) != 0) text += ", shared";
  if (!ns.active) text += ", detached";
  return text;
}

std::string describe_all(const ControllerState& state) {
  std::vector<std::string> parts;
  for (const NamespaceState& ns : state.namespaces) parts.push_back(describe(ns));
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, "; "));
}

// The one namespace of the enrolment, the yardstick of what is now.
const NamespaceState* enrolled_namespace(const ControllerState* enrolled) {
  if (enrolled == nullptr || enrolled->namespaces.size() != 1) return nullptr;
  return &enrolled->namespaces.front();
}

// Says what is wrong with the format of a namespace; "" when nothing is.
std::string format_fault(const NamespaceState& ns, const NamespaceState* wanted) {
  if (wanted == nullptr) {
    // A first cleaning: nobody knows which block size the operator chose; metadata and protection
    // are nothing that a tenant should be given unasked.
    if (ns.metadata_bytes != 0 || ns.protection != 0) return "it carries metadata or protection";
    return ns.block_bytes > kBlockBytesMax ? "its blocks are larger than the kernel takes" : "";
  }
  if (ns.block_bytes != wanted->block_bytes || ns.metadata_bytes != wanted->metadata_bytes) {
    return fmt::format("at enrolment its blocks were {} bytes with {} of metadata",
                       wanted->block_bytes, wanted->metadata_bytes);
  }
  if (ns.protection != wanted->protection) return "its protection information was changed";
  return "";
}

std::uint64_t slack_of(std::uint64_t bytes) {
  return std::max(bytes / 100 * kCapacitySlackPercent, std::min(kCapacitySlackBytes, bytes / 10));
}

// Says what no namespace covers, and so may hold data: bytes that are missing from the drive's
// whole, or that it says are unallocated; "" when there are none.
std::string cover_fault(const ControllerState& now) {
  std::uint64_t taken = 0;
  for (const NamespaceState& ns : now.namespaces) taken += ns.bytes_taken();
  const std::uint64_t whole =
      now.capacity_bytes != 0 ? now.capacity_bytes : taken + now.unallocated_bytes;
  if (!about_equal(taken, whole)) return fmt::format("the drive has {} bytes", whole);
  if (now.unallocated_bytes > slack_of(whole)) {
    return fmt::format("{} bytes of the drive are not allocated", now.unallocated_bytes);
  }
  return "";
}

// The bytes that no namespace covers, by what the drive says of itself; 0 also where it is less
// than a block of the smallest format, which no layout can allocate.
std::uint64_t uncovered_bytes(const ControllerState& now) {
  std::uint64_t taken = 0;
  std::uint64_t smallest = ~std::uint64_t{0};
  for (const NamespaceState& ns : now.namespaces) {
    taken += ns.bytes_taken();
    smallest = std::min<std::uint64_t>(smallest, ns.block_bytes);
  }
  for (const LbaFormat& each : now.formats) {
    if (each.block_bytes != 0) smallest = std::min<std::uint64_t>(smallest, each.block_bytes);
  }
  const std::uint64_t missing = now.capacity_bytes - std::min(now.capacity_bytes, taken);
  const std::uint64_t uncovered = std::max(missing, now.unallocated_bytes);
  return uncovered < smallest ? 0 : uncovered;
}

// Says what is wrong with the only namespace of a drive whose namespaces can be managed; "" when
// nothing is.
std::string single_fault(const ControllerState& now, const NamespaceState* wanted) {
  const NamespaceState& ns = now.namespaces.front();
  if (!ns.active) return "it is detached";
  if (std::string fault = format_fault(ns, wanted); !fault.empty()) return fault;
  if (ns.capacity_blocks != ns.size_blocks) return "it is thinly provisioned";
  if (wanted != nullptr && (ns.sharing & 1U) != (wanted->sharing & 1U)) {
    return "whether it may be shared was changed";
  }
  // The enrolment alone does not decide: it is renewed after each cleaning, so that what is missing
  // could grow from one to the next.
  if (std::string fault = cover_fault(now); !fault.empty()) return fault;
  if (now.capacity_bytes == 0 && wanted != nullptr && !about_equal(ns.bytes(), wanted->bytes())) {
    return fmt::format("at enrolment it was {} bytes", wanted->bytes());
  }
  return "";
}

std::optional<std::uint8_t> find_format(const std::vector<LbaFormat>& formats,
                                        const NamespaceState& like) {
  const auto fits = [&](const LbaFormat& f) {
    return f.block_bytes == like.block_bytes && f.metadata_bytes == like.metadata_bytes;
  };
  if (like.format < formats.size() && fits(formats[like.format])) return like.format;
  const auto hit = std::find_if(formats.begin(), formats.end(), fits);
  if (hit == formats.end()) return std::nullopt;
  return static_cast<std::uint8_t>(hit - formats.begin());
}

// The format to make a namespace in: the enrolled one, else the one that is in use, else the
// drive's fastest of 512 or 4096 bytes without metadata, else its first.
Result<NamespaceToMake> choose_format(const ControllerState& now, const NamespaceState* wanted) {
  NamespaceToMake make;
  if (wanted != nullptr) {
    make.sharing = wanted->sharing & 1U;
    make.block_bytes = wanted->block_bytes;
    make.metadata_bytes = wanted->metadata_bytes;
    make.format = wanted->format;
    if (now.formats.empty()) return make;
    const auto format = find_format(now.formats, *wanted);
    if (format) {
      make.format = *format;
      return make;
    }
    return Error{Errc::failed,
                 fmt::format("namespaces: the drive does not offer blocks of {} bytes with {} of "
                             "metadata any more, in which it was enrolled; enrol it again",
                             wanted->block_bytes, wanted->metadata_bytes)};
  }
  const auto plain = std::find_if(
      now.namespaces.begin(), now.namespaces.end(),
      [](const NamespaceState& ns) { return ns.active && format_fault(ns, nullptr).empty(); });
  if (plain != now.namespaces.end()) {
    make.format = plain->format;
    make.block_bytes = plain->block_bytes;
    return make;
  }
  const LbaFormat* best = nullptr;
  for (const LbaFormat& each : now.formats) {
    const bool usual = each.block_bytes == 512 || each.block_bytes == 4096;
    if (!usual || each.metadata_bytes != 0) continue;
    if (best == nullptr || each.performance < best->performance) best = &each;
  }
  if (best == nullptr && !now.formats.empty()) best = &now.formats.front();
  make.format =
      best == nullptr ? std::uint8_t{0} : static_cast<std::uint8_t>(best - now.formats.data());
  make.block_bytes = best == nullptr ? 512 : best->block_bytes;
  make.metadata_bytes = best == nullptr ? std::uint16_t{0} : best->metadata_bytes;
  return make;
}

// Says what keeps the layout from being one namespace over all of the drive; "" when nothing does.
std::string layout_fault(const ControllerState& now, const NamespaceState* wanted) {
  if (now.namespaces.empty()) return "the drive has no namespace";
  if (now.namespaces.size() > 1) {
    return fmt::format("there are {} namespaces", now.namespaces.size());
  }
  return single_fault(now, wanted);
}

std::optional<StepFinding> describe_rounding(const ControllerState& now) {
  const NamespaceState& ns = now.namespaces.front();
  if (now.capacity_bytes == 0 || ns.bytes_taken() == now.capacity_bytes) return std::nullopt;
  return found(fmt::format("the drive has {} bytes, its namespace {}: within what drives round",
                           now.capacity_bytes, ns.bytes()));
}

Result<LayoutPlan> plan_managed(const ControllerState& now, const NamespaceState* wanted,
                                EraseMethod method) {
  LayoutPlan plan;
  std::string fault = layout_fault(now, wanted);
  if (fault.empty() && is_sanitize(method)) {
    plan.findings.push_back(found("as it should be: " + describe(now.namespaces.front())));
    if (auto rounded = describe_rounding(now); rounded) plan.findings.push_back(*rounded);
    return plan;
  }
  // A deleted namespace's blocks may be handed to the next one that is made: nothing but one over
  // all of them brings them within reach.
  const bool as_it_should_be = fault.empty();
  if (as_it_should_be) {
    fault = fmt::format("made again, since {} reaches only what is allocated", to_string(method));
  }
  auto make = choose_format(now, wanted);
  if (!make) return std::move(make).error();
  for (const NamespaceState& ns : now.namespaces) {
    plan.remove.push_back(ns.nsid);
    make->former_bytes += ns.bytes();
  }
  if (wanted != nullptr) make->former_bytes = wanted->bytes();
  plan.make = *make;
  plan.findings.push_back(
      found(fmt::format("{} ({})", fault, describe_all(now)), !as_it_should_be));
  return plan;
}

// A first cleaning of a drive whose namespaces stay as they are: what a tenant should not be given
// unasked, and the kernel mostly cannot use, goes, where the drive can format.
void set_back_unusable(const ControllerState& now, LayoutPlan& plan) {
  const auto make = choose_format(now, nullptr);
  if ((now.oacs & 2U) == 0 || !make || make->metadata_bytes != 0) return;
  for (const NamespaceState& ns : now.namespaces) {
    const std::string fault = format_fault(ns, nullptr);
    if (!ns.active || fault.empty()) continue;
    plan.format.push_back(NamespaceToFormat{ns.nsid, make->format});
    plan.findings.push_back(found(fmt::format("{}: {}", describe(ns), fault), true));
  }
}

Result<LayoutPlan> plan_unmanaged(const ControllerState& now, const ControllerState* enrolled,
                                  EraseMethod method) {
  LayoutPlan plan;
  const auto hidden = std::count_if(now.namespaces.begin(), now.namespaces.end(),
                                    [](const NamespaceState& ns) { return !ns.active; });
  if (now.namespaces.size() == static_cast<std::size_t>(hidden)) {
    return Error{Errc::failed,
                 fmt::format("namespaces: none is attached ({}) and the drive cannot manage "
                             "namespaces; attach one with the tool of its vendor",
                             describe_all(now))};
  }
  if (hidden != 0 && !is_sanitize(method)) {
    return Error{
        Errc::failed,
        fmt::format("namespaces: {} of {} are detached and out of reach of {} ({}); attach "
                    "them with `nvme attach-ns`{}",
                    hidden, now.namespaces.size(), to_string(method), describe_all(now),
                    now.can_sanitize ? ", or clean the device with clear_action=sanitize, which "
                                       "covers the whole drive"
                                     : ", then clean the device again")};
  }
  if (auto covered = check_covered(now, method); !covered) return std::move(covered).error();
  plan.findings.push_back(found(describe_all(now)));
  if (hidden != 0) {
    plan.findings.push_back(
        found(fmt::format("{} detached ones stay; {} erases them too", hidden, to_string(method))));
  }
  if (enrolled == nullptr) {
    set_back_unusable(now, plan);
    return plan;
  }
  for (const NamespaceState& ns : now.namespaces) {
    const auto before =
        std::find_if(enrolled->namespaces.begin(), enrolled->namespaces.end(),
                     [&](const NamespaceState& was) { return was.nsid == ns.nsid; });
    if (!ns.active || before == enrolled->namespaces.end()) continue;
    const std::string fault = format_fault(ns, &*before);
    if (fault.empty()) continue;
    const auto format = find_format(now.formats, *before);
    const bool can_format = (now.oacs & 2U) != 0;
    if (!can_format || !format || before->protection != 0) {
      return Error{Errc::failed,
                   fmt::format("namespaces: {}: {}; format it by hand, then clean the device again",
                               describe(ns), fault)};
    }
    plan.format.push_back(NamespaceToFormat{ns.nsid, *format});
    plan.findings.push_back(found(fmt::format("{}: {}", describe(ns), fault), true));
  }
  if (now.namespaces.size() != enrolled->namespaces.size()) {
    return Error{
        Errc::failed,
        fmt::format("namespaces: there are {} ({}), at enrolment there were {}, and the "
                    "drive cannot manage namespaces; enrol it again",
                    now.namespaces.size(), describe_all(now), enrolled->namespaces.size())};
  }
  return plan;
}

}  // namespace

Status check_covered(const ControllerState& now, EraseMethod method) {
  if (is_sanitize(method) || !now.namespace_management()) return Ok{};
  const std::uint64_t uncovered = uncovered_bytes(now);
  if (uncovered == 0) return Ok{};
  return Error{Errc::failed,
               fmt::format("namespaces: {} bytes of the drive are in none of its namespaces ({}), "
                           "where {} does not reach what a tenant may have written; {}",
                           uncovered, describe_all(now), to_string(method),
                           now.can_sanitize ? "clean the device with clear_action=sanitize, which "
                                              "covers the whole drive, or replace it"
                                            : "the drive has no sanitize that would: replace it")};
}

bool about_equal(std::uint64_t a_bytes, std::uint64_t b_bytes) {
  const std::uint64_t larger = std::max(a_bytes, b_bytes);
  return larger - std::min(a_bytes, b_bytes) <= slack_of(larger);
}

Result<LayoutPlan> plan_namespaces(const ControllerState& now, const ControllerState* enrolled,
                                   EraseMethod method, bool can_manage) {
  if (!can_manage || !now.namespace_management()) return plan_unmanaged(now, enrolled, method);
  return plan_managed(now, enrolled_namespace(enrolled), method);
}

}  // namespace reclaim::nvme
