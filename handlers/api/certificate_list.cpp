#include "handlers/api/certificate_list.h"

#include <fmt/core.h>

#include <utility>

#include "handlers/api/json.h"
#include "handlers/api/paging.h"
#include "state/base/json.h"
#include "state/base/text.h"

namespace reclaim::api {
namespace {

constexpr std::size_t kSealedBytesMax = std::size_t{1280} * 1024;
constexpr std::size_t kAtOnce = 32;  // read at the same time
constexpr std::string_view kAccepted = " are hostname, device_uuid, serial, limit, marker";

std::string row(const SealedCertificate& sealed, const std::string& url) {
  const Certificate& certificate = sealed.certificate;
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  writer.StartObject();
  put_member(writer, "id", certificate.id);
  put_key(writer, "sequence");
  writer.Uint64(sealed.sequence);
  put_member(writer, "device_uuid", certificate.device_uuid);
  put_member(writer, "hostname", certificate.host);
  put_member(writer, "address", certificate.address);
  put_member_or_null(writer, "model", certificate.model);
  put_member_or_null(writer, "serial", certificate.serial);
  put_member_or_null(writer, "instance", certificate.instance);
  put_member(writer, "method", certificate.method);
  put_member_or_null(writer, "sanitization_class", certificate.sanitization_class);
  put_member(writer, "released_at", to_iso8601(certificate.released_at));
  put_self_link(writer, url + "/" + certificate.id);
  writer.EndObject();
  return text_of(buffer);
}

bool is(const std::optional<std::string>& wanted, std::string_view value) {
  return !wanted || *wanted == value;
}

}  // namespace

Result<CertificateQuery> parse_certificate_query(const Parameters& parameters) {
  CertificateQuery query;
  query.parameters = parameters;
  std::optional<std::string> limit;
  std::optional<std::string> marker;
  const std::pair<std::string_view, std::optional<std::string>&> names[] = {
      {"hostname", query.hostname}, {"device_uuid", query.device_uuid},
      {"serial", query.serial},     {"limit", limit},
      {"marker", marker},
  };
  for (const auto& [name, value] : parameters) {
    std::optional<std::string>* taken = nullptr;
    for (const auto& known : names) {
      if (known.first == name) taken = &known.second;
    }
    if (taken == nullptr) return unknown_parameter(name, kAccepted);
    if (*taken) return given_twice(name);
    if (!value.empty()) *taken = value;
  }
  if (limit) {
    const auto number = parse_limit(*limit);
    if (!number) return number.error();
    query.limit = *number;
  }
  if (marker) {
    auto uuid = parse_marker(*marker, "a certificate");
    if (!uuid) return std::move(uuid).error();
    query.marker = *std::move(uuid);
  }
  if (query.device_uuid) query.device_uuid = lower(*query.device_uuid);
  return query;
}

Result<SealedCertificate> read_sealed(const std::string& text) {
  const auto parsed = json::parse(text, kSealedBytesMax);
  if (!parsed) return parsed.error();
  const rapidjson::Value* sealed = json::find(*parsed, "sealed");
  const rapidjson::Value* inside = sealed == nullptr ? nullptr : json::find(*sealed, "certificate");
  if (inside == nullptr) return Error{Errc::invalid, "it is no sealed certificate"};
  SealedCertificate read;
  const auto sequence = json::get_int(*sealed, "sequence");
  if (!sequence) return sequence.error();
  read.sequence = static_cast<std::uint64_t>(*sequence);
  auto certificate = decode_certificate(json::to_text(*inside));
  if (!certificate) return std::move(certificate).error();
  read.certificate = *std::move(certificate);
  return read;
}

const Device* find_certified(const Devices& devices, const std::string& id) {
  for (const HostDevices& host : devices) {
    for (const Device& device : *host) {
      if (device.certificate_id == id) return &device;
    }
  }
  return nullptr;
}

CertificateList::CertificateList(Certificates& certificates, Logger& log, Devices devices,
                                 CertificateQuery query, std::string url)
    : certificates_(certificates),
      log_(log),
      devices_(std::move(devices)),
      query_(std::move(query)),
      url_(std::move(url)) {}

void CertificateList::run(Callback<std::string> done) {
  done_ = std::move(done);
  if (!query_.marker.empty() && !skip_to_marker()) {
    return done_(
        Error{Errc::invalid, fmt::format("marker = '{}'; accepted is the id of a device's newest "
                                         "certificate, and there is none with this one",
                                         query_.marker)});
  }
  go_on();
}

bool CertificateList::skip_to_marker() {
  for (; host_ < devices_.size(); ++host_) {
    const auto& of_host = *devices_[host_];
    for (device_ = 0; device_ < of_host.size(); ++device_) {
      if (of_host[device_].certificate_id != query_.marker) continue;
      device_ += 1;
      return true;
    }
  }
  return false;
}

// The next one that has a certificate and may be asked for; null: that was the last.
const Device* CertificateList::next() {
  for (; host_ < devices_.size(); ++host_, device_ = 0) {
    const auto& of_host = *devices_[host_];
    while (device_ < of_host.size()) {
      const Device& device = of_host[device_++];
      if (!device.certificate_id.empty() && is(query_.hostname, device.host) &&
          (is(query_.device_uuid, device.uuid) || is(query_.device_uuid, device.cyborg_uuid))) {
        return &device;
      }
    }
  }
  return nullptr;
}

void CertificateList::go_on() {
  batch_.clear();
  while (batch_.size() < kAtOnce) {
    const Device* device = next();
    if (device == nullptr) break;
    batch_.push_back({device, {}});
  }
  if (batch_.empty()) return finish();
  outstanding_ = batch_.size();
  for (Read& read : batch_) {
    certificates_.load_certificate(read.device->host, read.device->address,
                                   [self = shared_from_this(), &read](Result<std::string> text) {
                                     if (text) {
                                       read.text = *std::move(text);
                                     } else if (!self->error_) {
                                       self->error_ = text.error();
                                     }
                                     self->outstanding_ -= 1;
                                     if (self->outstanding_ == 0) self->take_batch();
                                   });
  }
}

void CertificateList::take_batch() {
  if (error_) return done_(*error_);
  for (const Read& read : batch_) {
    take(read);
    if (more_) return finish();
  }
  go_on();
}

// What its record does not name yet, or what the host has overwritten since, is not shown.
void CertificateList::take(const Read& read) {
  if (read.text.empty()) return;
  const auto sealed = read_sealed(read.text);
  if (!sealed) {
    log_.warning(log_name::kApi,
                 fmt::format("the certificate in Redis of {} of host {} cannot be read",
                             read.device->address, read.device->host),
                 {{"why", sealed.error().what}});
    return;
  }
  if (sealed->certificate.id != read.device->certificate_id ||
      !is(query_.serial, sealed->certificate.serial)) {
    return;
  }
  if (rows_ == query_.limit) {
    more_ = true;
    return;
  }
  if (rows_ > 0) body_ += ',';
  body_ += row(*sealed, url_);
  last_ = sealed->certificate.id;
  rows_ += 1;
}

void CertificateList::finish() {
  body_ += ']';
  if (more_) body_ += next_link("certificates", url_, query_.parameters, last_);
  body_ += '}';
  done_(std::move(body_));
}

}  // namespace reclaim::api
