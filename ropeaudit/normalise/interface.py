"""What normalising one file yields."""

from __future__ import annotations

from ropeaudit.records import record
from ropeaudit.schedule.subject import Problem
from ropeaudit.schedule.views import View

SCHEMA = "ropeaudit/normalise/1"


@record(kw_only=True)
class Change:
    """One place that is spelled otherwise: raw JSON text before and after, None where absent."""

    pointer: str
    before: str | None
    after: str | None
    why: str


@record(kw_only=True)
class Engine:
    """One engine's reading of the file as it is and as it is proposed.

    ``elsewhere`` names a spelling that this engine reads rightly and that others would misread;
    ``why`` says why it is still not right.
    """

    before: View
    after: View
    elsewhere: str | None = None
    why: str | None = None

    @property
    def name(self) -> str:
        return self.after.reader

    @property
    def agreed(self) -> bool:
        return agrees(self.before)

    @property
    def agrees(self) -> bool:
        return agrees(self.after)

    @property
    def unmasked(self) -> bool:
        """Whether it refused the file and would now read it, wrongly and without a word."""
        return self.before.status == "refuses" and self.after.status == "ok" and not self.agrees


@record(kw_only=True)
class Normalised:
    """A file with its proposed text.

    ``status``: ``normal`` (nothing to change), ``changed``, ``nothing`` (nothing that could be
    normalised, for ``reason``) or ``error``. ``file`` is None where the text came from no file that
    can be written. ``before`` and ``after`` are the whole text, ``content`` the bytes that were
    read. ``cautions``: what the file states and the reference does not read, and which the proposal
    therefore gives up; ``advice``: what would help and changes the model, which only its author may
    decide. ``tried`` counts the texts that were built.
    """

    target: str
    status: str
    file: str | None = None
    reason: str | None = None
    error: Problem | None = None
    before: str = ""
    after: str = ""
    content: bytes = b""
    changes: tuple[Change, ...] = ()
    engines: tuple[Engine, ...] = ()
    cautions: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    tried: int = 0
    written: bool = False


def agrees(view: View) -> bool:
    """Whether the engine builds what the reference builds, as far as is known."""
    return view.status == "ok" and view.distance is not None and view.distance.same
