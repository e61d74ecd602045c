"""tests/kubernetes.py: what conf/kubernetes.yaml has to have. Its arguments are the file, the daemon and, where kubectl
is installed, what kubectl made of the objects with pods: a field that kubectl does not know is missing there.
Prints what is wrong, a line each."""

import json
import subprocess
import sys
import tempfile

import yaml

wrong = []


def expect(true, text):
    if not true:
        wrong.append(text)


def daemons(pod):
    """The containers that run redlockd."""
    return [each for each in pod.get("initContainers", []) + pod["containers"] if each["image"].startswith("redlockd:")]


def check_daemon(where, pod, container):
    expect("readinessProbe" not in container, f"{where}: a readinessProbe takes pods away during a quarantine")
    for probe in "startupProbe", "livenessProbe":
        expect(container.get(probe, {}).get("httpGet", {}).get("path") == "/livez", f"{where}: {probe} is not /livez")
    context = container["securityContext"]
    expect(context.get("readOnlyRootFilesystem") is True, f"{where}: its root is not read-only")
    expect(isinstance(context.get("runAsUser"), int) and context["runAsUser"] > 0, f"{where}: its user is no number")
    expect(context.get("capabilities") == {"drop": ["ALL"]}, f"{where}: it has capabilities")
    expect(pod["terminationGracePeriodSeconds"] > 10, f"{where}: no more time than drain_timeout")


def way(kind, pod, container):
    """In which of the three ways the daemon runs."""
    if kind == "DaemonSet":
        on_host = {volume["name"] for volume in pod["volumes"] if "hostPath" in volume}
        shared = [mount for mount in container["volumeMounts"] if mount["mountPath"] == "/run/redlockd"]
        return "node" if shared and shared[0]["name"] in on_host else "a DaemonSet whose socket is not on the host"
    if container in pod["containers"]:
        return "plain" if len(pod["containers"]) > 1 and "restartPolicy" not in container else "alone"
    return "native" if container.get("restartPolicy") == "Always" else "an init container that must end"


def check_configuration(where, text, daemon):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        said = subprocess.run([daemon, "--check", "-c", file.name], capture_output=True, text=True)
        errors = [line for line in said.stderr.splitlines() if ": warning: " not in line]
        # The secrets are mounted elsewhere than here.
        errors = [line for line in errors if "/etc/redlockd-users/" not in line]
    for line in errors:
        wrong.append(f"{where}: {line.removeprefix(file.name)}")


def missing(ours, theirs, path=""):
    """Fields of ours that are not in theirs."""
    if isinstance(ours, dict):
        for key, value in ours.items():
            if not isinstance(theirs, dict) or key not in theirs:
                yield f"{path}.{key}"
            else:
                yield from missing(value, theirs[key], f"{path}.{key}")
    elif isinstance(ours, list):
        for index, value in enumerate(ours):
            yield from missing(value, theirs[index] if index < len(theirs) else None, f"{path}[{index}]")


def read_known(path):
    """Reads what kubectl prints: one JSON value behind the other."""
    with open(path, encoding="utf-8") as file:
        text = file.read().strip()
    known = []
    while text:
        value, end = json.JSONDecoder().raw_decode(text)
        known.append(value)
        text = text[end:].strip()
    return known


def main():
    path, daemon = sys.argv[1:3]
    with open(path, encoding="utf-8") as file:
        objects = list(yaml.safe_load_all(file))
    ways = []
    for each in objects:
        where = f"{each['kind']} {each['metadata']['name']}"
        if each["kind"] == "ConfigMap":
            check_configuration(where, each["data"]["redlockd.yaml"], daemon)
        pod = each.get("spec", {}).get("template", {}).get("spec")
        for container in daemons(pod) if pod else []:
            check_daemon(where, pod, container)
            ways.append(way(each["kind"], pod, container))
    expect(sorted(ways) == ["native", "node", "plain"], f"not each of the three ways once: {ways}")
    if len(sys.argv) > 3:
        known = {(each["kind"], each["metadata"]["name"]): each for each in read_known(sys.argv[3])}
        for each in objects:
            if "spec" in each:
                what = each["kind"], each["metadata"]["name"]
                wrong.extend(f"{' '.join(what)}: kubectl does not know {field}" for field in missing(each, known.get(what)))
    print("\n".join(wrong), end="\n" if wrong else "")
    return bool(wrong)


sys.exit(main())
