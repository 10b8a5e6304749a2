"""Judges deploy/kubernetes.yaml, and what the chart deploy/helm makes of its values, by the schemas of Kubernetes. tests/manifests calls
it: manifests.py CHART.tgz TARGET SCRATCH."""

import copy
import json
import pathlib
import subprocess
import sys
import tomllib

import kubernetes_validate
import yaml

import helm

VERSIONS = ["1.29", "1.34"]
KINDS = ["ServiceAccount", "ConfigMap", "Job", "Deployment", "PodDisruptionBudget", "NetworkPolicy"]
# Something of its kind for what is secret.
SECRETS = {
    "OUTBOX_DATABASE__URL": "postgres://outbox:x@db/shop",
    "OUTBOX_LEASE__URL": "rediss://outbox:x@redis",
    "OUTBOX_ADMIN__TOKEN": "x" * 64,
    "OUTBOX_ADMIN__METRICS_TOKEN": "y" * 64,
}
# Each option switched to what it is not by default.
SWITCHED = """
image: { repository: ghcr.io/you/outbox, digest: "sha256:%s", pullPolicy: Always }
imagePullSecrets: [{ name: registry }]
replicas: 5
secret: other
redis: false
settings: |
  [admin]
  listen = "0.0.0.0:8640"

  [channels.push]
  kind = "fcm"
  credentials = "/etc/fcm/key.json"
migrate: { secret: other-owner, resources: { limits: { memory: 512Mi } } }
resources: { limits: { memory: 1Gi } }
terminationGracePeriodSeconds: 60
podDisruptionBudget: { maxUnavailable: 50%% }
networkPolicy: { from: [{ namespaceSelector: { matchLabels: { team: shop } } }] }
service: { enabled: true, annotations: { a: b } }
podMonitor: { enabled: true, interval: 30s, labels: { prometheus: main } }
env: [{ name: OUTBOX_RETRY__MAX_ATTEMPTS, value: "20" }]
volumes: [{ name: fcm, secret: { secretName: fcm } }]
volumeMounts: [{ name: fcm, mountPath: /etc/fcm, readOnly: true }]
podAnnotations: { a: b }
podLabels: { c: d }
nodeSelector: { e: f }
tolerations: [{ key: g, operator: Exists }]
affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [{ key: h, operator: Exists }] }] } } }
priorityClassName: high
""" % ("0" * 64)
OFF = """
migrate: { enabled: false }
podDisruptionBudget: { enabled: false }
networkPolicy: { enabled: false }
replicas: 0
"""
# Values that must be refused, each with a word of what is said about it.
REFUSED = {
    "replica: 3": "replica",
    "networkPolicy: { form: [] }": "form",
    "networkPolicy: { from: [] }": "from",
    "terminationGracePeriodSeconds: 5": "terminationGracePeriodSeconds",
    "image: { digest: latest }": "digest",
    "replicas: three": "replicas",
}


def one(objects, kind):
    found = [each for each in objects if each["kind"] == kind]
    assert len(found) == 1, (kind, found)
    return found[0]


def judge(objects):
    """By the schemas, and by what they cannot know: that selectors find the pods."""
    for each in objects:
        if each["kind"] == "PodMonitor":
            continue  # Not of Kubernetes: looked at below.
        for version in VERSIONS:
            kubernetes_validate.validate(each, version, strict=True)
    deployment = one(objects, "Deployment")["spec"]
    chosen = deployment["selector"]["matchLabels"]
    labels = deployment["template"]["metadata"]["labels"]
    selectors = {"Deployment": chosen}
    for each in objects:
        spec = each.get("spec", {})
        match each["kind"]:
            case "PodDisruptionBudget" | "PodMonitor":
                selectors[each["kind"]] = spec["selector"]["matchLabels"]
            case "NetworkPolicy":
                selectors["NetworkPolicy"] = spec["podSelector"]["matchLabels"]
            case "Service":
                selectors["Service"] = spec["selector"]
            case "Job":
                migrating = spec["template"]["metadata"]["labels"]
                assert not chosen.items() <= migrating.items(), "the Job would count for the budget"
                assert image(each) == image(one(objects, "Deployment"))
    for kind, selector in selectors.items():
        assert selector == chosen and selector.items() <= labels.items(), (kind, selector, labels)
    for each in objects:
        if each["kind"] in ("Job", "Deployment"):
            secure(each["spec"]["template"]["spec"])


def container(workload):
    return workload["spec"]["template"]["spec"]["containers"][0]


def image(workload):
    return container(workload)["image"]


def secure(pod):
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    for each in pod["containers"]:
        assert each["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


def taken_by_the_program(objects, program, scratch):
    """The settings and variables of each container, as the program reads them."""
    settings = scratch / "outbox.toml"
    settings.write_text(one([each for each in objects if not migrating(each)], "ConfigMap")["data"]["outbox.toml"])
    for each in objects:
        if each["kind"] not in ("Job", "Deployment"):
            continue
        variables = {"OUTBOX_CONFIG": str(settings)}
        for variable in container(each)["env"]:
            if variable["name"] != "OUTBOX_CONFIG":
                variables[variable["name"]] = variable.get("value") or SECRETS[variable["name"]]
        shown = subprocess.run([program, "config", "show"], env=variables, capture_output=True, text=True)
        assert shown.returncode == 0, f"the program refuses the settings of the {each['kind']}: {shown.stderr}"
        assert "0.0.0.0:8640" in shown.stdout, f"the probes would not reach the {each['kind']}"


def migrating(rendered):
    return rendered["metadata"]["labels"].get("app.kubernetes.io/component") == "migrate"


def plain(rendered):
    """The objects of the chart without what Helm adds, to be compared with deploy/kubernetes.yaml."""
    added = ("app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "app.kubernetes.io/version", "helm.sh/chart")

    def without(text):
        if isinstance(text, list):
            return [without(each) for each in text]
        if isinstance(text, dict):
            kept = {name: without(each) for name, each in text.items() if name not in added}
            kept.pop("annotations", None)  # Hooks, and the checksum of the settings.
            if kept.get("imagePullPolicy") == "IfNotPresent":
                del kept["imagePullPolicy"]  # What Kubernetes does by default.
            return kept
        return text

    objects = [without(each) for each in copy.deepcopy(rendered)]
    # The Job runs before the settings of the release are there, and has the same as a hook of their own.
    hook = next(each for each in objects if each["kind"] == "ConfigMap" and migrating(each))
    settings = next(each for each in objects if each["kind"] == "ConfigMap" and not migrating(each))
    assert hook["data"] == settings["data"]
    objects.remove(hook)
    volume = one(objects, "Job")["spec"]["template"]["spec"]["volumes"][0]["configMap"]
    assert volume["name"] == hook["metadata"]["name"]
    volume["name"] = settings["metadata"]["name"]
    return sorted(objects, key=lambda each: KINDS.index(each["kind"]))


class Chart:
    def __init__(self, archive, renderer, scratch):
        self.archive, self.renderer, self.scratch = archive, renderer, scratch
        subprocess.run(["tar", "--extract", "--file", archive, "--directory", scratch], check=True)
        # Helm's renderer leaves hooks out, so in this copy they are none.
        self.shown = scratch / "outbox"
        migrate = self.shown / "templates/migrate.yaml"
        text = migrate.read_text()
        assert text.count('"helm.sh/hook":') == 2
        migrate.write_text(text.replace('"helm.sh/hook":', '"hook":'))

    def _file(self, values):
        file = self.scratch / "values.yaml"
        file.write_text(values)
        return str(file)

    def render(self, values="", release="outbox"):
        texts = {self.renderer.template(self.shown, release, self._file(values), version) for version in VERSIONS}
        assert len(texts) == 1, "another result for another Kubernetes"
        return [each for each in yaml.safe_load_all(texts.pop()) if each]

    def notes(self, values=""):
        return self.renderer.notes(self.archive, "outbox", self._file(values), VERSIONS[-1])

    def refuses(self, values, word):
        try:
            self.renderer.template(self.archive, "outbox", self._file(values), VERSIONS[0])
        except helm.Refused as error:
            assert word in str(error), f"{values}: {error}"
        else:
            raise AssertionError(f"the chart takes {values}")


def judge_the_chart(chart, manifest, program, scratch):
    found = chart.renderer.lint(chart.archive)
    assert found == ["[INFO] Chart.yaml: icon is recommended", "Failed: false"], found
    described = yaml.safe_load((chart.shown / "Chart.yaml").read_text())
    version = tomllib.loads(pathlib.Path("Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert described["version"] == described["appVersion"] == version, f"Chart.yaml is not of the version {version}"

    by_default = chart.render()
    judge(by_default)
    taken_by_the_program(by_default, program, scratch)
    mine, theirs = plain(by_default), sorted(manifest, key=lambda each: KINDS.index(each["kind"]))
    for one_of_mine, one_of_theirs in zip(mine, theirs, strict=True):
        assert one_of_mine == one_of_theirs, f"not as in deploy/kubernetes.yaml:\n{yaml.dump(one_of_mine)}\n{yaml.dump(one_of_theirs)}"

    switched = chart.render(SWITCHED, release="shop")
    judge(switched)
    taken_by_the_program(switched, program, scratch)
    assert {each["metadata"]["name"] for each in switched} == {"shop-outbox", "shop-outbox-migrate"}
    said = yaml.dump_all(switched)
    for value in scalars(yaml.safe_load(SWITCHED)):
        assert value in said, f"{value} of the values has no effect"
    assert "OUTBOX_LEASE__URL" not in said
    monitor = one(switched, "PodMonitor")["spec"]["podMetricsEndpoints"]
    token = {"credentials": {"name": "other", "key": "metrics-token"}}
    assert monitor == [{"port": "admin", "path": "/metrics", "interval": "30s", "authorization": token}]

    without = chart.render(OFF)
    judge(without)
    assert [each["kind"] for each in without] == ["ServiceAccount", "ConfigMap", "Deployment"]
    assert one(without, "Deployment")["spec"]["replicas"] == 0

    for values, word in REFUSED.items():
        chart.refuses(values, word)
    values = yaml.safe_load((chart.shown / "values.yaml").read_text())
    closed = json.loads((chart.shown / "values.schema.json").read_text())
    assert named(closed) - {"global"} == set(described_by(values, closed)), "values.yaml and its schema name other values"

    notes = chart.notes()
    for wanted in ("--set image.repository", "grants/postgres.sql", "outbox check", "outbox status"):
        assert wanted in notes, notes
    assert "replicas=3" in chart.notes("replicas: 0")
    assert not [line for line in notes.splitlines() if len(line) > 80], notes


def named(schema, above=""):
    """The names that a closed object of the schema knows, as `image.tag`."""
    names = set()
    for name, each in schema["properties"].items():
        names |= named(each, f"{above}{name}.") if "properties" in each else {above + name}
    return names


def described_by(values, schema, above=""):
    for name, each in values.items():
        below = schema["properties"].get(name, {})
        if "properties" in below:
            yield from described_by(each, below, f"{above}{name}.")
        else:
            yield above + name


def scalars(text):
    if isinstance(text, dict):
        text = list(text.values())
    if isinstance(text, list):
        return [scalar for each in text for scalar in scalars(each)]
    return [] if isinstance(text, bool) else [line for line in str(text).splitlines() if line]


def main(archive, target, scratch):
    program, scratch = f"{target}/debug/outbox", pathlib.Path(scratch)
    manifest = list(yaml.safe_load_all(pathlib.Path("deploy/kubernetes.yaml").read_text()))
    assert [each["kind"] for each in manifest] == KINDS, [each["kind"] for each in manifest]
    judge(manifest)
    taken_by_the_program(manifest, program, scratch)
    print(f"{len(manifest)} kinds are as Kubernetes {' and '.join(VERSIONS)} want them")
    if not helm.available():
        print("tests/manifests: Helm's library is for Linux on x86_64, so the chart was not rendered", file=sys.stderr)
        return
    judge_the_chart(Chart(archive, helm.Helm(pathlib.Path(target)), scratch), manifest, program, scratch)
    print("the chart makes the same by default, and what its values say otherwise")


main(*sys.argv[1:])
