#include "state/certificate/stored.h"

#include <fmt/core.h>

#include "state/base/log.h"
#include "state/base/pci_address.h"
#include "state/base/text.h"
#include "state/base/uuid.h"
#include "state/certificate/seal.h"

namespace reclaim {

Result<StoredCertificate> open_stored(std::string_view text, const std::string& host,
                                      const std::string& address) {
  const auto sealed = open_seal(text);
  if (!sealed.ok()) return sealed.error();
  if (sealed->kind != SealedKind::certificate) {
    return Error{Errc::invalid, "it is an audit entry, and no certificate"};
  }
  auto certificate = decode_certificate(sealed->content);
  if (!certificate.ok()) return std::move(certificate).error();
  const auto place = parse_pci_address(address);
  if (certificate->host != host || certificate->address != address || !place ||
      certificate->device_uuid != device_uuid(host, *place)) {
    return Error{Errc::refused,
                 fmt::format("it is of device {}, {} of host {}: the login of host {} put it there",
                             printable_excerpt(certificate->device_uuid),
                             printable_excerpt(certificate->address),
                             printable_excerpt(certificate->host), host)};
  }
  const std::string& id = certificate->id;
  if (!looks_like_uuid(id) || id != lower(id)) {
    return Error{Errc::refused, fmt::format("its id is '{}', and a certificate's is a UUID in "
                                            "lower case: the login of host {} put it there",
                                            printable_excerpt(id, 40), host)};
  }
  // The schema is checked too: a fault that this reader lets pass is an error of the next one.
  if (Status fits = check_certificate_schema(sealed->content); !fits.ok()) {
    return std::move(fits).error();
  }
  return StoredCertificate{sealed->sequence, *std::move(certificate)};
}

}  // namespace reclaim
