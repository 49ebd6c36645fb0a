"""The Elasticsearch that tests run without containers: one folder, made once and used again.

Elastic publishes its own integration-test distribution of the server as a Maven artifact. It lacks
the module analysis-common; `analysis_plugin` gives it the few parts that mappings here use.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from tests.servers.availability import ServerError, locked, provide_commands, run, servers_folder
from tests.servers.java import find_jdk
from tests.servers.maven import Artifact, download

ARTIFACT = Artifact(
    group="org.elasticsearch.distribution.integ-test-zip",
    name="elasticsearch",
    version="8.19.7",
    extension="zip",
    sha512="80469a18f7cbc5c73f81815f30235edb7a89f56d7ead20048bf07b6a1469b1f3"
    "3ee67619a3fb49d85cb0b3e866fca8b63f04ff07daab4790240e1c0abb30fdf4",
)
PLUGIN = Path(__file__).with_name("analysis_plugin")
PLUGIN_NAME = "logicalrag-analysis"
DESCRIPTOR = f"""\
name={PLUGIN_NAME}
version=1.0
elasticsearch.version={ARTIFACT.version}
java.version=17
description=Analysis that the integration-test distribution lacks; never for a full server
"""


def elasticsearch_folder() -> Path:
    """Return the folder for all that Elasticsearch needs on disk, made where it is missing."""
    folder = servers_folder() / "elasticsearch"
    folder.mkdir(exist_ok=True)
    return folder


def installed_home(java_home: Path, may_download: bool, folder: Path | None = None) -> Path:
    """Return the home folder of the server, its plugin built in; installed where it is missing.

    Processes that ask at once wait for the first. What is there is used as it is: it got its name
    only when it was whole.

    Args:
        java_home: a JDK.
        may_download: whether a missing archive (98 MB) may be fetched.
        folder: where homes are kept; None: ``.servers/elasticsearch`` of the repository.

    Raises:
        ServerError: it is not there and cannot or may not be installed.
    """
    folder = folder or elasticsearch_folder()
    home = folder / f"{ARTIFACT.version}-{_plugin_digest()}"
    if home.is_dir():
        return home
    with locked(folder / "lock"):
        if home.is_dir():
            return home
        if not (may_download or (folder / ARTIFACT.file_name).is_file()):
            raise ServerError(
                "Elasticsearch is not installed here; run `make servers` once, or name a server in "
                "LOGICALRAG_TEST_ELASTICSEARCH"
            )
        archive = download(ARTIFACT, folder, java_home)
        with tempfile.TemporaryDirectory(dir=folder) as temporary:
            _unpack(archive, Path(temporary))
            unpacked = Path(temporary) / f"{ARTIFACT.name}-{ARTIFACT.version}"
            build_plugin(java_home, unpacked)
            unpacked.rename(home)
    return home


def install(environment: Mapping[str, str]) -> Path:
    """Return the installed home, after installing all it needs: JDK, Maven, openssl, the archive.

    Args:
        environment: where a JDK is looked up.

    Raises:
        ServerError: something is missing and cannot be installed.
    """
    provide_commands({"mvn": "maven", "openssl": "openssl"})
    try:
        java_home = find_jdk(environment)
    except ServerError:
        if environment.get("ES_JAVA_HOME"):
            raise
        provide_commands({"javac": "default-jdk-headless"})
        java_home = find_jdk(environment)
    return installed_home(java_home, may_download=True)


def build_plugin(java_home: Path, home: Path) -> None:
    """Compile `analysis_plugin` against the server in `home` and lay it into its plugins.

    Raises:
        ServerError: the compiler refuses it.
    """
    target = home / "plugins" / PLUGIN_NAME
    target.mkdir()
    with tempfile.TemporaryDirectory() as classes:
        compiler = [str(java_home / "bin" / "javac"), "--release", "17", "-proc:none", "-Xlint:all"]
        compiler += ["-Werror", "-cp", str(home / "lib" / "*"), "-d", classes]
        failure = "the analysis plugin could not be built"
        run([*compiler, *map(str, sorted(PLUGIN.glob("*.java")))], 300, failure)
        jar = [str(java_home / "bin" / "jar"), "--create", "--file"]
        run([*jar, str(target / f"{PLUGIN_NAME}.jar"), "-C", classes, "."], 60, failure)
    shutil.copyfile(PLUGIN / "named_components.json", target / "named_components.json")
    (target / "stable-plugin-descriptor.properties").write_text(DESCRIPTOR, encoding="ascii")


def _plugin_digest() -> str:
    digest = hashlib.sha256((ARTIFACT.sha512 + DESCRIPTOR).encode())
    for path in sorted(PLUGIN.iterdir()):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def _unpack(archive: Path, folder: Path) -> None:
    with zipfile.ZipFile(archive) as contents:
        for entry in contents.infolist():
            path = Path(contents.extract(entry, folder))
            # Programs stay programs, and the server may run as somebody else.
            path.chmod(0o755 if entry.is_dir() or entry.external_attr >> 16 & 0o100 else 0o644)
