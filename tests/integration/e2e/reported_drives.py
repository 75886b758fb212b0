"""The pages of drives that were reported in public (tests/data/drives), byte by byte as the drive
answered them, for emulated drives that are made from them. Pure but for the files."""
import os
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "../../data/drives")
# Offset and width in bytes (NVM Express Base Specification 2.0c, figures 275, 207 and 249).
CONTROLLER = {
    "vid": (0, 2), "ssvid": (2, 2), "rab": (72, 1), "cmic": (76, 1), "mdts": (77, 1),
    "cntlid": (78, 2), "ver": (80, 4), "oaes": (92, 4), "ctratt": (96, 4), "cntrltype": (111, 1),
    "oacs": (256, 2), "acl": (258, 1), "aerl": (259, 1), "frmw": (260, 1), "lpa": (261, 1),
    "elpe": (262, 1), "npss": (263, 1), "avscc": (264, 1), "apsta": (265, 1), "wctemp": (266, 2),
    "cctemp": (268, 2), "mtfa": (270, 2), "hmpre": (272, 4), "hmmin": (276, 4),
    "tnvmcap": (280, 8), "edstt": (316, 2), "dsto": (318, 1), "fwug": (319, 1), "kas": (320, 2),
    "hctma": (322, 2), "mntmt": (324, 2), "mxtmt": (326, 2), "sanicap": (328, 4),
    "hmminds": (332, 4), "hmmaxd": (336, 2), "sqes": (512, 1), "cqes": (513, 1), "nn": (516, 4),
    "oncs": (520, 2), "fuses": (522, 2), "fna": (524, 1), "vwc": (525, 1), "awun": (526, 2),
    "awupf": (528, 2), "icsvscc": (530, 1), "acwu": (532, 2), "sgls": (536, 4)}
TEXTS = {"sn": (4, 20, b" "), "mn": (24, 40, b" "), "fr": (64, 8, b" "),
         "subnqn": (768, 256, b"\0")}
SMART = {
    "critical_warning": (0, 1), "temperature": (1, 2), "avail_spare": (3, 1),
    "spare_thresh": (4, 1), "percent_used": (5, 1), "endu_grp_crit_warn_sumry": (6, 1),
    "data_units_read": (32, 8), "data_units_written": (48, 8), "host_reads": (64, 8),
    "host_writes": (80, 8), "ctrl_busy_time": (96, 8), "power_cycles": (112, 8),
    "power_on_hours": (128, 8), "unsafe_shutdowns": (144, 8), "media_errors": (160, 8),
    "num_err_log_entries": (176, 8)}
SANITIZE = {"sprog": (0, 2), "sstat": (2, 2), "scdw10": (4, 4), "eto": (8, 4), "etbe": (12, 4),
            "etce": (16, 4), "etond": (20, 4), "etbend": (24, 4), "etcend": (28, 4)}
PAGES = {"id-ctrl": ("identify", 4096, CONTROLLER), "smart-log": ("smart", 512, SMART),
         "sanitize-log": ("sanitize_log", 512, SANITIZE)}
NUMBERS = {1: "<B", 2: "<H", 4: "<I", 8: "<Q"}


def write_pages(name, folder):
    """{setting of the emulated drive: file} of the pages that are known of this drive."""
    files, page, fields = {}, None, None
    pages = {}
    with open(os.path.join(FOLDER, name + ".txt"), encoding="utf-8") as lines:
        for line in lines.read().splitlines()[1:]:
            if line.startswith("["):
                setting, length, fields = PAGES[line.strip("[]")]
                page = pages[setting] = bytearray(length)
                if setting == "identify":
                    put(page, "sn", "REPORTED", fields)
                continue
            put(page, *line.split(" ", 1), fields)
    for setting, content in pages.items():
        files[setting] = os.path.join(folder, "%s.%s" % (name, setting))
        with open(files[setting], "wb") as file:
            file.write(content)
    return files


def put(page, name, value, fields):
    if name in TEXTS:
        at, width, padding = TEXTS[name]
        page[at:at + width] = value.encode().ljust(width, padding)
        return
    at, width = fields[name]
    struct.pack_into(NUMBERS[width], page, at, int(value, 0))
