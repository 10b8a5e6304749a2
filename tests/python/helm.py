"""What `helm template`, `helm lint` and the notes of `helm install` print, by Helm's own code: the library that helm-java brings, since
Debian has no package of Helm."""

import ctypes
import hashlib
import os
import pathlib
import platform
import urllib.request
import zipfile

VERSION = "0.0.21"
SHA256 = "a01b3a7a746e67ac9541d147dabcea0b295ea1cbb0c456a3f2f5b911ce75bf7a"
MAVEN = os.environ.get("OUTBOX_TEST_MAVEN", "https://repo1.maven.org/maven2")


class _Result(ctypes.Structure):
    _fields_ = [(name, ctypes.c_char_p) for name in ("out", "err", "printed", "warned")]


def _options(fields):
    """A struct of the library, by the order in its header: `s` before the name of a string, `i` before that of a number."""
    types = {"s": ctypes.c_char_p, "i": ctypes.c_int}
    return type("Options", (ctypes.Structure,), {"_fields_": [(field[2:], types[field[0]]) for field in fields.split()]})


_Lint = _options("s:path i:strict i:quiet")
_Template = _options(
    "s:name s:version s:chart s:namespace s:kube_version i:dependency_update i:skip_crds s:values s:set_files s:values_files"
    " s:cert_file s:key_file s:ca_file i:insecure_skip_tls_verify i:plain_http s:keyring i:debug s:repository_config"
)
_Install = _options(
    "s:name i:generate_name s:name_template s:version s:chart s:namespace s:kube_version i:atomic i:create_namespace s:description"
    " i:devel i:dependency_update i:disable_open_api_validation i:dry_run s:dry_run_option i:skip_crds i:wait i:timeout s:values"
    " s:set_files s:values_files s:kube_config s:kube_config_contents s:cert_file s:key_file s:ca_file i:insecure_skip_tls_verify"
    " i:plain_http s:keyring i:debug i:client_only s:repository_config"
)


class Refused(Exception):
    """What Helm says against a chart or its values."""


class Helm:
    def __init__(self, folder):
        """Loads the library, which is fetched into `folder` where it is not there yet."""
        library = folder / f"helm-linux-amd64-{VERSION}.so"
        if not library.exists():
            _fetch(library)
        self._library = ctypes.CDLL(str(library))

    def _call(self, function, **options):
        kind = {"Template": _Template, "Install": _Install, "Lint": _Lint}[function]
        taken = {name: text.encode() if isinstance(text, str) else text for name, text in options.items()}
        called = getattr(self._library, function)
        called.restype = _Result
        result = called(ctypes.byref(kind(**taken)))
        if result.err:
            raise Refused(result.err.decode())
        return (result.out or b"").decode()

    def lint(self, chart):
        """All that Helm finds in the chart, as lines; the last says whether it is an error."""
        return self._call("Lint", path=str(chart), strict=1).splitlines()

    def template(self, chart, release, values, kubernetes):
        """The objects as YAML. Hooks are not among them."""
        return self._call("Template", name=release, chart=str(chart), namespace="shop", values_files=values, kube_version=kubernetes)

    def notes(self, chart, release, values, kubernetes):
        report = self._call(
            "Install", name=release, chart=str(chart), namespace="shop", values_files=values, kube_version=kubernetes, dry_run=1,
            dry_run_option="client", client_only=1,
        )
        return report.split("NOTES:\n", 1)[1]


def available():
    """Whether there is a library for this machine."""
    return platform.system() == "Linux" and platform.machine() == "x86_64"


def _fetch(library):
    name = f"linux-amd64-{VERSION}.jar"
    jar = library.with_name(name)
    for attempt in (1, 2, 3):
        try:
            urllib.request.urlretrieve(f"{MAVEN}/com/marcnuri/helm-java/linux-amd64/{VERSION}/{name}", jar)
            break
        except OSError as error:
            if attempt == 3:
                raise SystemExit(f"tests/manifests: {MAVEN} does not give {name}: {error}. A mirror goes into OUTBOX_TEST_MAVEN")
    found = hashlib.sha256(jar.read_bytes()).hexdigest()
    if found != SHA256:
        raise SystemExit(f"tests/manifests: {name} has the checksum {found}, not {SHA256}")
    with zipfile.ZipFile(jar) as archive:
        unpacked = pathlib.Path(archive.extract("helm-linux-amd64.so", library.parent))
    jar.unlink()
    unpacked.rename(library)
