"""The look of API keys: `pk-hone-…` names one, `sk-hone-…` proves it."""

from dataclasses import dataclass

PUBLIC_PREFIX, SECRET_PREFIX = "pk-hone-", "sk-hone-"
HINT_LEN = 4  # characters of the secret that stay readable
MAX_LEN = 200


@dataclass(frozen=True, slots=True)
class KeyPair:
    public: str
    secret: str

    @property
    def hint(self) -> str:
        """What a person may see of the secret afterwards."""
        return f"{SECRET_PREFIX}…{self.secret[-HINT_LEN:]}"


def key_pair(public_random: str, secret_random: str) -> KeyPair:
    """A pair from two random texts; the secret's should carry 256 bits."""
    return KeyPair(PUBLIC_PREFIX + public_random, SECRET_PREFIX + secret_random)
