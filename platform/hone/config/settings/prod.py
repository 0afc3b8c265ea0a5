"""Whatever people rely on: `hone up`, containers, hosts."""

from hone.config import environment
from hone.config.settings.base import *  # noqa: F403
from hone.config.settings.base import SECRET_KEY

if len(SECRET_KEY) < 32:
    raise environment.SettingError(
        f"HONE_SERVER_SECRET: got {len(SECRET_KEY)} characters, want at least 32 random ones"
    )
