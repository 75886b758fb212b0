#include "handlers/api/certificate_list.h"

#include <fmt/core.h>

#include <utility>

#include "handlers/api/devices.h"
#include "handlers/api/json.h"
#include "handlers/api/paging.h"
#include "state/base/log.h"
#include "state/base/text.h"
#include "state/certificate/stored.h"

namespace reclaim::api {
namespace {

constexpr std::size_t kAtOnce = 32;  // read at the same time
constexpr std::string_view kAccepted = " are hostname, device_uuid, serial, limit, marker";

// A device that has come to rest names the certificate of its last release in its record. One that
// was not returned is in none, one that is not sealed yet stands behind what Redis has, and what is
// younger than the record that was read may be of a release since.
bool is_not_the_named(const Device& device, const Certificate& certificate) {
  const bool names_another =
      !device.certificate_id.empty() && device.certificate_id != certificate.id;
  return names_another && certificate.returned() && !device.certificate_pending &&
         device.state != DeviceState::cleaning && certificate.ended_at() <= device.updated_at;
}

Result<StoredCertificate> stored_of(const Device& device, const Result<std::string>& text) {
  if (!text) return text.error();
  auto stored = open_stored(*text, device.host, device.address);
  if (stored && is_not_the_named(device, stored->certificate)) {
    return Error{Errc::refused,
                 fmt::format("it has the id {}, and the record of its device names another one, "
                             "{}: look on the host with `reclaim certificate show {}`",
                             stored->certificate.id, printable_excerpt(device.certificate_id),
                             printable_excerpt(device.certificate_id))};
  }
  return stored;
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

const Device* DeviceCursor::next() {
  for (; host_ < devices_.hosts.size(); ++host_, device_ = 0) {
    const auto& of_host = *devices_.hosts[host_];
    if (device_ < of_host.size()) return &of_host[device_++];
  }
  return nullptr;
}

bool DeviceCursor::skip_to(const std::string& uuid) {
  host_ = 0;
  device_ = 0;
  while (const Device* device = next()) {
    if (device->uuid == uuid) return true;
  }
  return false;
}

// All texts of `batch`, read at the same time; the store's error where one could not be asked for.
class TextsRead final : public std::enable_shared_from_this<TextsRead> {
 public:
  TextsRead(std::vector<const Device*> batch, Callback<std::vector<ReadText>> done)
      : done_(std::move(done)), outstanding_(batch.size()) {
    for (const Device* device : batch) texts_.push_back({device, std::string()});
  }

  void run(Certificates& certificates) {
    for (ReadText& read : texts_) {
      certificates.load_certificate(read.device->host, read.device->address,
                                    [self = shared_from_this(), &read](Result<std::string> text) {
                                      self->take(read, std::move(text));
                                    });
    }
  }

 private:
  void take(ReadText& read, Result<std::string> text) {
    if (!text && !is_of_what_is_stored(text.error())) {
      error_ = text.error();
    } else {
      read.text = std::move(text);
    }
    outstanding_ -= 1;
    if (outstanding_ > 0) return;
    if (error_) return done_(*error_);
    done_(std::move(texts_));
  }

  Callback<std::vector<ReadText>> done_;
  std::size_t outstanding_;
  std::vector<ReadText> texts_;
  std::optional<Error> error_;
};

// Only a release is in a record, so the texts of all devices are asked. Two that have one with this
// id are enough to know that there is doubt.
class CertificateSearch final : public std::enable_shared_from_this<CertificateSearch> {
 public:
  CertificateSearch(Certificates& certificates, Logger& log, Devices devices, std::string id)
      : certificates_(certificates),
        log_(log),
        id_(std::move(id)),
        devices_(std::move(devices)),
        cursor_(devices_) {}

  void run(Callback<FoundCertificate> done) {
    done_ = std::move(done);
    go_on();
  }

 private:
  static std::string in_words(const Device& device) {
    return fmt::format("{} of host {}", device.address, device.host);
  }

  void go_on() {
    std::vector<const Device*> batch;
    while (batch.size() < kAtOnce) {
      const Device* device = cursor_.next();
      if (device == nullptr) break;
      batch.push_back(device);
    }
    if (batch.empty()) return done_(std::move(found_));
    std::make_shared<TextsRead>(std::move(batch), [self = shared_from_this()](
                                                      const Result<std::vector<ReadText>>& read) {
      if (!read) return self->done_(read.error());
      for (const ReadText& each : *read) {
        self->take(each);
        if (!self->found_.doubt.empty()) return self->done_(std::move(self->found_));
      }
      self->go_on();
    })->run(certificates_);
  }

  // An id has one spelling: a text that does not have it is not opened.
  [[nodiscard]] bool may_be_of(const ReadText& read) const {
    if (read.device->certificate_id == id_) return !read.text || !read.text->empty();
    return read.text && read.text->find(id_) != std::string::npos;
  }

  void take(const ReadText& read) {
    if (!may_be_of(read)) return;
    const Device& device = *read.device;
    const auto sealed = stored_of(device, read.text);
    if (!sealed) {
      say_damaged(log_, device, sealed.error());
      found_.damage =
          fmt::format("what Redis has as this certificate, at {}, cannot be believed: {}",
                      in_words(device), sealed.error().what);
    } else if (sealed->certificate.id == id_ && !found_.text.empty()) {
      found_.doubt = fmt::format(
          "{} and {} both have a certificate with this id, and one of them is another's: say "
          "with ?hostname= whose is meant, and verify it with that host's key",
          place_, in_words(device));
    } else if (sealed->certificate.id == id_) {
      found_.uuid = device.uuid;
      place_ = in_words(device);
      found_.text = *read.text;
    }
  }

  Certificates& certificates_;
  Logger& log_;
  const std::string id_;
  const Devices devices_;
  DeviceCursor cursor_;
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
      cursor_(devices_),
      damaged_(devices_.damaged),
      query_(std::move(query)),
      url_(std::move(url)) {}

void CertificateList::run(Callback<std::string> done) {
  done_ = std::move(done);
  if (query_.marker.empty() || cursor_.skip_to(query_.marker)) return go_on();
  begin_behind_certificate();
}

// Begins behind the certificate that the marker names: clients that know no links send its id.
void CertificateList::begin_behind_certificate() {
  find_certificate(
      certificates_, log_, devices_, query_.marker,
      [self = shared_from_this()](const Result<FoundCertificate>& found) {
        if (!found) return self->done_(found.error());
        const bool one = found->doubt.empty();
        if (one && !found->text.empty() && self->cursor_.skip_to(found->uuid)) return self->go_on();
        self->done_(
            Error{Errc::invalid,
                  fmt::format(
                      "marker = '{}'; accepted is the device_uuid of the last row, or its id, and "
                      "{} one device has a certificate with this id",
                      self->query_.marker, one ? "not" : "more than")});
      });
}

// The next one that may be asked for; null: that was the last.
const Device* CertificateList::next() {
  while (const Device* device = cursor_.next()) {
    if (is(query_.hostname, device->host) &&
        (is(query_.device_uuid, device->uuid) || is(query_.device_uuid, device->cyborg_uuid))) {
      return device;
    }
  }
  return nullptr;
}

void CertificateList::go_on() {
  std::vector<const Device*> batch;
  while (batch.size() < kAtOnce) {
    const Device* device = next();
    if (device == nullptr) break;
    batch.push_back(device);
  }
  if (batch.empty()) return finish();
  std::make_shared<TextsRead>(std::move(batch), [self = shared_from_this()](
                                                    const Result<std::vector<ReadText>>& read) {
    if (!read) return self->done_(read.error());
    for (const ReadText& each : *read) {
      self->take(each);
      if (self->more_) return self->finish();
    }
    self->go_on();
  })->run(certificates_);
}

void CertificateList::take(const ReadText& read) {
  if (read.text && read.text->empty()) return;
  const auto sealed = stored_of(*read.device, read.text);
  if (!sealed) {
    say_damaged(log_, *read.device, sealed.error());
    damaged_.push_back({read.device->host, read.device->address, sealed.error().what});
    return;
  }
  if (!is(query_.serial, sealed->certificate.serial)) return;
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
