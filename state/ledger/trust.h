// Judges what a record found at the start is good for. Redis may show an earlier record of ours;
// the ledger, a file of this host, knows better. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "state/device/record.h"
#include "state/ledger/ledger.h"

namespace reclaim {

// True if what is in Redis was written by this host's workers, as the late write of one that died,
// and leaves room for a later epoch: then it can be written over in one step.
[[nodiscard]] bool is_of_this_host(const Record& stored);

// True if `known` tells of the erase that `record` says was begun: its nonce, the digest of its
// baseline (`digest` makes one), and no dirt since. One that it does not is of an earlier life: the
// device was released or on offer since, or somebody put the record back. Another tenant's data may
// be on the drive.
[[nodiscard]] bool knows_erase(const LedgerEntry* known, const Record& record,
                               const std::function<std::string(const std::string&)>& digest);

// The mark from which the zeroing that `record` says was begun goes on: how far it had come when it
// told last. Empty: `known` does not tell of this erase, or of nothing that was zeroed.
[[nodiscard]] std::string mark_of_zeroing(
    const LedgerEntry* known, const Record& record,
    const std::function<std::string(const std::string&)>& digest);

// True if an operator has disowned the device since `record` was written, and it is not ours since:
// the line of `known` says nothing of it any more but an epoch. Somebody put the record back, or
// Redis lost what came after it.
[[nodiscard]] bool is_disowned_since(const LedgerEntry* known, const Record& record);

// Puts a record in error again that is lost or older than the ledger, which remembers its device in
// error: only an operator ends that.
void be_in_error_again(Record& record);

// A record of ours as the start finds it, put right by what the ledger remembers: an erase counts
// as begun only where `known` knows it, and its findings are those of `known`; the drive is the one
// last enrolled there, retired where it is so there, and a device that is dirty there since the
// record's certificate is not held. A record older than the ledger's epoch was put back, or Redis
// lost what came after it: whose tenancy it names is not known, and its epoch goes on from there.
// Where `known` says that it was in error since, it is; otherwise, where `known` has the text of a
// release that was asked for since, it is in `confirming`: that release is read back.
[[nodiscard]] Record confirmed_by(const LedgerEntry* known, Record record,
                                  const std::function<std::string(const std::string&)>& digest);

// An operator's words about the drive when he retired it, by the line of its address or of one that
// it was moved from. Empty: nobody has, or an operator has enrolled it since.
[[nodiscard]] std::string retirement_of(const std::map<PciAddress, LedgerEntry>& entries,
                                        const Record& record);

// True if the generation of its provider shows that the PUT of the release that `record` is in, or
// was, was not made: nothing has moved it since but the fence of `known` behind that PUT. Of a
// provider that is reserved: a release that was made, and reserved again, takes two writes.
[[nodiscard]] bool shows_no_release(const LedgerEntry* known, const Record& record,
                                    std::int64_t generation);

// The certificate of the release that `record` is in, or was: its text is in `known`, and so is the
// record's own cleaning, with no newer dirt. Nothing: the ledger knows of no such release.
[[nodiscard]] std::optional<Certificate> release_asked_for(const LedgerEntry* known,
                                                           const Record& record);

}  // namespace reclaim
