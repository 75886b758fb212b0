"""reclaim_nvme, as it would report were a drive gone or its resource class another: what a file
says of that is changed in what the real driver reports."""
import json

from reclaim_openstack.cyborg.driver import CONF, ReclaimNVMeDriver


class AlteredDriver(ReclaimNVMeDriver):
    def _devices(self, entries, states):
        with open(CONF.reclaim.report_file + ".changes", encoding="utf-8") as file:
            changes = json.load(file)
        altered = {}
        for address, entry in entries.items():
            if address not in changes["hidden"]:
                altered[address] = dict(entry, rc=changes["rc"].get(address, entry["rc"]))
        return super()._devices(altered, states)
