"""What can go wrong, each error with one sentence of what happened and one of what to do."""


class StarverseError(Exception):
    """Something a person can act on: `what` happened, and the `remedy`."""

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(f"{what} {remedy}".strip())
        self.what = what
        self.remedy = remedy


class BadInput(StarverseError):
    """What was asked for makes no sense or can never be had; nothing was changed."""


class NotFound(StarverseError):
    """There is no such thing, or it is not yours to see."""


class Refused(StarverseError):
    """It makes sense, but not now or not for you: no money, no right, wrong state."""


class NotAllowed(Refused):
    """It is there to see, but your role does not suffice to do it."""


class NotSignedIn(StarverseError):
    """The token or password is missing, wrong or expired."""


class Conflict(StarverseError):
    """The same key was used before for something else, or the name is taken."""


class JournalDamaged(StarverseError):
    """A row of the journal is not what was written."""


class StaleEpoch(StarverseError):
    """Another server has taken over; this one must stop."""


class PortTaken(StarverseError):
    """Another program listens on the port."""
