"""A server whose drive is an accelerator of Cyborg's: the ARQ tells its address."""
import time

from life import Boot, Life


class CyborgLife(Life):
    def arq(self):
        found = self.cloud.cyborg("GET", "/accelerator_requests?instance=" + self.server)["arqs"]
        return found[0] if found else None

    def find_address(self):
        info = (self.arq() or {}).get("attach_handle_info")
        return info and "%s:%s:%s.%s" % tuple(info[name] for name in (
            "domain", "bus", "device", "function"))

    def boot_patiently(self, tries=8):
        """With an operator's remedy where Nova or Cyborg was not there: delete, and boot again."""
        for number in range(tries):
            try:
                if number or not self.server:
                    self.begin_boot()
                self.wait_boot()
                return
            except Boot as problem:
                self.remedy("booted again")
                self.last_problem = problem
                self.delete_server()
                self.delete_leaked()
                time.sleep(2 * number)
        raise AssertionError("not booted in %d tries: %s" % (tries, self.last_problem))

    def leaked(self):
        """ARQs that Cyborg keeps for servers that are gone."""
        return [arq for arq in self.cloud.cyborg("GET", "/accelerator_requests")["arqs"]
                if arq["instance_uuid"] and self.cloud.server_is_gone(arq["instance_uuid"])]

    def delete_leaked(self):
        for arq in self.leaked():
            self.cloud.delete_arq(arq["uuid"])
            self.remedy("leaked ARQ deleted")
