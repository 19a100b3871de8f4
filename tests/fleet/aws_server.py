# SPDX-License-Identifier: Apache-2.0
"""A stand-in for AWS on loopback: STS, SSM, EC2, IAM and EventBridge Scheduler, as far as the scripts of `fare cron --emit aws` use them.
The real aws client talks to it (AWS_ENDPOINT_URL) and so checks the grammar of its own arguments. `fault` makes one call fail: ("fail"
or "half", action), before or after its effect."""
import base64
import json
import re
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape

SCHEDULE_KEYS = {"Description", "FlexibleTimeWindow", "ScheduleExpression", "ScheduleExpressionTimezone", "State", "Target", "ClientToken"}


class Aws:
    def __init__(self):
        self.instances, self.roles, self.schedules, self.calls = {}, {}, {}, []
        self.fault, self.stays_up = None, False
        aws = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                code, kind, text = aws.call(self.command, self.path, self.headers, body)
                data = text.encode()
                self.send_response(code)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = do_DELETE = answer

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def state(self):
        return json.dumps([self.instances, self.roles, self.schedules], sort_keys=True)

    def call(self, method, path, headers, body):
        if path.startswith("/schedules/"):
            action, run = method, lambda: self.scheduler(method, path[11:].partition("?")[0], body)
        elif headers.get("X-Amz-Target"):
            action, run = headers["X-Amz-Target"].split(".")[1], lambda: self.ssm(json.loads(body))
        else:
            f = {k: v[0] for k, v in urllib.parse.parse_qs(body, keep_blank_values=True).items()}
            action, run = f["Action"], lambda: self.query(f["Action"], f)
        self.calls.append(action)
        fault = self.fault if self.fault and self.fault[1] == action else None
        if fault:
            self.fault = None
        if fault and fault[0] == "fail":
            return self.no("AccessDenied", 403)
        answer = run()
        return self.no("AccessDenied", 403) if fault else answer

    def no(self, code, status=400, json_form=False):
        if json_form:
            return status, "application/json", json.dumps({"__type": code, "Message": code})
        return status, "text/xml", (f"<ErrorResponse><Error><Code>{code}</Code><Message>{code}</Message></Error>"
                                    f"<Errors><Error><Code>{code}</Code><Message>{code}</Message></Error></Errors></ErrorResponse>")

    def ssm(self, f):
        assert f["Name"].startswith("/aws/service/"), f
        return 200, "application/x-amz-json-1.1", json.dumps({"Parameter": {"Name": f["Name"], "Value": "ami-1"}})

    # ---- EventBridge Scheduler: REST with JSON
    def scheduler(self, method, name, body):
        there = self.schedules.get(name)
        if method == "GET" or method == "DELETE":
            if not there:
                status, kind, text = self.no("ResourceNotFoundException", 404, True)
                return status, kind, text
            if method == "DELETE":
                del self.schedules[name]
            return 200, "application/json", json.dumps({"Name": name, **there} if method == "GET" else {})
        f = json.loads(body)
        assert set(f) <= SCHEDULE_KEYS, f
        target = f["Target"]
        json.loads(target["Input"])
        assert re.fullmatch(r"cron\(\S+ \S+ \S+ \S+ \S+ \S+\)", f["ScheduleExpression"]), f
        assert target["RoleArn"].rpartition("/")[2] in self.roles and f["FlexibleTimeWindow"] == {"Mode": "OFF"}, f
        if bool(there) != (method == "PUT"):
            return self.no("ConflictException" if there else "ResourceNotFoundException", 409 if there else 404, True)
        f.pop("ClientToken", None)
        self.schedules[name] = f
        return 200, "application/json", json.dumps({"ScheduleArn": f"arn:aws:scheduler:us-east-1:1:schedule/default/{name}"})

    # ---- EC2, IAM, STS: forms, XML back
    def xml(self, action, inside):
        wrapped = f"<{action}Result>{inside}</{action}Result>" if action in IAM or action == "GetCallerIdentity" else inside
        return 200, "text/xml", f"<{action}Response>{wrapped}</{action}Response>"

    def query(self, action, f):
        if action in IAM:
            return self.iam(action, f)
        i = self.instances.get(f.get("InstanceId") or f.get("InstanceId.1"))
        out = "<return>true</return>"
        if action == "GetCallerIdentity":
            out = "<Account>123456789012</Account><Arn>arn:aws:iam::123456789012:user/u</Arn><UserId>u</UserId>"
        elif action == "DescribeImages":
            assert f["ImageId.1"] == "ami-1"
            out = "<imagesSet><item><imageId>ami-1</imageId><rootDeviceName>/dev/sda1</rootDeviceName></item></imagesSet>"
        elif action == "RunInstances":
            tags = {f[f"TagSpecification.1.Tag.{n}.Key"]: f[f"TagSpecification.1.Tag.{n}.Value"] for n in (1, 2)}
            new = f"i-{len(self.instances) + 1:017x}"
            self.instances[new] = {"type": f["InstanceType"], "data": f["UserData"], "tags": tags, "state": "running", "left": 1,
                                   "behaviour": f["InstanceInitiatedShutdownBehavior"], "gb": f["BlockDeviceMapping.1.Ebs.VolumeSize"],
                                   "root": f["BlockDeviceMapping.1.DeviceName"]}
            assert f["MinCount"] == f["MaxCount"] == "1"
            out = f"<reservationId>r</reservationId><instancesSet><item><instanceId>{new}</instanceId></item></instancesSet>"
        elif action == "DescribeInstances":
            found = [(name, m) for name, m in self.instances.items() if m["state"] != "terminated" and self.chosen(name, m, f)]
            for _, m in found:
                if m["state"] == "running" and not self.stays_up:
                    m["left"] -= 1
                    m["state"] = "stopped" if m["left"] <= 0 else "running"
            items = "".join(f"<item><instancesSet><item><instanceId>{name}</instanceId><instanceType>{m['type']}</instanceType><instanceState>"
                            f"<name>{m['state']}</name></instanceState></item></instancesSet></item>" for name, m in found)
            out = f"<reservationSet>{items}</reservationSet>"
        elif action == "DescribeInstanceAttribute":
            out = f"<instanceId>x</instanceId><userData><value>{i['data']}</value></userData>"
        elif action == "ModifyInstanceAttribute":
            if i["state"] != "stopped":
                return self.no("IncorrectInstanceState")
            if f.get("Attribute") == "userData":
                base64.b64decode(f["Value"], validate=True)
                i["data"] = f["Value"]
            i["type"] = f.get("InstanceType.Value", i["type"])
        elif action == "StopInstances":
            i["state"] = "stopped"
            out = "<instancesSet/>"
        elif action == "TerminateInstances":
            i["state"] = "terminated"
            out = f"<instancesSet><item><instanceId>{f['InstanceId.1']}</instanceId></item></instancesSet>"
        else:
            return self.no("InvalidAction")
        return self.xml(action, out)

    def chosen(self, name, m, f):
        if "InstanceId.1" in f:
            return name == f["InstanceId.1"]
        assert f["Filter.1.Name"].startswith("tag:") and f["Filter.2.Name"] == "instance-state-name", f
        return m["tags"].get(f["Filter.1.Name"][4:]) == f["Filter.1.Value.1"]

    def iam(self, action, f):
        role = self.roles.get(f["RoleName"])
        shown = f"<Role><Arn>arn:aws:iam::123456789012:role/{f['RoleName']}</Arn><RoleName>{f['RoleName']}</RoleName></Role>"
        if action == "CreateRole":
            json.loads(f["AssumeRolePolicyDocument"])
            if role:
                return self.no("EntityAlreadyExists", 409)
            self.roles[f["RoleName"]] = {"policy": None, "tags": {f["Tags.member.1.Key"]: f["Tags.member.1.Value"]}}
            return self.xml(action, shown)
        if not role or (action == "GetRolePolicy" and not role["policy"]):
            return self.no("NoSuchEntity", 404)
        if action == "PutRolePolicy":
            role["policy"] = json.loads(f["PolicyDocument"])
        elif action == "DeleteRole":
            if role["policy"]:
                return self.no("DeleteConflict", 409)
            del self.roles[f["RoleName"]]
        elif action == "DeleteRolePolicy":
            role["policy"] = None
        inside = {"GetRole": shown, "GetRolePolicy": f"<RoleName>x</RoleName><PolicyName>start</PolicyName><PolicyDocument>"
                  f"{escape(urllib.parse.quote(json.dumps(role['policy'])))}</PolicyDocument>",
                  "ListRoleTags": "<Tags>" + "".join(f"<member><Key>{k}</Key><Value>{v}</Value></member>" for k, v in role["tags"].items()) +
                  "</Tags><IsTruncated>false</IsTruncated>"}
        return self.xml(action, inside.get(action, ""))


IAM = {"CreateRole", "GetRole", "GetRolePolicy", "PutRolePolicy", "DeleteRole", "DeleteRolePolicy", "ListRoleTags"}
