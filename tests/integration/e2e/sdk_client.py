"""The OpenStack SDK as somebody's script uses it: one call, its answer as JSON. The credentials are
in the environment (OS_*), as for the openstack client.

    sdk_client.py devices [KEY=VALUE ...]
    sdk_client.py device UUID
    sdk_client.py clean UUID
    sdk_client.py arqs
    sdk_client.py arq UUID
"""
import json
import sys

import openstack


def plain(found):
    return {key: value for key, value in found.to_dict().items()
            if key not in ("location", "id", "name")}


def main():
    command, *words = sys.argv[1:]
    # OS_ACCELERATOR_ENDPOINT_OVERRIDE and the like count as well.
    cloud = openstack.connect(load_envvars=True)
    accelerator = cloud.accelerator
    filters = dict(word.split("=", 1) for word in words) if words and "=" in words[0] else {}
    try:
        if command == "devices" and filters:
            # The SDK's method takes none; its session does.
            answer = accelerator.get("/devices", params=filters).json()["devices"]
        elif command == "devices":
            answer = [plain(device) for device in accelerator.devices()]
        elif command == "device":
            answer = plain(accelerator.get_device(words[0]))
        elif command == "arqs":
            answer = [plain(arq) for arq in accelerator.accelerator_requests()]
        elif command == "arq":
            answer = plain(accelerator.get_accelerator_request(words[0]))
        else:
            # The SDK of today has no method for it; its session has.
            done = accelerator.post("/devices/%s/clean" % words[0], microversion="2.5")
            answer = {"status": done.status_code, "body": done.text}
    except openstack.exceptions.HttpException as problem:
        answer = {"error": type(problem).__name__, "status": problem.status_code,
                  "text": str(problem)}
    print(json.dumps(answer))


main()
