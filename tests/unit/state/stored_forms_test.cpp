// What is stored and signed, to the byte: records, ARQs, orders, certificates, audit entries, lines
// of the ledger, hosts, the journal. Other versions read them, and seals rest on them.
#include <gtest/gtest.h>

#include "state/certificate/mac_key.h"
#include "state/certificate/record_seal.h"
#include "state/device/arq.h"
#include "state/device/order.h"
#include "state/device/record.h"
#include "state/ledger/audit.h"
#include "state/ledger/ledger_file.h"
#include "state/redis/keys.h"

namespace reclaim {
namespace {

constexpr WallMs kAt{1'763'673'764'123};
constexpr WallMs kLater{1'763'673'765'000};
const PciAddress kAddress{0, 0xc1, 0, 1};

// A text that JSON has to escape, and one that is not UTF-8.
constexpr const char* kOdd = "a\"b\\\n\xC3\xA9";
constexpr const char* kForeign = "X\xFFY";

Record full_record() {
  Record record;
  record.host = "h1";
  record.address = kAddress;
  record.uuid = "u1";
  record.flow = Flow::cyborg;
  record.vendor_id = "144d";
  record.product_id = "a80a";
  record.model = kOdd;
  record.serial = kForeign;
  record.firmware = "FW";
  record.capacity_bytes = 18'446'744'073'709'551'615ULL;
  record.hardware = "hw";
  record.mac = "00:1b:21:aa:00:01";
  record.boot_id = "boot";
  record.found = {"fs", "fm", "fh"};
  record.provider = "p1";
  record.provider_name = "pn";
  record.resource_class = "rc";
  record.stage = Stage::verifying;
  record.epoch = 42;
  record.created_at = kAt;
  record.stage_since = kAt;
  record.updated_at = kLater;
  record.held = true;
  record.waiting_for = "w";
  record.last_error = "e";
  record.instance = "i1";
  record.instance_source = InstanceSource::arq;
  record.migration = "m1";
  record.unseen = {WallMs{900}, WallMs{901}};
  record.heard = {"h1", "h2"};
  record.project = "pr1";
  record.user = "us1";
  record.request_id = "req";
  record.tenancy_seen_at = kAt;
  record.arq = "arq1";
  record.managed = false;
  record.cyborg_status = "enabled";
  record.cyborg_uuid = "7d3f2b1a-0f7e-4c8e-9a55-2f1d5c0d9f22";
  record.plan = {{"nvme", "erase", -1, R"({"n":1,"deep":{"list":[1,2]}})"}, {"a", kOdd, 2, ""}};
  record.step_index = 1;
  record.steps_offered = {{"card", "reflash", 0, R"({"image":"x"})"}};
  record.steps_ordered = {{"card", "reflash", 0, "{}", true}};
  record.tags = {"db", "role=a\"b"};
  record.policies = {"gold"};
  record.clean_step = "nvme.verify";
  record.progress_percent = 37.5;
  record.progress_eta_s = -1;
  record.progress_message = "burning";
  record.erases = 2;
  record.attempts = 3;
  record.cleaning_started_at = kAt;
  record.timeline = {{Stage::guarding, kAt}, {Stage::erasing, kLater}};
  record.erase_begun = true;
  record.cleaning_nonce = "n";
  record.baseline = "b1";
  record.evidence = R"({"method":"overwrite"})";
  record.verification = "{}";
  record.verified_at = kLater;
  record.release_generation = 17;
  record.rest = {"p0", 16, true, true};
  record.findings = record.enrolment = record.certificate_pending = "{}";
  record.accepted = record.handed_over = true;
  record.certificate_id = "c";
  record.certified_host_reads = 7;
  return record;
}

std::string lines_of(const Fields& fields) {
  std::string text;
  for (const auto& [name, value] : fields) text += name + "=" + value + "\n";
  return text;
}

std::string words_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word + "|";
  return text;
}

TEST(StoredForms, ARecord) {
  const Record record = full_record();
  EXPECT_EQ(
      lines_of(encode_record(record)),
      "accepted=true\n"
      "address=0000:c1:00.1\n"
      "arq=arq1\n"
      "attempts=3\n"
      "baseline=b1\n"
      "boot_id=boot\n"
      "by_steps=false\n"
      "capacity_bytes=18446744073709551615\n"
      "certificate_at=\n"
      "certificate_id=c\n"
      "certificate_pending={}\n"
      "certified_host_reads=7\n"
      "certified_host_writes=\n"
      "clean_start=automatic\n"
      "clean_step=nvme.verify\n"
      "cleaning_nonce=n\n"
      "cleaning_started_at=2025-11-20T21:22:44.123Z\n"
      "created_at=2025-11-20T21:22:44.123Z\n"
      "cyborg_status=enabled\n"
      "cyborg_uuid=7d3f2b1a-0f7e-4c8e-9a55-2f1d5c0d9f22\n"
      "device_state=cleaning\n"
      "enrolment={}\n"
      "epoch=42\n"
      "erase_begun=true\n"
      "erases=2\n"
      "evidence={\"method\":\"overwrite\"}\n"
      "findings={}\n"
      "firmware=FW\n"
      "flow=cyborg\n"
      "found_hardware=fh\n"
      "found_model=fm\n"
      "found_serial=fs\n"
      "handed_over=true\n"
      "hardware=hw\n"
      "heard=[\"h1\",\"h2\"]\n"
      "held=true\n"
      "host=h1\n"
      "instance=i1\n"
      "instance_source=arq\n"
      "last_error=e\n"
      "mac_address=00:1b:21:aa:00:01\n"
      "maintenance=false\n"
      "managed=false\n"
      "migration=m1\n"
      "model=a\"b\\\n"
      "\xC3\xA9\n"
      "plan=[{\"interface\":\"nvme\",\"step\":\"erase\",\"priority\":-1,\"args\":{\"n\":1,"
      "\"deep\":{\"list\":[1,2]}}},{\"interface\":\"a\",\"step\":\"a\\\"b\\\\\\n"
      "\xC3\xA9\",\"priority\":2,\"args\":\"\"}]\n"
      "planned_stop=false\n"
      "policies=[\"gold\"]\n"
      "product_id=a80a\n"
      "progress=37.5\n"
      "progress_eta_s=-1\n"
      "progress_message=burning\n"
      "project=pr1\n"
      "provider=p1\n"
      "provider_name=pn\n"
      "release_generation=17\n"
      "request_id=req\n"
      "resource_class=rc\n"
      "rest_generation=16\nrest_provider=p0\nrest_reserved=true\nrest_unburned=true\nretired=\n"
      "serial=X\xFFY\n"
      "stage=verifying\n"
      "stage_since=2025-11-20T21:22:44.123Z\n"
      "step_index=1\n"
      "steps_offered=[{\"interface\":\"card\",\"step\":\"reflash\",\"priority\":0,\"args\":{"
      "\"image\":\"x\"}}]\n"
      "steps_ordered=[{\"interface\":\"card\",\"step\":\"reflash\",\"priority\":0,\"args\":{},"
      "\"by_hand\":true}]\n"
      "tags=[\"db\",\"role=a\\\"b\"]\n"
      "tenancy_seen_at=2025-11-20T21:22:44.123Z\n"
      "timeline=[{\"stage\":\"guarding\",\"at\":\"2025-11-20T21:22:44.123Z\"},"
      "{\"stage\":\"erasing\",\"at\":\"2025-11-20T21:22:45.000Z\"}]\n"
      "type=NVME\n"
      "unseen_from=1970-01-01T00:00:00.900Z\n"
      "unseen_until=1970-01-01T00:00:00.901Z\n"
      "updated_at=2025-11-20T21:22:45.000Z\n"
      "user=us1\n"
      "uuid=u1\n"
      "vendor_id=144d\n"
      "verification={}\n"
      "verified_at=2025-11-20T21:22:45.000Z\n"
      "waiting_for=w\n");
  EXPECT_EQ(*decode_record(encode_record(record)), record);
  EXPECT_EQ(
      lines_of(encode_record(Record{})),
      "accepted=false\n"
      "address=0000:00:00.0\n"
      "arq=\n"
      "attempts=0\n"
      "baseline=\n"
      "boot_id=\n"
      "by_steps=false\n"
      "capacity_bytes=0\n"
      "certificate_at=\n"
      "certificate_id=\n"
      "certificate_pending=\n"
      "certified_host_reads=\n"
      "certified_host_writes=\n"
      "clean_start=automatic\n"
      "clean_step=\n"
      "cleaning_nonce=\n"
      "cleaning_started_at=\n"
      "created_at=\n"
      "cyborg_status=\n"
      "cyborg_uuid=\n"
      "device_state=available\n"
      "enrolment=\n"
      "epoch=0\n"
      "erase_begun=false\n"
      "erases=0\n"
      "evidence=\n"
      "findings=\n"
      "firmware=\n"
      "flow=nova\n"
      "found_hardware=\n"
      "found_model=\n"
      "found_serial=\n"
      "handed_over=false\n"
      "hardware=\n"
      "heard=[]\n"
      "held=false\n"
      "host=\n"
      "instance=\n"
      "instance_source=not_seen\n"
      "last_error=\n"
      "mac_address=\n"
      "maintenance=false\n"
      "managed=true\n"
      "migration=\n"
      "model=\n"
      "plan=[]\n"
      "planned_stop=false\n"
      "policies=[]\n"
      "product_id=\n"
      "progress=0.0\n"
      "progress_eta_s=-1\n"
      "progress_message=\n"
      "project=\n"
      "provider=\n"
      "provider_name=\n"
      "release_generation=-1\n"
      "request_id=\n"
      "resource_class=\n"
      "rest_generation=-1\nrest_provider=\nrest_reserved=false\nrest_unburned=false\nretired=\n"
      "serial=\n"
      "stage=available\n"
      "stage_since=\n"
      "step_index=0\n"
      "steps_offered=[]\n"
      "steps_ordered=[]\n"
      "tags=[]\n"
      "tenancy_seen_at=\n"
      "timeline=[]\n"
      "type=NVME\n"
      "unseen_from=\nunseen_until=\n"
      "updated_at=\n"
      "user=\n"
      "uuid=\n"
      "vendor_id=\n"
      "verification=\n"
      "verified_at=\n"
      "waiting_for=\n");
}

Arq full_arq() {
  Arq arq;
  arq.uuid = "5b9c2e0e-7c0e-4d0e-9d55-0c5a8e1f7a31";
  arq.state = ArqState::bound;
  arq.project_id = "p";
  arq.device_profile_name = kOdd;
  arq.device_profile_group_id = -3;
  arq.hostname = "h1";
  arq.device_rp_uuid = "rp";
  arq.instance_uuid = "i1";
  arq.attach_handle_type = "PCI";
  arq.attach_handle_uuid = "ah";
  arq.address = kAddress;
  arq.managed = false;
  arq.other_info = R"({"physical_network":"net","n":{"a":[1]}})";
  arq.created_at = "2026-01-01";
  arq.updated_at = "2026-01-02";
  arq.heard_at = kAt;
  arq.held_at = kLater;
  arq.listed = true;
  arq.released = true;
  return arq;
}

TEST(StoredForms, AnArq) {
  EXPECT_EQ(
      encode_arq(full_arq()),
      "{\"uuid\":\"5b9c2e0e-7c0e-4d0e-9d55-0c5a8e1f7a31\",\"state\":\"Bound\",\"project_id\":\"p\","
      "\"device_profile_name\":\"a\\\"b\\\\\\n\xC3\xA9\",\"device_profile_group_id\":-3,"
      "\"hostname\":\"h1\",\"device_rp_uuid\":\"rp\",\"instance_uuid\":\"i1\",\"attach_handle_"
      "type\":\"PCI\",\"attach_handle_uuid\":\"ah\",\"address\":\"0000:c1:00.1\",\"managed\":false,"
      "\"other_info\":{\"physical_network\":\"net\",\"n\":{\"a\":[1]}},\"created_at\":\"2026-01-"
      "01\",\"updated_at\":\"2026-01-02\",\"heard_at\":\"2025-11-20T21:22:44.123Z\",\"held_at\":"
      "\"2025-11-20T21:22:45.000Z\",\"listed\":true,\"allocation_seen\":false,\"released\":true}");
  EXPECT_EQ(*decode_arq(encode_arq(full_arq())), full_arq());
  EXPECT_EQ(encode_arq(Arq{}),
            "{\"uuid\":\"\",\"state\":\"Initial\",\"project_id\":\"\",\"device_profile_name\":\"\","
            "\"device_profile_group_id\":0,\"hostname\":\"\",\"device_rp_uuid\":\"\",\"instance_"
            "uuid\":\"\",\"attach_handle_type\":\"\",\"attach_handle_uuid\":\"\",\"address\":\"\","
            "\"created_at\":\"\",\"updated_at\":\"\",\"heard_at\":\"\",\"held_at\":\"\",\"listed\":"
            "false,\"allocation_seen\":false,\"released\":false}");
  // Of another version, or of no type that is known: what is not there has its default.
  const auto sparse = decode_arq(R"({"uuid":"u","state":"Bound","listed":"yes","project_id":7,)"
                                 R"("device_profile_group_id":"x","new":1})");
  ASSERT_TRUE(sparse.ok());
  Arq expected;
  expected.uuid = "u";
  expected.state = ArqState::bound;
  EXPECT_EQ(*sparse, expected);
}

TEST(StoredForms, ErrorsOfAnArqNameTheMember) {
  const auto why = [](const char* text) { return decode_arq(text).error().what; };
  EXPECT_EQ(why(R"({"state":"Bound"})"), "'uuid' is absent, a string is needed");
  EXPECT_EQ(why(R"({"uuid":"u"})"), "'state' is absent, a string is needed");
  EXPECT_EQ(why(R"({"uuid":"u","state":"bound"})"),
            "'state': 'bound' is not a state of an ARQ; Initial, BindStarted, Bound, Unbound, "
            "BindFailed, UnbindFailed and Deleting are");
  EXPECT_EQ(why(R"({"uuid":"u","state":"Bound","address":"x"})"),
            "'address': 'x' is not a PCI address like 0000:c1:00.0");
  EXPECT_EQ(why(R"({"uuid":"u","state":"Bound","managed":1})"), "'managed' is not true or false");
  EXPECT_EQ(why(R"({"uuid":"u","state":"Bound","heard_at":"x"})"),
            "'heard_at': 'x' is not a time like 2026-11-20T21:22:44Z");
}

TEST(StoredForms, AnOrder) {
  const Order order{"1-0", "enrol", "0000:c1:00.1", "alice", "req", kAt, "n",
                    "m",   kOdd,    kForeign,       "why",   "[]",  "h"};
  EXPECT_EQ(lines_of(order_fields(order)),
            "address=0000:c1:00.1\n"
            "hardware=X\xFFY\n"
            "hold=h\n"
            "issued_at=2025-11-20T21:22:44.123Z\n"
            "mac=m\n"
            "nonce=n\n"
            "order=enrol\n"
            "reason=why\n"
            "request_id=req\n"
            "serial=a\"b\\\n"
            "\xC3\xA9\n"
            "steps=[]\n"
            "who=alice\n");
  EXPECT_EQ(order_from_fields("1-0", order_fields(order)), order);
  EXPECT_EQ(lines_of(order_fields(Order{})),
            "address=\n"
            "hardware=\n"
            "issued_at=1970-01-01T00:00:00.000Z\n"
            "mac=\n"
            "nonce=\n"
            "order=\n"
            "request_id=\n"
            "serial=\n"
            "who=\n");
  EXPECT_EQ(order_from_fields("2-0", {{"order", "clean"}, {"issued_at", "x"}, {"new", "1"}}),
            (Order{"2-0", "clean", "", "", "", WallMs{}, "", "", "", "", "", "", ""}));
}

Certificate full_certificate() {
  Certificate out;
  out.id = "5b9c2e0e-7c0e-4d0e-9d55-0c5a8e1f7a31";
  out.host = "h1";
  out.address = "0000:c1:00.1";
  out.device_uuid = "u1";
  out.flow = "nova";
  out.vendor_id = "144d";
  out.product_id = "a80a";
  out.model = kOdd;
  out.serial = kForeign;
  out.firmware = "FW";
  out.capacity_bytes = 18'446'744'073'709'551'615ULL;
  out.provider = "p1";
  out.instance = "i1";
  out.instance_source = "arq";
  out.migration = "m1";
  out.heard = {"h1", "h2"};
  out.project = "pr1";
  out.user = "us1";
  out.request_id = "req";
  out.method = "sanitize_crypto";
  out.sanitization_class = "purge";
  out.evidence = R"({"b": 1, "a": [true]})";
  out.verification = "not JSON";
  out.started_at = kAt;
  out.released_at = kLater;
  out.timeline = {{Stage::guarding, kAt}};
  out.tool_version = "1.0";
  return out;
}

TEST(StoredForms, ACertificate) {
  EXPECT_EQ(encode_certificate(full_certificate()),
            "{\"schema\":2,\"id\":\"5b9c2e0e-7c0e-4d0e-9d55-0c5a8e1f7a31\",\"host\":\"h1\","
            "\"address\":\"0000:c1:00.1\",\"device_uuid\":\"u1\",\"flow\":\"nova\",\"vendor_id\":"
            "\"144d\",\"product_id\":\"a80a\",\"model\":\"a\\\"b\\\\\\n\xC3\xA9\",\"serial\":\"X?"
            "Y\",\"firmware\":\"FW\",\"provider\":\"p1\",\"instance\":\"i1\",\"request_id\":"
            "\"req\",\"method\":\"sanitize_crypto\",\"sanitization_class\":\"purge\",\"tool_"
            "version\":\"1.0\",\"instance_source\":\"arq\",\"migration\":\"m1\",\"project\":"
            "\"pr1\",\"user\":\"us1\",\"heard\":[\"h1\",\"h2\"],"
            "\"capacity_bytes\":18446744073709551615,"
            "\"evidence\":{\"b\":1,\"a\":[true]},\"verification\":\"not "
            "JSON\",\"findings\":\"\",\"started_at\":\"2025-11-20T21:22:44.123Z\",\"verified_at\":"
            "\"\",\"released_at\":\"2025-11-20T21:22:45.000Z\",\"timeline\":[{\"stage\":"
            "\"guarding\",\"at\":\"2025-11-20T21:22:44.123Z\"}]}");
  EXPECT_EQ(
      encode_certificate(Certificate{}),
      "{\"schema\":2,\"id\":\"\",\"host\":\"\",\"address\":\"\",\"device_uuid\":\"\",\"flow\":\"\","
      "\"vendor_id\":\"\",\"product_id\":\"\",\"model\":\"\",\"serial\":\"\",\"firmware\":\"\","
      "\"provider\":\"\",\"instance\":\"\",\"request_id\":\"\",\"method\":\"\",\"sanitization_"
      "class\":\"\",\"tool_version\":\"\",\"capacity_bytes\":0,\"evidence\":\"\",\"verification\":"
      "\"\",\"findings\":\"\",\"started_at\":\"\",\"verified_at\":\"\",\"released_at\":\"\"}");
}

TEST(StoredForms, AnAuditEntry) {
  AuditEntry entry{
      "id", AuditEvent::key_endorsed, "h1", "0000:c1:00.1", "s", "i1", kOdd, "pem", "", 0, kAt};
  EXPECT_EQ(
      encode_audit(entry),
      "{\"schema\":2,\"id\":\"id\",\"event\":\"key_endorsed\",\"host\":\"h1\",\"address\":\"0000:"
      "c1:00.1\",\"serial\":\"s\",\"instance\":\"i1\",\"detail\":\"a\\\"b\\\\\\n\xC3\xA9\","
      "\"public_key\":\"pem\",\"at\":\"2025-11-20T21:22:44.123Z\"}");
  EXPECT_EQ(*decode_audit(encode_audit(entry)), entry);
  EXPECT_EQ(encode_audit(AuditEntry{}),
            "{\"schema\":2,\"id\":\"\",\"event\":\"tenancy_seen\",\"host\":\"\",\"address\":\"\","
            "\"serial\":\"\",\"instance\":\"\",\"detail\":\"\",\"public_key\":\"\",\"at\":\"1970-"
            "01-01T00:00:00.000Z\"}");
  AuditEntry revocation;
  revocation.event = AuditEvent::key_revoked;
  revocation.key_id = "91ab";
  revocation.from_sequence = 7;
  EXPECT_EQ(encode_audit(revocation),
            "{\"schema\":2,\"id\":\"\",\"event\":\"key_revoked\",\"host\":\"\",\"address\":\"\","
            "\"serial\":\"\",\"instance\":\"\",\"detail\":\"\",\"public_key\":\"\",\"key_id\":"
            "\"91ab\",\"from_sequence\":7,\"at\":\"1970-01-01T00:00:00.000Z\"}");
  EXPECT_EQ(*decode_audit(encode_audit(revocation)), revocation);
  AuditEntry tenancy;
  tenancy.instance = "i1";
  tenancy.project = "pr1";
  tenancy.user = "us1";
  tenancy.migration = "m1";
  EXPECT_EQ(
      encode_audit(tenancy),
      "{\"schema\":2,\"id\":\"\",\"event\":\"tenancy_seen\",\"host\":\"\",\"address\":\"\","
      "\"serial\":\"\",\"instance\":\"i1\",\"project\":\"pr1\",\"user\":\"us1\",\"migration\":"
      "\"m1\",\"detail\":\"\",\"public_key\":\"\",\"at\":\"1970-01-01T00:00:00.000Z\"}");
  EXPECT_EQ(*decode_audit(encode_audit(tenancy)), tenancy);
}

LedgerEntry full_entry() {
  LedgerEntry entry;
  entry.dirty = true;
  entry.maintenance = true;
  entry.serial = kOdd;
  entry.provider = "p1";
  entry.enrolled_serial = kForeign;
  entry.hardware = "hw";
  entry.boot_id = "boot";
  entry.first_boot_id = "first";
  entry.dirty_since = kAt;
  entry.enrolment = R"({"version":1})";
  entry.certificate_id = "c";
  entry.certificate_at = kLater;
  entry.host_reads = 0;
  entry.host_writes = 18'446'744'073'709'551'615ULL;
  entry.accepted = true;
  entry.epoch = 9;
  entry.ordered_at = kAt;
  entry.cleaning = {"n", "d", R"({"a":1})"};
  entry.certificate_pending = R"({"id":"x"})";
  entry.release_generation = 17;
  return entry;
}

TEST(StoredForms, ALineOfTheLedger) {
  EXPECT_EQ(ledger_file::encode_line(kAddress, full_entry()),
            "8456ff17 "
            "{\"address\":\"0000:c1:00.1\",\"dirty\":true,\"error\":false,\"maintenance\":true,"
            "\"serial\":\"a\\\"b\\\\\\n\xC3\xA9\",\"provider\":\"p1\",\"enrolled_serial\":\"X?Y\","
            R"("dirty_since":"2025-11-20T21:22:44.123Z","hardware":"hw","boot_id":"boot",)"
            R"("first_boot_id":"first","enrolment":{"version":1},"certificate_id":"c",)"
            R"("certificate_at":"2025-11-20T21:22:45.000Z","host_reads":0,"host_writes":)"
            R"(18446744073709551615,"accepted":true,"ordered_at":"2025-11-20T21:22:44.123Z",)"
            R"("epoch":9,"cleaning_nonce":"n","baseline_sha256":"d","findings":"{\"a\":1}",)"
            "\"certificate_pending\":\"{\\\"id\\\":\\\"x\\\"}\",\"release_generation\":17}\n");
  EXPECT_EQ(ledger_file::encode_line(kAddress, LedgerEntry{}),
            "0d87a1de "
            "{\"address\":\"0000:c1:00.1\",\"dirty\":false,\"error\":false,\"maintenance\":false,"
            "\"serial\":\"\",\"provider\":\"\",\"enrolled_serial\":\"\",\"dirty_since\":\"\"}\n");
  // Only with the nonce, and only with the certificate's id.
  LedgerEntry partly;
  partly.cleaning.findings = "f";
  partly.certificate_at = kAt;
  EXPECT_EQ(ledger_file::encode_line(kAddress, partly),
            ledger_file::encode_line(kAddress, LedgerEntry{}));
  const auto back =
      ledger_file::replay(ledger_file::encode_all({{kAddress, full_entry()}}), "l", 9);
  ASSERT_TRUE(back.ok());
  LedgerEntry expected = full_entry();
  expected.enrolled_serial = "X?Y";
  EXPECT_EQ(back->entries.at(kAddress), expected);
}

TEST(StoredForms, AHost) {
  const HostInfo info{"h1", kAt, "1.0", "machine", 3, {"n1", "a\"b\\\xC3\xA9"}};
  EXPECT_EQ(redis_keys::encode_host(info),
            "{\"heartbeat_at\":\"2025-11-20T21:22:44.123Z\",\"version\":\"1.0\",\"machine_id\":"
            "\"machine\",\"burned\":3,\"nodes\":[\"n1\",\"a\\\"b\\\\\xC3\xA9\"]}");
  EXPECT_EQ(redis_keys::encode_host(HostInfo{}),
            "{\"heartbeat_at\":\"1970-01-01T00:00:00.000Z\",\"version\":\"\",\"machine_id\":\"\","
            "\"burned\":0,\"nodes\":[]}");
  HostInfo stopped;
  stopped.stopped = true;
  stopped.unheard_ends = 2;
  stopped.unheard_since = kAt;
  EXPECT_EQ(redis_keys::encode_host(stopped),
            "{\"heartbeat_at\":\"1970-01-01T00:00:00.000Z\",\"version\":\"\",\"machine_id\":\"\","
            "\"burned\":0,\"nodes\":[],\"stopped\":true,\"unheard_ends\":2,"
            "\"unheard_since\":\"2025-11-20T21:22:44.123Z\"}");
  EXPECT_EQ(redis_keys::decode_host("h1", redis_keys::encode_host(stopped))->unheard_ends, 2U);
  HostInfo unread;
  unread.unread_queues = {"notifications.info"};
  unread.unread_since = kAt;
  EXPECT_EQ(redis_keys::encode_host(unread),
            "{\"heartbeat_at\":\"1970-01-01T00:00:00.000Z\",\"version\":\"\",\"machine_id\":\"\","
            "\"burned\":0,\"nodes\":[],\"unread_queues\":[\"notifications.info\"],"
            "\"unread_since\":\"2025-11-20T21:22:44.123Z\"}");
  const auto read = redis_keys::decode_host("h1", redis_keys::encode_host(unread));
  EXPECT_EQ(read->unread_queues, unread.unread_queues);
  EXPECT_EQ(read->unread_since, kAt);
  EXPECT_TRUE(redis_keys::decode_host("h1", redis_keys::encode_host(stopped))->stopped);
  const auto back = redis_keys::decode_host("h1", redis_keys::encode_host(info));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->host, "h1");
  EXPECT_EQ(back->heartbeat_at, kAt);
  EXPECT_EQ(back->burned, 3U);
  EXPECT_EQ(back->nodes, info.nodes);
  const auto why = [](const char* text) {
    return redis_keys::decode_host("h1", text).error().what;
  };
  EXPECT_EQ(why(R"({"heartbeat_at":"x"})"),
            "'heartbeat_at': 'x' is not a time like 2026-11-20T21:22:44Z");
  EXPECT_EQ(why(R"({"heartbeat_at":"2026-11-20T21:22:44.123Z","version":1})"),
            "'version' is not a string");
  EXPECT_EQ(why(R"({"heartbeat_at":"2026-11-20T21:22:44.123Z","version":"1",)"
                R"("machine_id":"m","burned":-1})"),
            "'burned' is not a number of 32 bits");
}

// Any of them is shown on a terminal somewhere.
TEST(StoredForms, AHeartbeatMovesNoCursor) {
  const HostInfo good{"h1", kAt, "1.0", "machine", 0, {"n1"}};
  ASSERT_TRUE(redis_keys::decode_host("h1", redis_keys::encode_host(good)).ok());
  for (const std::string odd : {"\x1b[2J", "1\nforged", "\xc2\x9b", "\u202e"}) {
    for (std::string* (*word)(HostInfo&) : {+[](HostInfo& info) { return &info.version; },
                                            +[](HostInfo& info) { return &info.machine_id; },
                                            +[](HostInfo& info) { return &info.nodes.front(); }}) {
      HostInfo info = good;
      *word(info) = odd;
      EXPECT_FALSE(redis_keys::decode_host("h1", redis_keys::encode_host(info)).ok());
      *word(info) = std::string(256, 'x');
      EXPECT_FALSE(redis_keys::decode_host("h1", redis_keys::encode_host(info)).ok());
    }
  }
}

TEST(StoredForms, ALineOfTheJournal) {
  const JournalEntry entry{"0000:c1:00.1", "erasing", "erased", "verifying", "why", kOdd, kAt};
  EXPECT_EQ(words_of(redis_keys::journal_fields(entry, 7)),
            "at|2025-11-20T21:22:44.123Z|address|0000:c1:00.1|from|erasing|trigger|erased|to|"
            "verifying|why|why|detail|a\"b\\\n\xC3\xA9|epoch|7|");
  const JournalEntry back =
      redis_keys::journal_entry_from_fields({{"at", "2026-11-20T21:22:44.123Z"},
                                             {"address", "a"},
                                             {"from", "f"},
                                             {"trigger", "t"},
                                             {"to", "o"},
                                             {"why", "w"},
                                             {"detail", "d"},
                                             {"epoch", "7"},
                                             {"new", "x"}});
  EXPECT_EQ(back.address + back.from + back.trigger + back.to + back.why + back.detail, "aftowd");
  EXPECT_NE(back.at.ms, 0);
}

}  // namespace
}  // namespace reclaim
