#include "state/certificate/record_seal.h"

namespace reclaim {
namespace {

constexpr std::string_view kPurpose = "reclaim record 1";
constexpr const char* kMac = "mac";

// Written outside the epoch, several times a second at most: shown, and nothing rests on it.
constexpr const char* kUnsealed[] = {"clean_step", "progress", "progress_eta_s", "updated_at"};

Fields sealed_part(Fields fields) {
  for (const char* name : kUnsealed) fields.erase(name);
  fields.erase(kMac);
  return fields;
}

}  // namespace

Fields RecordSeal::seal(const Record& record) const {
  Fields fields = encode_record(record);
  fields[kMac] = key_.mac(kPurpose, sealed_part(fields));
  return fields;
}

bool RecordSeal::fits(const Fields& fields) const {
  const auto mac = fields.find(kMac);
  return mac != fields.end() && key_.fits(kPurpose, sealed_part(fields), mac->second);
}

}  // namespace reclaim
