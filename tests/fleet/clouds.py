#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for gcloud and az: `clouds.py gcloud ARGS...`. They know the commands and flags that the emitted scripts use, as their
references document them, and refuse all else as those do (exit 2). What was made is kept in the file CLOUD_STATE names; every call is
noted in CLOUD_LOG, a JSON list per line, so that real clients can be asked whether they would take it.

CLOUD_FAULT makes them misbehave: "fail WORDS" the first command that begins so fails without effect; "half WORDS" it fails after its
effect; "stays up" a machine does not power itself off."""
import json
import os
import re
import sys

# Words of a command: (positional arguments, flags with a value, flags without).
GCLOUD = {
    "config get-value": (1, "", ""),
    "projects describe": (1, "format", ""),
    "projects get-iam-policy": (1, "flatten filter format", ""),
    "projects add-iam-policy-binding": (1, "member role condition format", ""),
    "compute instances list": (0, "filter format", ""),
    "compute instances create": (1, "zone machine-type image image-project image-family boot-disk-size provisioning-model "
                                    "instance-termination-action max-run-duration labels metadata-from-file resource-policies "
                                    "maintenance-policy", "no-restart-on-failure"),
    "compute instances stop": (1, "zone", ""),
    "compute instances delete": (1, "zone", "quiet"),
    "compute instances set-machine-type": (1, "zone machine-type", ""),
    "compute instances set-scheduling": (1, "zone provisioning-model instance-termination-action max-run-duration", ""),
    "compute instances add-resource-policies": (1, "zone resource-policies", ""),
    "compute instances add-metadata": (1, "zone metadata-from-file", ""),
    "compute instances add-labels": (1, "zone labels", ""),
    "compute machine-types list": (0, "filter format limit", ""),
    "compute resource-policies list": (0, "filter format", ""),
    "compute resource-policies create instance-schedule": (1, "region description vm-start-schedule timezone", ""),
    "compute resource-policies update instance-schedule": (1, "region vm-start-schedule timezone", ""),
    "compute resource-policies delete": (1, "region", "quiet"),
}
AZ = {
    "account show": (0, "query output", ""),
    "group exists": (0, "name", ""),
    "group show": (0, "name query output", ""),
    "group create": (0, "name location tags output", ""),
    "group delete": (0, "name", "yes"),
    "vm list": (0, "resource-group query output", ""),
    "vm create": (0, "resource-group name size image os-disk-size-gb os-disk-delete-option nic-delete-option nsg-rule admin-username "
                     "priority eviction-policy max-price custom-data user-data tags output", "generate-ssh-keys"),
    "vm get-instance-view": (0, "ids query output", ""),
    "vm deallocate": (0, "ids", ""),
    "vm resize": (0, "ids size output", ""),
    "vm update": (0, "ids user-data set output", ""),
    "resource list": (0, "resource-group resource-type query output", ""),
    "resource show": (0, "ids query output", ""),
    "rest": (0, "method url body output", ""),
    "role assignment list": (0, "scope query output", ""),
    "role assignment create": (0, "assignee-object-id assignee-principal-type role scope output", ""),
}
STATE, LOG, FAULT = os.environ["CLOUD_STATE"], os.environ["CLOUD_LOG"], os.environ.get("CLOUD_FAULT", "")


def usage(text):
    print(f"ERROR: {text}", file=sys.stderr)
    sys.exit(2)


def fail(text):
    print(f"ERROR: {text}", file=sys.stderr)
    sys.exit(1)


def parse(table, args):
    words = next((" ".join(args[:n]) for n in (4, 3, 2, 1) if " ".join(args[:n]) in table), None)
    if not words:
        usage(f"Invalid choice: {args[:3]}")
    places, valued, plain = table[words]
    flags, rest, args = {}, [], args[len(words.split()):]
    while args:
        arg = args.pop(0)
        name, equals, value = arg[2:].partition("=")
        if not arg.startswith("--"):
            rest.append(arg)
        elif name in plain.split() and not equals:
            flags[name] = True
        elif name not in valued.split():
            usage(f"unrecognized arguments: {arg}")
        elif equals:
            flags[name] = value
        elif not args:
            usage(f"argument {arg}: expected one argument")
        else:
            flags[name] = args.pop(0)
            while table is AZ and name in ("tags",) and args and not args[0].startswith("--"):
                flags[name] += "," + args.pop(0)
    if len(rest) != places:
        usage(f"{words}: {rest}")
    return words, rest, flags


def pairs(text):
    return dict(pair.split("=", 1) for pair in text.split(","))


def one_file(text, *keys):
    name, path = text.split("=", 1)
    assert name in keys, text
    return open(path, "rb").read().decode()


def gcloud(s, words, rest, f):
    name = rest[0] if rest else None
    if words == "config get-value":
        print("the-project")
    elif words == "projects describe":
        print("4711")
    elif words == "projects get-iam-policy":
        member = re.fullmatch(r"bindings\.members=(\S+) AND bindings\.role=(\S+)", f["filter"])
        print("\n".join(role for who, role in s["bindings"] if (who, role) == member.groups()))
    elif words == "projects add-iam-policy-binding":
        assert f["condition"] == "None"
        s["bindings"].append([f["member"], f["role"]])
    elif words == "compute instances list":
        for i in s["instances"].values():
            if f["filter"] != f"name={i['name']}":
                continue
            if "status" not in f["format"]:
                print(i["zone"], i["labels"].get("fare-task", ""), sep="|")
                continue
            if i["status"] == "RUNNING" and i["left"] > 0 and FAULT != "stays up":
                i["left"] -= 1
                i["status"] = "TERMINATED" if i["left"] == 0 else "RUNNING"
            print(i["zone"], i["status"], i["machine-type"], i["max-run-duration"].rstrip("s"), i["provisioning-model"],
                  i["policies"], i["labels"].get("fare-task", ""), i["labels"].get("fare-sum", ""), sep="|")
    elif words == "compute instances create":
        if name in s["instances"]:
            fail(f"The resource '{name}' already exists")
        if f["resource-policies"] not in s["policies"]:
            fail("resource policy not found")
        for flag, values in (("provisioning-model", ("SPOT", "STANDARD")), ("instance-termination-action", ("STOP", "DELETE")),
                             ("maintenance-policy", ("MIGRATE", "TERMINATE"))):
            if f[flag] not in values:
                usage(f"argument --{flag}: Invalid choice: {f[flag]}")
        if not re.fullmatch(r"\d+s", f["max-run-duration"]) or not re.fullmatch(r"\d+GB", f["boot-disk-size"]):
            usage("argument --max-run-duration or --boot-disk-size")
        s["instances"][name] = {"name": name, **f, "status": "RUNNING", "left": 2, "policies": f["resource-policies"],
                                "labels": pairs(f["labels"]), "script": one_file(f["metadata-from-file"], "startup-script", "user-data")}
    elif words.startswith("compute instances"):
        if name not in s["instances"] or s["instances"][name]["zone"] != f["zone"]:
            fail(f"The resource '{name}' was not found")
        i, verb = s["instances"][name], words.split()[-1]
        if verb in ("set-machine-type", "set-scheduling") and i["status"] != "TERMINATED":
            fail("Instance must be stopped")
        if verb == "stop":
            i["status"] = "TERMINATED"
        elif verb == "delete":
            del s["instances"][name]
        elif verb == "add-resource-policies":
            i["policies"] = f["resource-policies"]
        elif verb == "add-metadata":
            i["script"] = one_file(f["metadata-from-file"], "startup-script", "user-data")
        elif verb == "add-labels":
            i["labels"].update(pairs(f["labels"]))
        else:
            i.update(f)
    elif words == "compute machine-types list":
        machine, region = re.fullmatch(r"name=(\S+) AND zone~([a-z0-9-]+)-\[a-z\]\$", f["filter"]).groups()
        if machine == "n1-standard-1" and region == "us-east1":
            print("us-east1-b")
    elif words == "compute resource-policies list":
        for p in s["policies"].values():
            if f["filter"] == f"name={p['name']} AND region~/{p['region']}$":
                print(p["vm-start-schedule"], p["timezone"], sep="|")
            elif f["filter"] == f"name={p['name']} AND description='{p['description']}'":
                print(p["region"])
    elif words == "compute resource-policies delete":
        if any(i["policies"] == name for i in s["instances"].values()):
            fail("The resource policy is in use")
        del s["policies"][name]
    else:  # create, update instance-schedule
        if len(f["vm-start-schedule"].split()) != 5:
            fail("Invalid value for field vmStartSchedule")
        if (name in s["policies"]) != ("update" in words):
            fail("exists, or does not")
        s["policies"].setdefault(name, {"name": name}).update(f)


def az(s, words, _, f):
    group = s["groups"].get(f.get("name") or f.get("resource-group"))
    vm = next((m for m in s["machines"].values() if m["id"] == f.get("ids")), None)
    if words == "account show":
        print("11111111-2222")
    elif words == "group exists":
        print("true" if group else "false")
    elif words == "group show":
        print(group["location"] if f["query"] == "location" else group["tags"].get("fare-task", ""))
        assert f["query"] in ("location", 'tags."fare-task"')
    elif words == "group create":
        s["groups"][f["name"]] = {"location": f["location"], "tags": pairs(f["tags"])}
    elif words == "group delete":
        s["groups"].pop(f["name"])
        s["machines"].clear(), s["flows"].clear(), s["roles"].clear()
    elif words == "vm list":
        for m in s["machines"].values():
            assert f["query"] == f"[?name=='{m['name']}'].[hardwareProfile.vmSize,tags.\"fare-sum\"]", f["query"]
            print(m["size"], m["tags"]["fare-sum"], sep="\t")
    elif words == "vm create":
        if not group or f["name"] in s["machines"]:
            fail("ResourceGroupNotFound, or the machine exists")
        if f["priority"] not in ("Regular", "Spot") or f["nsg-rule"] not in ("NONE", "SSH", "RDP") or int(f["os-disk-size-gb"]) < 30:
            usage("--priority, --nsg-rule or --os-disk-size-gb")
        s["machines"][f["name"]] = {**f, "id": f"/subscriptions/11111111-2222/resourceGroups/{f['resource-group']}/providers/"
                                    f"Microsoft.Compute/virtualMachines/{f['name']}", "tags": pairs(f["tags"]), "left": 2,
                                    "power": "running", "script": open(f["user-data"], "rb").read().decode(),
                                    "loader": open(f["custom-data"]).read()}
    elif words == "vm get-instance-view":
        if vm["power"] == "running" and FAULT != "stays up":
            vm["left"] -= 1
            vm["power"] = "stopped" if vm["left"] <= 0 else "running"
        print(f"PowerState/{vm['power']}")
    elif words == "vm deallocate":
        vm["power"] = "deallocated"
    elif words in ("vm resize", "vm update"):
        if vm["power"] != "deallocated":
            fail("must be deallocated")
        vm["size"] = f.get("size", vm["size"])
        if "user-data" in f:
            vm["script"] = open(f["user-data"], "rb").read().decode()
            vm["tags"]["fare-sum"] = re.fullmatch(r"tags\.fare-sum=(\w+)", f["set"]).group(1)
    elif words == "resource list":
        print("\n".join(flow["tags"]["fare-sum"] for flow in s["flows"].values()))
    elif words == "resource show":
        print(s["flows"][f["ids"]]["identity"]["principalId"])
    elif words == "rest":
        where, _, version = f["url"].partition("?api-version=")
        assert f["method"] == "put" and version and f["body"][0] == "@"
        s["flows"][where] = json.load(open(f["body"][1:]))
        s["flows"][where]["identity"]["principalId"] = "who-1"
    elif words == "role assignment list":
        print("\n".join("/roles/1" for r in s["roles"] if r["scope"] == f["scope"]))
    else:
        s["roles"].append(f)


def main():
    tool, args = sys.argv[1], sys.argv[2:]
    with open(LOG, "a") as log:
        log.write(json.dumps([tool, *args]) + "\n")
    state = {"bindings": [], "instances": {}, "policies": {}, "groups": {}, "machines": {}, "flows": {}, "roles": []}
    if os.path.exists(STATE):
        state = json.load(open(STATE))
    words, rest, flags = parse(GCLOUD if tool == "gcloud" else AZ, args)
    kind, _, which = FAULT.partition(" ")
    hit = kind in ("fail", "half") and words.startswith(which) and not os.path.exists(STATE + ".fault")
    if hit:
        open(STATE + ".fault", "w").close()
    if hit and kind == "fail":
        fail("Internal error. Please try again")
    (gcloud if tool == "gcloud" else az)(state, words, rest, flags)
    with open(STATE, "w") as out:
        json.dump(state, out)
    if hit:
        fail("The connection was lost")


main()
