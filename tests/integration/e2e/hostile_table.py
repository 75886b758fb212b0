"""Drives that lie, are broken or were left behind by a hostile tenant, and what has to become of
each: one row a drive. Pure.

`made` is what the emulated drive is from the beginning, `spec` its entry of device_spec, `hostile`
what is set after it was cleaned once (so that its enrolment is known) and handed to a tenant."""

ERROR, RELEASED, WAITS = "error", "available", "pending_cleaning"
HOUR_MS = 3_600_000
NO_SANITIZE = {"sanicap": "none"}
SHOWS_MEDIA = {"sanicap": "crypto+block+verify"}
ONCS_WITHOUT_WRITE_ZEROES = "0x14"
# Drives for which the operator has an image of what they came with.
IMAGED = {"model": "IMAGED", "firmware": "GOOD05", "firmware_slot": "1:GOOD05"}
ZERO, FORMAT = {"clear_action": "zero"}, {"clear_action": "format"}
FULL = {"verify": "full"}
# What the label says, and what a line of psid_file may say instead.
PSID, NO_PSID = "ABCDEFGHIJKLMNOPQRSTUVWXYZ012345", 32 * "Z"
OWNED = {"opal_sid_set": 1, "opal_enabled": 1, "opal_locked": 1}
LABELLED = {"opal_block_sid": 1, "opal_psid": PSID}


class Row:
    def __init__(self, name, hostile=None, ends=ERROR, words="", made=None, spec=None, **more):
        self.name, self.ends, self.words = name, ends, words
        self.hostile = hostile or {}
        self.made = made or {}
        self.specs = spec if isinstance(spec, list) else [spec or {}]
        # Of the certificate: what it has to say, by its path.
        self.certificate = more.pop("certificate", {})
        # What to set before `device clean`, after which it has to be released.
        self.mended_by = more.pop("mended_by", None)
        # False: it cannot be cleaned even once, and waits with the words in its note.
        self.enrols = more.pop("enrols", True)
        # The entry that takes the place of `spec` in the end: it is excluded, with these words.
        self.respec = more.pop("respec", None)
        self.excluded_words = more.pop("excluded_words", "")
        # The drive is bound to it while it is free.
        self.driver = more.pop("driver", "nvme")
        # Both are right: it depends on whether a survey or the claim meets it first.
        self.or_ends = more.pop("or_ends", None)
        # "domain" or "holder": Nova gives it to a guest while Placement goes on showing it free.
        # Reserved by an alarm, waiting with the words in its note, cleaned when the guest is gone.
        self.guest = more.pop("guest", None)
        # Erased and certified all the same, and not returned because of its health.
        self.kept = more.pop("kept", False)
        # A finding of the clean steps that the certificate has to name, as reset.
        self.reset = more.pop("reset", None)
        # A drive of tests/data/drives: it is made from the pages that are known of that.
        self.reported = more.pop("reported", None)
        # Of its line in psid_file.
        self.psid = more.pop("psid", None)
        # Its health is known of later: of when it was reported.
        self.worn = more.pop("worn", False)
        assert not more, more

    def __repr__(self):
        return "%s %s" % (self.name, self.hostile or self.made)


OLD_CONTENT = "old content|content of before|canary|do not read as zeroes"

ERASING = [
    Row("honest", {}, RELEASED, certificate={"method": "sanitize_crypto",
                                             "sanitization_class": "purge"}),
    Row("lies about success and keeps the data", {"lies_keeps_data": 1}, words=OLD_CONTENT,
        mended_by={"lies_keeps_data": 0}),
    Row("erases half", {"erases_half": 1}, words=OLD_CONTENT),
    Row("keeps one region", {"keeps_region": "1:9437184:1048576"}, words=OLD_CONTENT, spec=FULL),
    Row("fails at 40 %", {"fails_at": 40},
        words="reports that the sanitize failed .*; clean the device again",
        mended_by={"fails_at": "off"}),
    Row("stands still at 30 %", {"stalls_at": 30},
        words="is stalled at 30.* since 30 s; it cannot be aborted: power-cycle the drive"),
    Row("loses power at 50 %", {"power_loss_at": 50}, words="how the sanitize ended is not known",
        mended_by={}),
    Row("is reset at 50 %", {"reset_at": 50}, RELEASED),
    Row("SSTAT 4", {"unexpected_deallocation": 1}, RELEASED, certificate={"evidence.sstat": 0x104}),
    Row("time estimates unknown", {"estimate_crypto_s": 0xffffffff, "estimate_block_s": 0xffffffff},
        RELEASED),
    Row("never sets Global Data Erased", {"no_gde": 1}, words="not Global Data Erased"),
    Row("never sets Global Data Erased, relaxed", {"no_gde": 1}, RELEASED,
        spec={"relax": ["global_data_erased"]},
        certificate={"verification.relaxed": ["global_data_erased"],
                     "verification.global_data_erased": False}),
    Row("unreadable after crypto erase", {"unreadable_after_crypto": 1},
        words="put unreadable_blocks into relax in its device_spec"),
    # Relaxed or not: what cannot be read anywhere is not verified.
    Row("unreadable after crypto erase, relaxed", {"unreadable_after_crypto": 1},
        spec={"relax": ["unreadable_blocks"]}, words="nothing shows that it happened"),
    Row("some blocks cannot be read", {"io_error_at": "1:0:131072"}, words="cannot (be )?read"),
    Row("some blocks cannot be read, relaxed", {"io_error_at": "1:0:131072"}, RELEASED,
        spec={"relax": ["unreadable_blocks"], **FULL},
        certificate={"verification.relaxed": ["unreadable_blocks"]}),
    Row("log shows another command", {"wrong_scdw10": 1}, words="another command than ours"),
    Row("garbage sanitize log", {"garbage_sanitize_log": 1}, words="sanitize"),
    Row("sanitize log refused", {"refuses_log": "0x4002"},
        words="Get Log Page .*look for an update"),
    Row("shows its media", {}, RELEASED, made=SHOWS_MEDIA,
        certificate={"evidence.cdw10": 0x404, "evidence.sstat": 0x101}),
    Row("hides what it keeps", {"hides_media": 1}, made=SHOWS_MEDIA,
        words="the media still holds content of before the erase .*replace the drive"),
    Row("refuses to show its media", {"refuses_emvs": 1}, RELEASED, made=SHOWS_MEDIA,
        certificate={"evidence.cdw10": 4}),
    Row("left showing its media", {"media_verification": 1}, RELEASED, made=SHOWS_MEDIA),
    Row("comes back dead", {"state": "dead"}, RELEASED),
    Row("comes back dead for good", {"state": "dead", "reset_fails": 1},
        words="it was reset and did not come up .*power-cycle its slot, or replace the drive"),
    Row("block erase only", {}, RELEASED, made={"sanicap": "block"},
        certificate={"method": "sanitize_block"}),
]

# The status with which the drive refuses, and the words of the remedy.
REFUSED = [
    Row("refuses: %s" % name, {"refuses_sanitize": status}, words=words)
    for name, status, words in (
        ("write protected", "0x4020", "write.protect"),
        ("firmware pending", "0x410b", "firmware|reset"),
        ("PMR enabled", "0x4123", "[Pp]ersistent [Mm]emory|PMR"),
        ("locked", "0x4286", "Opal|locked|[Aa]ccess denied"),
        ("prohibited by lockdown", "0x4023", "lockdown|prohibited"),
        ("not known", "0x4001", "does not|not support|Invalid"))
] + [Row("PMR enabled", {"pmr": 1}, words="[Pp]ersistent [Mm]emory|PMR", mended_by={"pmr": 0})]

ZEROING = [
    Row("Write Zeroes", {}, RELEASED, NO_SANITIZE, spec=ZERO,
        certificate={"method": "write_zeroes", "sanitization_class": "clear"}),
    Row("zeroes written by the host", {}, RELEASED, spec=ZERO,
        made={**NO_SANITIZE, "oncs": ONCS_WITHOUT_WRITE_ZEROES},
        certificate={"method": "overwrite", "sanitization_class": "clear"}),
    Row("Write Zeroes does nothing", {"zeroes_nothing": 1}, made=NO_SANITIZE, spec=ZERO,
        words=OLD_CONTENT),
    Row("Write Zeroes does half", {"zeroes_half": 1}, made=NO_SANITIZE, spec=ZERO,
        words=OLD_CONTENT),
    Row("drops writes of zeroes", {"drops_zero_writes": 1}, spec=ZERO,
        made={**NO_SANITIZE, "oncs": ONCS_WITHOUT_WRITE_ZEROES}, words=OLD_CONTENT),
    Row("ignores all writes", {"never_writes": 1}, spec=ZERO, made=NO_SANITIZE, words=OLD_CONTENT),
    # A namespace made again would bring other blocks there.
    Row("keeps a region when zeroed", {"keeps_region": "1:9437184:1048576"},
        made={**NO_SANITIZE, "lacks_namespace_commands": 1}, spec={**ZERO, **FULL},
        words=OLD_CONTENT),
    Row("Format", {}, RELEASED, made={**NO_SANITIZE, "fna": "0x4"}, spec=FORMAT,
        certificate={"method": "format_crypto", "sanitization_class": "clear"}),
    Row("Format lies", {"format_keeps_data": 1}, made={**NO_SANITIZE, "fna": "0x4"}, spec=FORMAT,
        words=OLD_CONTENT),
    Row("Format is refused", {"refuses_format": "0x4002"}, made={**NO_SANITIZE, "fna": "0x4"},
        spec=FORMAT, words="[Ff]ormat"),
    Row("of several entries the first counts", {}, RELEASED, spec=[ZERO, {"clear_action": "auto"}],
        certificate={"method": "write_zeroes", "sanitization_class": "clear"}),
]

IDENTITY = [
    Row("another serial", {"serial": "ANOTHER"}, words="ANOTHER.*enrol|enrol.*ANOTHER"),
    Row("serial changes in the middle", {"serial_changes_after": 60}, words="serial"),
    Row("garbage identify", {"garbage_identify": 1}, WAITS, or_ends=ERROR,
        words="serial number .* not printable; without one the drive cannot be told from another"),
]

NAMESPACES = [
    Row("an extra namespace", {"delete_namespace": 1, "add_namespace": "4M", "attach": 1}, RELEASED,
        reset="namespaces"),
    Row("a hidden namespace", {"delete_namespace": 1, "hidden_namespace": "4M"}, RELEASED,
        reset="namespaces"),
    Row("a detached namespace", {"detach": 1}, RELEASED, reset="namespaces"),
    Row("a new namespace shows old blocks", {"recycles_blocks": 1, "lba_format": "1:1"}, RELEASED,
        reset="namespaces"),
    Row("keeps room beside every namespace", {"namespace_headroom": "64K"}, made=NO_SANITIZE,
        spec=ZERO, words="namespaces: 65536 bytes .* in none of its namespaces .*has no sanitize"),
    Row("keeps room beside every namespace, sanitized",
        {"namespace_headroom": "64K", "lba_format": "1:1"}, RELEASED, reset="namespaces"),
    Row("refuses a too large namespace as an invalid format", {"namespace_headroom": "64K",
        "too_large_status": "0x410a", "lba_format": "1:1"}, RELEASED, reset="namespaces"),
    Row("does not tell its capacity", {"tells_no_capacity": 1, "detach": 1}, RELEASED,
        reset="namespaces"),
    Row("another LBA format", {"lba_format": "1:1"}, RELEASED, reset="namespaces"),
    Row("ignores the deletion of namespaces", {"ignores_delete": 1, "lba_format": "1:1"},
        words="namespace.*still there"),
    Row("write protected", {"write_protect": "1:1"}, RELEASED, reset="write_protect"),
    Row("write protected until a power cycle", {"write_protect": "1:2"},
        words="write_protect: .*until a power cycle; power-cycle the drive",
        mended_by={"power_loss": 1}),
    Row("write protected for ever", {"write_protect": "1:3"},
        words="write_protect: .*permanently; it can never be erased: replace and destroy"),
    Row("reserved by the tenant", {"reservation": "1:1:42"}, RELEASED, reset="reservations"),
]

SURFACES = [
    Row("a saved feature", {"feature": "0x11:1"}, RELEASED, reset="features"),
    Row("reading deallocated blocks is an error", {"dulbe": 1}, RELEASED, reset="features"),
    Row("features that cannot be set back", {"feature": "0x11:1", "ignores_features": 1},
        words="features: .*power-cycle"),
    Row("LBA range types", {"feature_data": "0x03:7"}, made={"feature_data": "0x03:0"},
        words="lba_range_types: of namespace 1: .*at enrolment: nothing",
        mended_by={"feature_data": "0x03:0"}),
    Row("saved power state transitions", {"feature_data": "0x0c:7"},
        words="power_state_transitions: .*at enrolment"),
    Row("metadata of the controller", {"feature_data": "0x7e:7"},
        made={"feature_data": "0x7e:0"}, words="controller_metadata: .*at enrolment"),
    Row("flexible data placement", {"placement": 1}, made={"endurance_groups": 1},
        words="endurance_groups: .*placement 0x1.*at enrolment"),
    Row("NVM sets", {"nvm_sets": 2}, made={"nvm_sets": 1}, words="nvm_sets: .*at enrolment"),
    Row("a controller memory buffer, sanitized", {"cmb": 1}, RELEASED),
    Row("a controller memory buffer, zeroed", {"cmb": 1}, made=NO_SANITIZE, spec=ZERO,
        words="controller_memory_buffer: there is .*clear_action=sanitize"),
    Row("a persistent memory region, zeroed", {"pmr": 1}, made=NO_SANITIZE, spec=ZERO,
        words="persistent_memory_region: there is .*clear_action=sanitize"),
    Row("left in the failure state", {"sstat": 3}, RELEASED, reset="sanitize"),
    Row("Opal locked", {"opal_locked": 1, "opal_enabled": 1},
        words="opal: a locking range is locked; .*PSID"),
    Row("Opal owned", {"opal_enabled": 1}, words="opal: locking is enabled: .*PSID",
        made={"opal": 1}, mended_by={"opal_enabled": 0}),
    Row("shadow MBR", {"opal_enabled": 1, "opal_mbr": 1}, words="opal: .*shadow MBR"),
    Row("Opal locked, with its PSID", OWNED, RELEASED, made=LABELLED, psid=PSID, reset="opal"),
    Row("Opal locked, with another PSID", OWNED, made=LABELLED, psid=NO_PSID,
        words="opal: a locking range is locked.*does not accept its PSID .*correct its line",
        mended_by={"opal_sid_set": 0, "opal_enabled": 0, "opal_locked": 0}),
    Row("no SID is blocked any more", {"opal_sid_blocked": 0}, RELEASED, reset="opal",
        made={"opal_block_sid": 1, "opal_sid_blocked": 1}),
    Row("RPMB key programmed", {"rpmb_key": 1}, made={"rpmb": 1},
        words="rpmb: an authentication key was programmed since enrolment .*replace the drive"),
    Row("boot partition changed", {"boot_seed": "0:8"},
        made={"boot_partition": "128K", "boot_seed": "0:7"},
        words="boot_partitions: their content is not that of the enrolment; write them again",
        mended_by={"boot_seed": "0:7"}),
    Row("firmware changed", {"firmware": "EVIL01"},
        words="firmware: slot 1 holds revision 'EVIL01'.*install the former revision"),
    Row("firmware in another slot", {"firmware_slot": "2:EVIL02"}, words="firmware: slot 2"),
    Row("firmware pending", {"firmware_slot": "2:EVIL03", "firmware_pending": 2},
        words="firmware: slot 2 .*becomes active at the next reset"),
    Row("firmware changed, allowed", {"firmware": "GOOD02"}, RELEASED,
        made={"firmware": "GOOD01"}, spec={"firmware": ["GOOD01", "GOOD02"]}),
    Row("firmware changed, not in the list", {"firmware": "EVIL04"},
        made={"firmware": "GOOD01"}, spec={"firmware": ["GOOD01", "GOOD02"]},
        words="firmware: .*EVIL04, which firmware of its device_spec does not name"),
    Row("firmware changed, with an image", {"firmware": "EVIL06"}, RELEASED, made=IMAGED,
        reset="firmware", certificate={"firmware": "GOOD05"}),
    Row("firmware changed, with an image, whose activation needs power",
        {"firmware": "EVIL07", "firmware_activation": "conventional_reset"}, made=IMAGED,
        words="restore_firmware: firmware: slot 1: .*power-cycle the drive",
        mended_by={"firmware_activation": "normal", "power_loss": 1}),
    Row("firmware changed, and shows another revision than its image's",
        {"firmware": "EVIL08", "firmware_becomes": "EVIL09"}, made=IMAGED,
        words="GOOD05 was to be put back into slot 1, and slot 1 holds 'EVIL09'; correct"),
    Row("locked down", {"lockdown": "0x84"}, words="lockdown: .*0x84; power-cycle the drive",
        mended_by={"lockdown": "off"}),
    Row("a self-test runs", {"self_test": 2, "self_test_ms": HOUR_MS}, RELEASED,
        reset="self_test"),
    Row("worn out", {"percentage_used": 101}, kept=True,
        words="^erased, not returned: health: 101 % of its endurance .*`reclaim device clean`",
        mended_by={"percentage_used": 100}),
    Row("worn out, unmanaged", {"percentage_used": 101}, made={"driver": "vfio-pci"}, kept=True,
        spec={"managed": False}, driver="vfio-pci", words="erased, not returned: health: 101 %"),
    Row("worn out, zeroed", {"percentage_used": 101}, made=NO_SANITIZE, spec=ZERO, kept=True,
        words="erased, not returned: health: 101 %",
        certificate={"method": "write_zeroes", "verification.fit": False}),
    Row("worn out, no limit", {"percentage_used": 120}, RELEASED,
        spec={"percentage_used_max": 255}),
    Row("critical warning", {"critical_warning": 8}, kept=True,
        words="health: critical warning 0x08: media read only; .*replace",
        mended_by={"critical_warning": 0}),
    Row("media read only in truth", {"critical_warning": 8, "never_writes": 1}, words="canary"),
    Row("warns of its reliability, put up with", {"critical_warning": 4}, RELEASED,
        spec={"relax": ["reliability"]}, certificate={"verification.relaxed": ["reliability"]}),
    # Samsung's PM981, PM9A1 and PM9A3.
    Row("unreliable, because it is worn out", {"critical_warning": 4}, RELEASED,
        made={"percentage_used": 100}, spec={"percentage_used_max": 255}),
    Row("unreliable, worn out and of too many media errors",
        {"critical_warning": 4, "media_errors": 3}, made={"percentage_used": 100}, kept=True,
        spec={"percentage_used_max": 255, "media_errors_max": 5},
        words="critical warning 0x04: reliability degraded; .*put reliability into relax"),
    Row("too hot, put up with", {"critical_warning": 2, "temperature_k": 350}, RELEASED,
        spec={"relax": ["temperature"]}, certificate={"verification.relaxed": ["temperature"]}),
    # A Transcend, a Fanxiang, and each of QEMU's after a power cycle.
    Row("counts its hours anew", {"power_on_hours": 0}, RELEASED, made={"power_on_hours": 1234}),
    Row("counts its writes anew", {"data_units_written": 0}, RELEASED,
        made={"data_units_written": 5000}),
    # A Kingston.
    Row("a threshold of all its spare", {}, RELEASED,
        made={"available_spare": 100, "spare_threshold": 100}),
    Row("media errors", {"media_errors": 5}, kept=True,
        words="health: 5 media errors during the tenancy"),
    Row("media errors, allowed", {"media_errors": 5}, RELEASED, spec={"media_errors_max": 5}),
    Row("spare at its threshold", {"spare_threshold": 10, "available_spare": 10}, RELEASED),
    Row("no spare left", {"spare_threshold": 10, "available_spare": 9}, kept=True,
        words="health: 9 % spare capacity is left"),
]

POLICY = [
    Row("no Sanitize for action sanitize", ends=WAITS, made=NO_SANITIZE, enrols=False,
        spec={"clear_action": "sanitize"}, words="cannot be satisfied: .*choose another policy"),
    Row("no crypto erase for strategy crypto", ends=WAITS, made={"sanicap": "block"}, enrols=False,
        spec={"clear_strategy": "crypto"}, words="cannot be satisfied: .*no crypto erase"),
    Row("free, until its policy is not to be satisfied any more", {}, RELEASED, made=NO_SANITIZE,
        spec=ZERO, respec={"clear_action": "sanitize"},
        excluded_words="clear_action=sanitize .*cannot be satisfied: .*choose another policy"),
]

UNMANAGED = [
    Row("unmanaged", {}, RELEASED, made={"driver": "vfio-pci"}, spec={"managed": False},
        driver="vfio-pci"),
    Row("unmanaged, firmware changed", {"firmware": "EVIL05"}, made={"driver": "vfio-pci"},
        spec={"managed": False}, driver="vfio-pci", words="firmware: slot 1"),
]

NOT_BOOKED = [
    Row("a domain has it, not booked", ends=WAITS, guest="domain",
        words="guard libvirt_domain: libvirt domain guest names the PCI function"),
    # Nothing else could tell of it: its counters cannot be read.
    Row("a process has it, not booked", ends=WAITS, guest="holder",
        made={"driver": "vfio-pci"}, spec={"managed": False}, driver="vfio-pci",
        words="guard vfio_open: process [0-9]+ .qemu-system-x86. holds /dev/vfio/"),
]

# As operators have them (tests/data/drives).
REPORTED = [
    Row("reported: %s" % name, {}, RELEASED, reported=name, spec=spec,
        certificate={"method": method})
    for name, method, spec in (
        ("micron-9200", "overwrite", None),
        ("dell-p4610", "overwrite", None),
        ("toshiba-kxg6", "sanitize_crypto", None),
        ("dera-p44y", "sanitize_block", None),
        ("intel-dual-port", "sanitize_crypto", {"shared_subsystem": "allow"}),
        ("intel-h10", "sanitize_crypto", None),
        ("hynix-pc401", "write_zeroes", None),
        ("toshiba-thnsn5", "write_zeroes", None),
        ("intel-p3600", "overwrite", None))
] + [
    # It refuses every write, and so every erase.
    Row("reported: crucial-p3, gone read-only", {"refuses_sanitize": "0x4020",
                                                 "refuses_format": "0x4020"},
        reported="crucial-p3", worn=True, words="write.protect|read.only"),
]

ROWS = (ERASING + REFUSED + ZEROING + IDENTITY + NAMESPACES + SURFACES + POLICY + UNMANAGED +
        NOT_BOOKED + REPORTED)
