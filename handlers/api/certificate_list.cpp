#include "handlers/api/certificate_list.h"

#include <fmt/core.h>

#include <utility>

#include "handlers/api/devices.h"
#include "handlers/api/json.h"
#include "handlers/api/paging.h"
#include "state/base/text.h"
#include "state/certificate/stored.h"

namespace reclaim::api {
namespace {

constexpr std::size_t kAtOnce = 32;  // read at the same time
constexpr std::string_view kAccepted = " are hostname, device_uuid, serial, limit, marker";

Result<StoredCertificate> stored_of(const Device& device, const Result<std::string>& text) {
  if (!text) return text.error();
  return open_stored(*text, device.host, device.address);
}

std::string row(const StoredCertificate& sealed, const std::string& url) {
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
  put_member_or_null(writer, "released_at",
                     certificate.returned() ? to_iso8601(certificate.released_at) : "");
  put_self_link(writer, url + "/" + certificate.id);
  writer.EndObject();
  return text_of(buffer);
}

void say_damaged(Logger& log, const Device& at, const Error& why) {
  log.warning(
      log_name::kApi,
      fmt::format("the certificate in Redis of {} of host {} cannot be read", at.address, at.host),
      {{"why", why.what}});
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

Result<std::optional<std::string>> parse_certificate_host(const Parameters& parameters) {
  std::optional<std::string> hostname;
  for (const auto& [name, value] : parameters) {
    if (name != "hostname") return unknown_parameter(name, " is hostname");
    if (hostname) return given_twice(name);
    if (!value.empty()) hostname = value;
  }
  return hostname;
}

// Several records may name one certificate: those that do not have it only say so. Two that have
// one with this id are enough to know that there is doubt.
class CertificateSearch final : public std::enable_shared_from_this<CertificateSearch> {
 public:
  CertificateSearch(Certificates& certificates, Logger& log, const Devices& devices, std::string id)
      : certificates_(certificates), log_(log), id_(std::move(id)) {
    for (const HostDevices& host : devices.hosts) {
      for (const Device& device : *host) {
        if (device.certificate_id == id_) named_.push_back({host, &device});
      }
    }
  }

  void run(Callback<FoundCertificate> done) {
    done_ = std::move(done);
    go_on();
  }

 private:
  struct Named {
    HostDevices host;  // keeps the device
    const Device* device = nullptr;
  };

  static std::string in_words(const Device& device) {
    return fmt::format("{} of host {}", device.address, device.host);
  }

  void go_on() {
    if (next_ == named_.size()) return done_(std::move(found_));
    const Device& device = *named_[next_].device;
    certificates_.load_certificate(
        device.host, device.address,
        [self = shared_from_this()](Result<std::string> text) { self->take(std::move(text)); });
  }

  void take(Result<std::string> text) {
    const Device& device = *named_[next_++].device;
    if (!text && !is_of_what_is_stored(text.error())) return done_(text.error());
    const auto sealed = stored_of(device, text);
    if (sealed && sealed->certificate.id == id_) {
      if (!found_.text.empty()) {
        found_.doubt = fmt::format(
            "{} and {} both have a certificate with this id, and one of them is another's: say "
            "with ?hostname= whose is meant, and verify it with that host's key",
            place_, in_words(device));
        return done_(std::move(found_));
      }
      found_.uuid = device.uuid;
      place_ = in_words(device);
      found_.text = *std::move(text);
    } else if (!sealed && (!text || !text->empty())) {
      say_damaged(log_, device, sealed.error());
      found_.damage =
          fmt::format("what Redis has as this certificate, at {}, cannot be believed: {}",
                      in_words(device), sealed.error().what);
    }
    go_on();
  }

  Certificates& certificates_;
  Logger& log_;
  const std::string id_;
  std::vector<Named> named_;
  std::size_t next_ = 0;
  FoundCertificate found_;
  std::string place_;  // of what was found, in words
  Callback<FoundCertificate> done_;
};

void find_certificate(Certificates& certificates, Logger& log, const Devices& devices,
                      const std::string& id, Callback<FoundCertificate> done) {
  std::make_shared<CertificateSearch>(certificates, log, devices, id)->run(std::move(done));
}

CertificateList::CertificateList(Certificates& certificates, Logger& log, Devices devices,
                                 CertificateQuery query, std::string url)
    : certificates_(certificates),
      log_(log),
      devices_(std::move(devices)),
      damaged_(devices_.damaged),
      query_(std::move(query)),
      url_(std::move(url)) {}

void CertificateList::run(Callback<std::string> done) {
  done_ = std::move(done);
  if (query_.marker.empty() || skip_to(query_.marker)) return go_on();
  begin_behind_certificate();
}

// What clients send that know no links.
void CertificateList::begin_behind_certificate() {
  find_certificate(
      certificates_, log_, devices_, query_.marker,
      [self = shared_from_this()](const Result<FoundCertificate>& found) {
        if (!found) return self->done_(found.error());
        const bool one = found->doubt.empty();
        if (one && !found->text.empty() && self->skip_to(found->uuid)) return self->go_on();
        self->done_(
            Error{Errc::invalid,
                  fmt::format(
                      "marker = '{}'; accepted is the device_uuid of the last row, or its id, and "
                      "{} one device has a certificate with this id",
                      self->query_.marker, one ? "not" : "more than")});
      });
}

bool CertificateList::skip_to(const std::string& uuid) {
  for (host_ = 0; host_ < devices_.hosts.size(); ++host_) {
    const auto& of_host = *devices_.hosts[host_];
    for (device_ = 0; device_ < of_host.size(); ++device_) {
      if (of_host[device_].uuid != uuid) continue;
      device_ += 1;
      return true;
    }
  }
  return false;
}

// The next one that has a certificate and may be asked for; null: that was the last.
const Device* CertificateList::next() {
  for (; host_ < devices_.hosts.size(); ++host_, device_ = 0) {
    const auto& of_host = *devices_.hosts[host_];
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
    batch_.push_back({device, std::string()});
  }
  if (batch_.empty()) return finish();
  outstanding_ = batch_.size();
  for (Read& read : batch_) {
    certificates_.load_certificate(read.device->host, read.device->address,
                                   [self = shared_from_this(), &read](Result<std::string> text) {
                                     if (!text && !is_of_what_is_stored(text.error())) {
                                       self->error_ = text.error();
                                     } else {
                                       read.text = std::move(text);
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
  if (read.text && read.text->empty()) return;
  const auto sealed = stored_of(*read.device, read.text);
  if (!sealed) {
    say_damaged(log_, *read.device, sealed.error());
    damaged_.push_back({read.device->host, read.device->address, sealed.error().what});
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
  last_ = read.device->uuid;
  rows_ += 1;
}

void CertificateList::finish() {
  body_ += ']' + damaged_member(damaged_, {kVersionCertificates, true, ""});
  if (more_) body_ += next_link("certificates", url_, query_.parameters, last_);
  body_ += '}';
  done_(std::move(body_));
}

}  // namespace reclaim::api
