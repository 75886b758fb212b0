#include "cli/certificate_page.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>
#include <string_view>

#include "cli/fleet_status.h"
#include "cli/html.h"
#include "cli/pci_vendor.h"
#include "state/base/clock.h"
#include "state/base/json.h"

namespace reclaim::cli {
namespace {

struct Row {
  std::string_view member;
  std::string_view label;
};

constexpr std::array kDevice = {Row{"vendor_id", "Manufacturer"},
                                Row{"model", "Model"},
                                Row{"serial", "Serial number"},
                                Row{"firmware", "Firmware"},
                                Row{"capacity_bytes", "Capacity"},
                                Row{"product_id", "PCI product"},
                                Row{"host", "Host"},
                                Row{"flow", "Flow"},
                                Row{"address", "PCI address"},
                                Row{"device_uuid", "Device UUID"},
                                Row{"provider", "Placement provider"},
                                Row{"tags", "Tags"},
                                Row{"policies", "Policies"}};
constexpr std::array kTenancy = {Row{"instance", "Instance"},
                                 Row{"instance_source", "Known from"},
                                 Row{"migration", "Moved by migration"},
                                 Row{"project", "Project"},
                                 Row{"user", "User"},
                                 Row{"heard", "Heard of, not proven"},
                                 Row{"request_id", "Ordered by request"}};
constexpr std::array kTimes = {
    Row{"started_at", "Cleaning started"}, Row{"verified_at", "Erasure verified"},
    Row{"released_at", "Released"}, Row{"not_returned", "Erased, not returned"}};
// Members whose zero or no says that there was nothing of the kind: another method, no allowance.
constexpr std::array<std::string_view, 10> kSilent = {
    "adopted",    "bytes_unreadable", "bytes_zeroed",     "capacity_bytes",    "commands",
    "host_reads", "host_writes",      "places_off_value", "places_unreadable", "resumed_at_bytes"};
constexpr std::array<std::string_view, 3> kRegisters = {"cdw10", "scdw10", "sstat"};
constexpr std::array<std::string_view, 2> kPciIds = {"vendor_id", "product_id"};
constexpr std::array kElsewhere = {"schema",   "id",           "method",   "sanitization_class",
                                   "evidence", "verification", "findings", "tool_version",
                                   "timeline"};

std::string text_of(const rapidjson::Value& value) {
  if (value.IsString()) return {value.GetString(), value.GetStringLength()};
  if (value.IsBool()) return value.GetBool() ? "yes" : "no";
  if (value.IsNull()) return {};
  if (value.IsArray() &&
      std::all_of(value.Begin(), value.End(), [](const auto& each) { return each.IsString(); })) {
    std::string all;
    for (const auto& each : value.GetArray()) {
      all += (all.empty() ? "" : ", ") + std::string(each.GetString(), each.GetStringLength());
    }
    return all;
  }
  return json::to_text(value);
}

// "global_data_erased": "Global data erased".
std::string label_of(std::string_view member) {
  if (member == "cdw10") return "Sent (CDW10)";
  if (member == "scdw10") return "Logged (SCDW10)";
  if (member == "sstat") return "Status (SSTAT)";
  if (member == "fit") return "Fit to be given back";
  std::string label(member);
  std::replace(label.begin(), label.end(), '_', ' ');
  if (!label.empty())
    label[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(label[0])));
  return label;
}

std::string row(std::string_view label, const std::string& text) {
  if (text.empty()) return {};
  return fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", html_text(label), html_text(text));
}

std::string section(std::string_view name, const std::string& rows, std::string_view look = {}) {
  if (rows.empty()) return {};
  return fmt::format("<section><h2>{}</h2>\n<table class=\"{}\">\n{}</table></section>\n",
                     html_text(name), look, rows);
}

template <typename Names>
bool is_one_of(const Names& names, std::string_view member) {
  return std::find(names.begin(), names.end(), member) != names.end();
}

bool says_nothing(std::string_view member, const rapidjson::Value& value) {
  const bool zero =
      (value.IsInt64() && value.GetInt64() == 0) || (value.IsBool() && !value.GetBool());
  return zero && is_one_of(kSilent, member);
}

// "Samsung, PCI vendor 0x144d"; "0xa80a".
std::string pci_id_text(std::string_view member, const std::string& id) {
  if (id.empty()) return {};
  if (member != "vendor_id") return "0x" + id;
  const std::string_view name = pci_vendor_name(id);
  return fmt::format("{}PCI vendor 0x{}", name.empty() ? "" : fmt::format("{}, ", name), id);
}

std::string shown(std::string_view member, const rapidjson::Value& value) {
  if (says_nothing(member, value)) return {};
  if (is_one_of(kRegisters, member) && value.IsUint64()) {
    return fmt::format("{:#x}", value.GetUint64());
  }
  if (is_one_of(kPciIds, member)) return pci_id_text(member, text_of(value));
  if (member == "capacity_bytes" && value.IsUint64()) {
    return fmt::format("{} ({} bytes)", size_text(value.GetUint64()), value.GetUint64());
  }
  if (member.ends_with("_ms") && value.IsInt64()) {
    return fmt::format("{:.1f} s", static_cast<double>(value.GetInt64()) / 1000);
  }
  return text_of(value);
}

template <typename Rows>
std::string rows_of(const rapidjson::Value& certificate, const Rows& rows) {
  std::string out;
  for (const Row& each : rows) {
    const rapidjson::Value* value = json::find(certificate, each.member);
    if (value != nullptr) out += row(each.label, shown(each.member, *value));
  }
  return out;
}

// All members of one of its objects.
std::string rows_of_object(const rapidjson::Value& certificate, std::string_view name) {
  const rapidjson::Value* object = json::find(certificate, name);
  if (object == nullptr || !object->IsObject()) return {};
  std::string out;
  for (const auto& member : object->GetObject()) {
    const std::string_view key(member.name.GetString(), member.name.GetStringLength());
    if (key == "method") continue;  // said above it
    out += row(label_of(key.ends_with("_ms") ? key.substr(0, key.size() - 3) : key),
               shown(key, member.value));
  }
  return out;
}

// The rows of what each clean step looked at, by step.
std::string findings_of(const rapidjson::Value& certificate) {
  const rapidjson::Value* findings = json::find(certificate, "findings");
  if (findings == nullptr || !findings->IsObject()) return {};
  std::string out;
  for (const auto& step : findings->GetObject()) {
    if (!step.value.IsArray()) continue;
    std::string found;
    for (const auto& each : step.value.GetArray()) {
      if (!each.IsObject()) continue;
      const auto reset = each.FindMember("reset");
      const bool was_reset =
          reset != each.MemberEnd() && reset->value.IsBool() && reset->value.GetBool();
      std::string surface = json::maybe_string(each, "surface").value_or("");
      std::replace(surface.begin(), surface.end(), '_', ' ');
      found += fmt::format("{}{}: {}{}", found.empty() ? "" : "; ", html_text(surface),
                           html_text(json::maybe_string(each, "found").value_or("")),
                           was_reset ? " <b>(reset)</b>" : "");
    }
    out += fmt::format("<tr><th><code>{}</code></th><td>{}</td></tr>\n",
                       html_text({step.name.GetString(), step.name.GetStringLength()}), found);
  }
  return out;
}

// The rows of when each stage was reached, and how long it took until the next.
std::string timeline_rows(const rapidjson::Value& certificate) {
  const rapidjson::Value* timeline = json::find(certificate, "timeline");
  if (timeline == nullptr || !timeline->IsArray()) return {};
  std::string out;
  std::optional<WallMs> next;
  for (auto mark = timeline->End(); mark != timeline->Begin();) {
    --mark;
    const std::string at = mark->IsObject() ? json::maybe_string(*mark, "at").value_or("") : "";
    const auto reached = from_iso8601(at);
    // A clock that was set back in between tells nothing.
    const bool took = reached.ok() && next && next->ms >= reached->ms;
    const std::string length =
        took ? fmt::format(" ({:.3f} s)", static_cast<double>(next->ms - reached->ms) / 1000) : "";
    next = reached.ok() ? std::optional<WallMs>(*reached) : std::nullopt;
    if (!reached.ok()) continue;
    out.insert(0, row(label_of(json::maybe_string(*mark, "stage").value_or("")), at + length));
  }
  return out;
}

std::string unknown_rows(const rapidjson::Value& certificate) {
  std::set<std::string_view> known(kElsewhere.begin(), kElsewhere.end());
  for (const Row& each : kDevice) known.insert(each.member);
  for (const Row& each : kTenancy) known.insert(each.member);
  for (const Row& each : kTimes) known.insert(each.member);
  std::string out;
  for (const auto& member : certificate.GetObject()) {
    const std::string_view key(member.name.GetString(), member.name.GetStringLength());
    if (!known.contains(key)) out += row(label_of(key), text_of(member.value));
  }
  return out;
}

// The meaning of the class, and the documents that give it.
std::string_view meaning_of(std::string_view sanitization_class) {
  if (sanitization_class == "purge") {
    return "Purge: recovery is infeasible with state-of-the-art laboratory techniques (NIST SP "
           "800-88r2, with the drive's own Sanitize as in IEEE 2883).";
  }
  if (sanitization_class == "clear") {
    return "Clear: recovery is infeasible with simple, non-invasive techniques (NIST SP 800-88r2, "
           "IEEE 2883).";
  }
  return "The operator's own clean steps; no class of NIST SP 800-88r2 or IEEE 2883 is claimed.";
}

std::string media_type(const rapidjson::Value& certificate) {
  const auto method = json::maybe_string(certificate, "method").value_or("");
  if (method.empty()) return {};
  return method == "operator_steps" ? "PCI device, no drive" : "Solid-state drive, NVMe";
}

}  // namespace

std::string signature_lines(const PageIssuer& issuer) {
  if (issuer.organization.empty() && issuer.signatory.empty()) return {};
  return fmt::format(
      "<section><h2>Issued by (the configuration says so; it is not part of the "
      "seal)</h2>\n<table>\n"
      "<tr><th>Organisation</th><td>{}</td><th>Place and date</th><td class=\"line\"></td></tr>\n"
      "<tr class=\"sign\"><th>Signatory</th><td>{}</td><th>Signature</th><td "
      "class=\"line\"></td></tr>\n"
      "</table></section>\n",
      html_text(issuer.organization), html_text(issuer.signatory));
}

std::string certificate_page(const rapidjson::Value& certificate, const SealedPlace& place,
                             const PageIssuer& issuer) {
  const auto text = [&certificate](std::string_view name) {
    return json::maybe_string(certificate, name).value_or("");
  };
  const std::string id = text("id");
  std::string body = fmt::format(
      "<div class=\"sheet\">\n<h1>Certificate of sanitization</h1>\n<p class=\"lead\">{} {}, "
      "serial number {}</p>\n"
      "<p class=\"verdict doubt\">signature not checked by this page: <code>reclaim certificate "
      "verify "
      "{}</code></p>\n<p>{}</p>\n<p>Certificate <code>{}</code>, "
      "number {} of host {}</p>\n",
      html_text(text("model").empty() ? "Device" : text("model")), html_text(text("address")),
      html_text(text("serial").empty() ? "unknown" : text("serial")), html_text(id),
      html_text(meaning_of(text("sanitization_class"))), html_text(id), place.sequence,
      html_text(text("host")));
  body += "<div class=\"columns\">\n";
  body +=
      section("Device", row("Media type", media_type(certificate)) + rows_of(certificate, kDevice));
  body += section("Tenancy that it ends", rows_of(certificate, kTenancy));
  body += section("Times (UTC)", rows_of(certificate, kTimes));
  body +=
      section("Erasure", row("Method", text("method")) + row("Class", text("sanitization_class")) +
                             rows_of_object(certificate, "evidence"));
  body += section("Verification", rows_of_object(certificate, "verification"));
  body += section("Time line (UTC)", timeline_rows(certificate), "fine");
  body += "</div>\n";
  body += section("What each step looked at", findings_of(certificate), "fine");
  body += section("More", unknown_rows(certificate));
  body += section("Seal", row("Signed with key", place.key_id) + row("File", place.file) +
                              row("SHA-256 of the file", place.sha256) +
                              row("SHA-256 of the one before", place.previous) +
                              row("Made by", "Reclaim " + text("tool_version")));
  body += signature_lines(issuer);
  body += fmt::format(
      "<footer><p>The proof is the sealed file, not this page. To check it: <code>reclaim "
      "certificate verify {}</code> on the host, or with openssl alone as "
      "docs/certificate-format.md says.</p></footer>\n</div>\n",
      html_text(id));
  return html_page("Certificate of sanitization " + id, body);
}

}  // namespace reclaim::cli
